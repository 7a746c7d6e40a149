//! `init`: looks around on this machine and writes a commented instruction file. It asks nothing and overwrites nothing.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::anyhow;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{Answer, Surroundings};
use crate::cli::{Cli, ExitCode, Failure, Format, InitArgs};
use crate::outputs::text::{self, Place};
use crate::outputs::verbs::document;
use crate::review::gather::canonical;
use crate::settings::{Settings, reference};
use crate::store;
use crate::vocabulary::{FleetConfig, RouteDef, TargetKind};

/// A thing that may be on a machine: the setting that names it, what it is, and where it lies below the workspace or home.
struct Thing {
    /// The setting.
    key: &'static str,
    /// What it is.
    what: &'static str,
    /// Places, the first that exists counts. `~` is the home folder.
    places: &'static [&'static str],
    /// Whether `fetch` brings it without a key or an address of one's own.
    is_fetched: bool,
}

/// Parts of the config.
const CONFIG: [Thing; 5] = [
    Thing {
        key: "config.openchamber",
        what: "the categories of OpenChamber",
        places: &["openchamber/routing.json", ".openchamber/routing.json", "~/.config/openchamber/routing.json"],
        is_fetched: false,
    },
    Thing {
        key: "config.omo",
        what: "oh-my-openagent",
        places: &[
            ".opencode/oh-my-openagent.jsonc",
            ".opencode/oh-my-openagent.json",
            "~/.config/opencode/oh-my-openagent.jsonc",
            "~/.config/opencode/oh-my-openagent.json",
            "~/.config/opencode/oh-my-opencode.json",
        ],
        is_fetched: false,
    },
    Thing {
        key: "config.litellm",
        what: "LiteLLM",
        places: &[
            "litellm/config.yaml",
            "litellm_config.yaml",
            "~/litellm/config.yaml",
            "~/.config/litellm/config.yaml",
            "~/.litellm/config.yaml",
        ],
        is_fetched: false,
    },
    Thing {
        key: "config.ccr",
        what: "claude-code-router",
        places: &["~/.claude-code-router/config.json"],
        is_fetched: false,
    },
    Thing {
        key: "config.scheduler",
        what: "jobs of opencode-scheduler",
        places: &["~/.config/opencode/scheduler"],
        is_fetched: false,
    },
];

/// Data files.
const DATA: [Thing; 9] = [
    Thing {
        key: "data.market",
        what: "Artificial Analysis: quality, speed, price (fetch needs a key)",
        places: &["data/market/artificial-analysis", "data/artificial-analysis"],
        is_fetched: false,
    },
    Thing {
        key: "data.catalogues",
        what: "models.dev: who offers what",
        places: &["data/market/models-dev.json", "data/models-dev.json"],
        is_fetched: true,
    },
    Thing {
        key: "data.retirements",
        what: "LiteLLM map of end dates",
        places: &["data/market/litellm.json", "data/litellm.json"],
        is_fetched: true,
    },
    Thing {
        key: "data.openrouter",
        what: "OpenRouter's models",
        places: &["data/market/openrouter.json"],
        is_fetched: true,
    },
    Thing { key: "data.prices", what: "genai-prices", places: &["data/market/prices.json"], is_fetched: true },
    Thing { key: "data.aliases", what: "reviewed alias file", places: &["data/aliases.csv"], is_fetched: false },
    Thing {
        key: "data.speeds",
        what: "measured speeds",
        places: &["data/evidence/speeds.csv", "data/speeds.csv"],
        is_fetched: false,
    },
    Thing {
        key: "data.sessions",
        what: "scorecards",
        places: &["data/evidence/scorecards.csv", "data/scorecards.csv"],
        is_fetched: false,
    },
    Thing {
        key: "data.quotas",
        what: "quota snapshots",
        places: &[
            "data/evidence/quotas",
            "data/quotas",
            "~/.local/share/quota-snapshots",
            "~/.local/state/quota-snapshots",
        ],
        is_fetched: false,
    },
];

/// Session stores: kind in the settings, what it is, where it lies.
const STORES: [(&str, &str, &str); 3] = [
    ("opencode", "sessions of opencode", "~/.local/share/opencode/opencode.db"),
    ("claude-code", "sessions of Claude Code", "~/.claude/projects"),
    ("codex", "sessions of Codex, with its quota readings", "~/.codex"),
];

/// Where the canonical config may lie, the first that exists counts.
const OPENCODE: [&str; 7] = [
    ".opencode/opencode.jsonc",
    ".opencode/opencode.json",
    "opencode.jsonc",
    "opencode.json",
    "~/.config/opencode/opencode.jsonc",
    "~/.config/opencode/opencode.json",
    "~/.config/opencode/config.json",
];

/// Names that tell a tier.
const TIERS: [&str; 4] = ["scout", "workhorse", "specialist", "summit"];

/// Parts of provider names that mean a subscription.
const PLANS: [&str; 4] = ["-plan", "coding", "copilot", "opencode-go"];

/// Where to look.
struct Around {
    /// The workspace.
    workspace: PathBuf,
    /// The home folder.
    home: Option<PathBuf>,
}

impl Around {
    /// A place as it is written in the file, if something is there.
    fn find(&self, place: &str) -> Option<String> {
        let (path, written) = match place.strip_prefix("~/") {
            None => (self.workspace.join(place), place.to_owned()),
            Some(rest) => {
                let path = self.home.as_ref()?.join(rest);
                let written = path.strip_prefix(&self.workspace).unwrap_or(&path).display().to_string();
                (path, written)
            }
        };
        path.exists().then_some(written)
    }

    /// The first place of a thing that is there.
    fn locate(&self, places: &[&str]) -> Option<String> {
        places.iter().find_map(|place| self.find(place))
    }
}

/// Writes the instruction file and says what was found.
pub(super) fn run(cli: &Cli, args: &InitArgs, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let path = cli.workspace.join(&args.instructions);
    if path.exists() {
        let shown = args.instructions.display();
        return Err(Failure::Unusable(anyhow!("{shown} is there already and stays as it is; init never overwrites")));
    }
    let workspace = cli.workspace.canonicalize().map_err(|error| Failure::Unusable(error.into()))?;
    let look = Around { workspace, home: args.home.clone().or_else(|| around.host.home.clone()) };
    let (text, found) = compose(&look, (around.clock)()).map_err(Failure::Unusable)?;
    let written = args.instructions.display().to_string();
    // What init writes is what review reads: a file that does not parse must not come to be.
    Settings::parse(&text, &written).map_err(Failure::Failed)?;
    store::create_new(&path, text.as_bytes()).map_err(Failure::Failed)?;
    let text = match cli.format {
        Format::Json => {
            let found: Vec<Value> = found.iter().map(Found::json).collect();
            document("init", json!({ "written": written, "found": found }))
        }
        Format::Human | Format::Csv => said(&written, &found),
    };
    Ok(Answer { text, warnings: Vec::new(), code: ExitCode::Finished })
}

/// One thing that is on this machine.
#[derive(Debug)]
struct Found {
    /// The setting that names it; `pools` of the pools.
    name: String,
    /// What it is.
    what: String,
    /// Where it is; of pools their ids.
    places: Vec<String>,
}

impl Found {
    /// A thing at one place.
    fn at(name: &str, what: &str, place: &str) -> Self {
        Self { name: name.to_owned(), what: what.to_owned(), places: vec![place.to_owned()] }
    }

    /// As JSON.
    fn json(&self) -> Value {
        json!({ "name": self.name, "what": self.what, "places": self.places })
    }
}

/// What was found and written, and what to do next, for people.
fn said(written: &str, found: &[Found]) -> String {
    let show = |place: &String| text::name(place, Place::Terminal);
    let line = |one: &Found| {
        let places: Vec<String> = one.places.iter().map(show).collect();
        let places = if places.is_empty() { "none".to_owned() } else { places.join(", ") };
        format!("found {:<19} {places} ({})", one.name, one.what)
    };
    let mut lines: Vec<String> = found.iter().map(line).collect();
    lines.push(format!("wrote {written}; correct the lines that say \"guessed\", then run: pool-review review"));
    if !found.iter().any(|one| one.name == "data.catalogues") {
        lines.push(
            "without market data only your own config and sessions are judged: take the # off the market lines below data: \
             and run pool-review fetch"
                .to_owned(),
        );
    }
    lines.join("\n") + "\n"
}

/// The text of the file, and what was found.
fn compose(look: &Around, now: DateTime<Utc>) -> anyhow::Result<(String, Vec<Found>)> {
    let config = look.locate(&OPENCODE).ok_or_else(|| {
        anyhow!(
            "no opencode config is here: looked for {} (~ is the home folder); run it in the folder of your fleet, or name \
             that with --workspace and another home with --home",
            OPENCODE.join(", ")
        )
    })?;
    let mut found = vec![Found::at("config.opencode", "the canonical config; read, never written", &config)];
    let probe = format!("---\nconfig:\n  opencode: {}\n---\n\nA probe.\n", quoted(&config));
    let canonical = canonical(&look.workspace, &Settings::parse(&probe, "the probe of init")?, now);
    let canonical = canonical.map_err(|error| anyhow!(error))?;
    let fleet = canonical.config();
    let routes = fleet.routes.iter().filter(|route| route.invalid.is_none());
    let pools: Vec<&RouteDef> = routes.collect();
    found.push(Found { name: "pools".to_owned(), what: "in that config".to_owned(), places: ids(&pools) });
    let mut file = String::from(HEAD);
    writeln!(file, "config:\n  opencode: {} # the canonical pools; read, never written", quoted(&config))?;
    things(&mut file, &mut found, look, &CONFIG)?;
    let mut data = String::new();
    things(&mut data, &mut found, look, &DATA)?;
    stores(&mut data, &mut found, look)?;
    let has_data = data.lines().any(|line| !line.trim_start().starts_with('#'));
    writeln!(
        file,
        "{}\n{data}",
        if has_data { "data:" } else { "# data: # nothing was found; each line below names a source" }
    )?;
    file.push_str(REPORTS);
    homes(&mut file, fleet)?;
    rules(&mut file, &pools)?;
    file.push_str(TAIL);
    Ok((file, found))
}

/// The ids of some pools.
fn ids(pools: &[&RouteDef]) -> Vec<String> {
    pools.iter().map(|pool| pool.id.to_string()).collect()
}

/// A path or name as YAML text.
fn quoted(text: &str) -> String {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./_-".contains(&byte));
    if is_plain && !text.starts_with('-') { text.to_owned() } else { format!("{text:?}") }
}

/// One line per thing: set when it is there, else a comment.
fn things(file: &mut String, found: &mut Vec<Found>, look: &Around, all: &[Thing]) -> anyhow::Result<()> {
    for thing in all {
        let name = thing.key.rsplit('.').next().unwrap_or(thing.key);
        let is_list = reference().iter().any(|one| one.key == thing.key && one.kind.to_string().contains("list"));
        if let Some(place) = look.locate(thing.places) {
            let value = if is_list { format!("[{}]", quoted(&place)) } else { quoted(&place) };
            writeln!(file, "  {name}: {value} # {}", thing.what)?;
            found.push(Found::at(thing.key, thing.what, &place));
        } else {
            let place = thing.places.first().copied().unwrap_or_default();
            let how =
                if thing.is_fetched { "; take the # off, and `pool-review fetch` brings it" } else { "; not found" };
            writeln!(file, "  # {name}: {place} # {}{how}", thing.what)?;
        }
    }
    Ok(())
}

/// Session stores.
fn stores(file: &mut String, found: &mut Vec<Found>, look: &Around) -> anyhow::Result<()> {
    let there: Vec<(&str, &str, String)> =
        STORES.iter().filter_map(|(kind, what, place)| Some((*kind, *what, look.find(place)?))).collect();
    found.extend(there.iter().map(|(_, what, place)| Found::at("data.session_stores", what, place)));
    if !there.is_empty() {
        writeln!(file, "  session_stores:")?;
    }
    for (kind, what, place) in &there {
        writeln!(file, "    - {{ kind: {kind}, path: {} }} # {what}; read, never written", quoted(place))?;
    }
    Ok(())
}

/// The providers that the pools name, each as a home of its own with a guess at how it is paid.
fn homes(file: &mut String, fleet: &FleetConfig) -> anyhow::Result<()> {
    let providers: BTreeSet<String> = fleet
        .routes
        .iter()
        .flat_map(|route| &route.targets)
        .filter_map(|target| match &target.kind {
            TargetKind::Model(target) => Some(target.provider.to_string()),
            TargetKind::Pool { .. } | TargetKind::Unreadable(_) => None,
        })
        .collect();
    if providers.is_empty() {
        return Ok(());
    }
    writeln!(file, "homes:")?;
    for provider in providers {
        let is_plan = PLANS.iter().any(|part| provider.contains(part));
        let billing = if is_plan { "flat" } else { "metered" };
        writeln!(
            file,
            "  {}: {{ providers: [{}], billing: {billing} }} # guessed",
            quoted(&provider),
            quoted(&provider)
        )?;
    }
    Ok(())
}

/// One rule per pool.
fn rules(file: &mut String, pools: &[&RouteDef]) -> anyhow::Result<()> {
    if pools.is_empty() {
        return Ok(());
    }
    file.push_str(RULES);
    for pool in pools {
        writeln!(file, "  - pattern: {}", quoted(pool.id.as_str()))?;
        match TIERS.iter().find(|tier| pool.id.as_str().contains(*tier)) {
            Some(tier) => writeln!(file, "    tier: {tier}")?,
            None => {
                writeln!(file, "    # tier: workhorse # scout, workhorse, specialist or summit; assumed without it")?;
            }
        }
    }
    Ok(())
}

/// The beginning of the file.
const HEAD: &str = "---\n\
# Settings of the pool review, made by `pool-review init` from what is on this machine. Nothing here is read anywhere\n\
# else, and no config is ever written. Every key, its default and its meaning: instructions/settings.md. What is not\n\
# written here stands at its default. Paths are relative to the workspace.\n\
\n\
# ------------------------------------------------------------------ when\n\
schedule: \"0 */12 * * *\" # every twelve hours, on the hour\n\
timezone: UTC\n\
\n\
# ------------------------------------------------------------------ where\n";

/// Where runs write, and what homes are.
const REPORTS: &str = "reports: reports # the only folder a run writes; the log lies in it\n\
\n\
# ------------------------------------------------------------------ what we pay for\n\
# A home is a plan seat or a key; all calls of its providers draw on its quota. `flat` is a subscription, `metered` is paid\n\
# per token, `balance` per token from a prepaid balance. Providers that share a seat belong to one home.\n";

/// What rules are.
const RULES: &str = "\n\
# ------------------------------------------------------------------ what each pool is for\n\
# The first rule whose pattern matches a pool applies whole. Further keys: owner, task_class, min_output_tps, min_index,\n\
# max_bill_usd_per_mtok, max_usd_per_task, needs_tools, min_context.\n\
pools:\n";

/// The prose.
const TAIL: &str = "---\n\
\n\
# Pool composition review\n\
\n\
Write here in plain words what your pools are for and what must never be in them. Rules that a program can check belong\n\
into the settings above (`policy.never`, `policy.only_homes`).\n";
