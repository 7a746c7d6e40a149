//! One review in process: settings and sources of a workspace, and what is rendered of its report.

#![expect(clippy::unwrap_used, reason = "a workspace that cannot be reviewed is a failed test")]

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use pool_review::history::{MarketMemory, Past};
use pool_review::outputs::terminal::Look;
use pool_review::outputs::{json, log, terminal};
use pool_review::review::gather::{Gathered, canonical, gather};
use pool_review::review::{Clock, review};
use pool_review::settings::Settings;
use pool_review::verdict::Report;

/// The instruction file of a workspace.
const INSTRUCTIONS: &str = "instructions/pool-composition-review.md";

/// A workspace with its settings, at the demo's instant.
pub(crate) struct Desk {
    /// The workspace.
    workspace: PathBuf,
    /// Its settings.
    settings: Settings,
}

impl Desk {
    /// The demo as it lies in this repository; a review writes nothing.
    pub(crate) fn of_demo() -> Self {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self::with(workspace, &settings_of(workspace))
    }

    /// A workspace with other settings.
    pub(crate) fn with(workspace: &Path, settings: &str) -> Self {
        Self { workspace: workspace.to_owned(), settings: Settings::parse(settings, INSTRUCTIONS).unwrap() }
    }

    /// The review instant.
    fn now(&self) -> DateTime<Utc> {
        self.settings.frozen_now.unwrap()
    }

    /// Everything read.
    pub(crate) fn gather(&self) -> Gathered {
        let config = canonical(&self.workspace, &self.settings, self.now()).unwrap();
        gather(&self.workspace, &self.settings, config, &MarketMemory::default(), self.now())
    }

    /// The report on what was gathered, as the first run of a ledger.
    pub(crate) fn review(&self, gathered: &Gathered) -> Report {
        let clock = Clock { now: self.now(), is_frozen: true, next_due: None };
        review(gathered, &self.settings, &Past::default(), clock, &pool_review::history::ProposalFiles::NONE).report
    }

    /// Run file, log section and terminal.
    #[expect(clippy::unused_self, reason = "reads as what it does: the desk renders")]
    pub(crate) fn render(&self, report: &Report) -> [String; 3] {
        [
            json::run_json(report),
            log::render_section(report, "reports", log::Since::default()),
            terminal::render(report, Look::PLAIN),
        ]
    }
}

/// The instruction file of a workspace.
pub(crate) fn settings_of(workspace: &Path) -> String {
    std::fs::read_to_string(workspace.join(INSTRUCTIONS)).unwrap()
}

/// Rows in another order, the same for the same seed.
pub(crate) fn shuffled<T>(rows: &mut [T], seed: u64) {
    let mut state = seed | 1;
    for i in (1..rows.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        rows.swap(i, usize::try_from((state >> 33) % (i as u64 + 1)).unwrap());
    }
}

/// The skeleton of a markdown text: its blocks and inline nodes in order, without what they say; HTML comments whole.
pub(crate) fn comments_and_blocks(markdown: &str) -> Vec<String> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.strikethrough = true;
    let arena = Arena::new();
    let root = parse_document(&arena, markdown, &options);
    root.descendants().filter_map(shape).collect()
}

/// The shape of a node; text that stands beside other text is one.
fn shape<'a>(node: &'a AstNode<'a>) -> Option<String> {
    match &node.data.borrow().value {
        NodeValue::Text(_) | NodeValue::SoftBreak => None,
        NodeValue::Code(_) => Some("code".to_owned()),
        NodeValue::HtmlBlock(html) => Some(format!("html {}", html.literal)),
        NodeValue::HtmlInline(html) => Some(format!("html {html}")),
        NodeValue::Link(link) => Some(format!("link {}", link.url)),
        NodeValue::Table(table) => Some(format!("table of {} columns", table.num_columns)),
        other => Some(format!("{:?}", std::mem::discriminant(other))),
    }
}
