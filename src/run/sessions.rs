//! The verb `sessions`: reads the stores, keeps their index in the cache, prints a table. It judges nothing.

mod events;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use chrono::{DateTime, Utc};
use serde_json::json;

use super::{Answer, Surroundings, settings};
use crate::cli::{By, Cli, ExitCode, Failure, Format, RollupFormat, SessionsArgs};
use crate::identity::Identity;
use crate::outputs;
use crate::outputs::verbs::document;
use crate::review::gather::{Gathered, canonical, gather};
use crate::review::sessions::{
    Ingredients, Progress, Stores, Table, Tariffs, days, holders, join, read, read_stores, still_named,
};
use crate::rollup::{Dimension, RollupRow, merge, view, with_kept, write_csv, write_parquet};
use crate::settings::Settings;
use crate::sources::sessions::{Draft, Kept, Shelf, StoreSpec};
use crate::store::{Cache, CacheDraft, Store};
use crate::vocabulary::{ScorecardRow, SourceId, SourceNote, SourceState, StoreKind};

/// Where the cache is without an instruction file.
const CACHE: &str = ".cache/pool-review";
/// Where the reports are without one.
const REPORTS: &str = "reports";

/// Runs the verb.
pub(super) fn run(cli: &Cli, args: &SessionsArgs, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    if args.since.zip(args.until).is_some_and(|(since, until)| since > until) {
        return Err(Failure::Unusable(anyhow!("--since lies behind --until")));
    }
    if args.stores.is_empty() { of_settings(cli, args, around) } else { of_flags(cli, args, around) }
}

/// Adds the session stores of the settings to what a review gathered. Returns the days to keep, and warnings.
pub(super) fn add_to_review(
    workspace: &Path,
    settings: &Settings,
    gathered: &mut Gathered,
    now: DateTime<Utc>,
    progress: Progress<'_>,
) -> (Vec<RollupRow>, Vec<String>) {
    let data = &settings.data;
    if data.session_stores.is_empty() && data.babysitter.is_none() && data.rollup.is_none() && data.spend_logs.is_none()
    {
        return (Vec::new(), Vec::new());
    }
    let cache = Cache::at(workspace, &settings.cache);
    let shelves = |name: &str| on_shelf(&cache, name, true);
    let stores = read(workspace, settings, gathered.all_cards(), now, &shelves, progress);
    let mut warnings = stores.warnings();
    warnings.extend(faults(&stores));
    let (kept, faults_of_kept) = outputs::sessions::kept(&workspace.join(&settings.reports));
    warnings.extend(faults_of_kept);
    (join(workspace, gathered, &stores, settings, kept, now), warnings)
}

/// Reads the stores of the flags: no pools, no prices, no history.
fn of_flags(cli: &Cli, args: &SessionsArgs, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let now = cli.now.unwrap_or_else(|| (around.clock)());
    let specs: Vec<StoreSpec> =
        args.stores.iter().map(|store| spec(cli, store)).collect::<Result<_>>().map_err(Failure::Unusable)?;
    let cache = Cache::at(&cli.workspace, CACHE.as_ref());
    let shelves = |name: &str| on_shelf(&cache, name, !args.no_cache);
    let (scans, overlaps) = read_stores(specs, &BTreeSet::new(), &shelves, around.progress);
    let stores = Stores { scans, overlaps, ..Stores::default() };
    let mut warnings = stores.warnings();
    let identity = Identity::new(None, &[]).0;
    let cards: [ScorecardRow; 0] = [];
    let table = Ingredients {
        identity: &identity,
        cards: &cards,
        all_cards: &cards,
        stores: &stores,
        holders: Vec::new(),
        prices: Tariffs::default(),
        kept: Vec::new(),
        now,
        mature_hours: 24.0,
    }
    .table();
    warnings.extend(faults(&stores));
    let store = |cli: &Cli| Store::open(&cli.workspace, REPORTS.as_ref(), format!("{REPORTS}/log.md").as_ref());
    answer(&Asked { cli, args, columns: around.columns }, &table, &stores, now, warnings, &store)
}

/// Reads the stores of the settings, with pools, prices and the days kept from earlier runs.
fn of_settings(cli: &Cli, args: &SessionsArgs, around: &Surroundings<'_>) -> Result<Answer, Failure> {
    let settings = settings(cli, &args.instructions)?;
    let now = cli.now.or(settings.frozen_now).unwrap_or_else(|| (around.clock)());
    let config = canonical(&cli.workspace, &settings, now).map_err(|error| Failure::Unusable(anyhow!(error)))?;
    let gathered = gather(&cli.workspace, &settings, config, &crate::history::MarketMemory::default(), now);
    let cache = Cache::at(&cli.workspace, &settings.cache);
    let shelves = |name: &str| on_shelf(&cache, name, !args.no_cache);
    let cards = gathered.all_cards();
    let stores = read(&cli.workspace, &settings, cards, now, &shelves, around.progress);
    let mut warnings = stores.warnings();
    let (kept, faults_of_kept) = outputs::sessions::kept(&cli.workspace.join(&settings.reports));
    warnings.extend(faults_of_kept);
    let mut table = Ingredients {
        identity: &gathered.identity,
        cards,
        all_cards: cards,
        stores: &stores,
        holders: holders(&gathered, &settings, now),
        prices: Tariffs::of(&gathered),
        kept: still_named(kept, &settings),
        now,
        mature_hours: settings.thresholds.rows.mature_hours,
    }
    .table();
    table.remarks.extend(gathered.notes.iter().flat_map(said));
    warnings.extend(faults(&stores));
    let store = |cli: &Cli| Store::open(&cli.workspace, &settings.reports, &settings.log);
    if !args.no_cache {
        let fresh = days(&table, &settings, Vec::new());
        warnings.extend(keep(cli, &settings, fresh, &store).err().map(|error| format!("days not kept: {error:#}")));
    }
    answer(&Asked { cli, args, columns: around.columns }, &table, &stores, now, warnings, &store)
}

/// Keeps the days of the stores, as a review does. The lock is held for the writing alone: what another run kept meanwhile counts.
fn keep(cli: &Cli, settings: &Settings, fresh: Vec<RollupRow>, open: &dyn Fn(&Cli) -> Result<Store>) -> Result<()> {
    if fresh.is_empty() {
        return Ok(());
    }
    let store = open(cli)?;
    let (kept, _) = outputs::sessions::kept(&cli.workspace.join(&settings.reports));
    outputs::sessions::keep(&store, &with_kept(fresh, kept))
}

/// What there is to say of a source beside the stores: why its rows do not count, and which of them are broken.
fn said(note: &SourceNote) -> Vec<String> {
    let (name, use_of_old) = match note.source {
        SourceId::Sessions => ("scorecards", "shown here, and they name pools; a review judges by none of them"),
        SourceId::Catalogues => ("catalogue", "no price and no name is taken from it"),
        _ => return Vec::new(),
    };
    let state = match &note.state {
        SourceState::Fresh | SourceState::NotConfigured => None,
        SourceState::Failed(reason) => Some(format!("{name} not read: {reason}")),
        SourceState::Stale => Some(note.as_of.map_or_else(
            || format!("{name}: nothing says how old it is (a `.meta.json` beside it would), so {use_of_old}"),
            |as_of| format!("{name}: nothing newer than {}, too old: {use_of_old}", as_of.format("%Y-%m-%d %H:%M")),
        )),
    };
    if note.source != SourceId::Sessions {
        return state.into_iter().collect();
    }
    let rejects = note.rejects.iter().map(|reject| format!("{name}: {} {}", reject.place, reject.reason));
    let more = note.rejected.saturating_sub(note.rejects.len() as u64);
    let more = (more > 0).then(|| format!("{name}: {more} more rows are broken"));
    let remarks = note.remarks.iter().map(|remark| format!("{name}: {remark}"));
    state.into_iter().chain(rejects).chain(more).chain(remarks).collect()
}

/// A store of a flag.
fn spec(cli: &Cli, flag: &str) -> Result<StoreSpec> {
    let known = StoreKind::ALL.map(StoreKind::as_str).join(", ");
    let (kind, path) =
        flag.split_once('=').with_context(|| format!("--store {flag:?} is not KIND=PATH, kind one of {known}"))?;
    let kind = StoreKind::ALL.into_iter().find(|store| store.as_str() == kind);
    let kind = kind.with_context(|| format!("--store {flag:?}: kind is none of {known}"))?;
    Ok(StoreSpec::below(kind, &cli.workspace, Path::new(path)))
}

/// The file of the cache that holds an index.
struct CacheShelf<'a> {
    /// The cache.
    cache: &'a Cache,
    /// The name of the file.
    name: String,
}

/// The shelf of an index, if the cache may be used.
fn on_shelf<'a>(cache: &'a Cache, name: &str, is_used: bool) -> Option<Box<dyn Shelf + 'a>> {
    is_used.then(|| Box::new(CacheShelf { cache, name: name.to_owned() }) as _)
}

impl Shelf for CacheShelf<'_> {
    fn kept(&self) -> Option<Box<dyn Kept + '_>> {
        Some(Box::new(self.cache.open(&self.name)?))
    }

    fn begin(&self) -> std::result::Result<Box<dyn Draft + '_>, String> {
        self.cache.draft(&self.name).map(|draft| Box::new(draft) as _).map_err(|error| format!("{error:#}"))
    }
}

impl Draft for CacheDraft {
    fn keep(self: Box<Self>) -> std::result::Result<(), String> {
        CacheDraft::keep(*self).map_err(|error| format!("{error:#}"))
    }
}

/// Stores of which something could not be read.
fn faults(stores: &Stores) -> Vec<String> {
    stores.scans.iter().flat_map(|(_, scan)| scan.faults.iter().cloned()).collect()
}

/// What is asked for, and how wide it may be.
struct Asked<'a> {
    /// The command line.
    cli: &'a Cli,
    /// Its flags.
    args: &'a SessionsArgs,
    /// Columns of a line on stdout.
    columns: usize,
}

/// The answer: a table, or the rollup behind it.
fn answer(
    asked: &Asked<'_>,
    table: &Table<'_>,
    stores: &Stores,
    now: DateTime<Utc>,
    warnings: Vec<String>,
    open: &dyn Fn(&Cli) -> Result<Store>,
) -> Result<Answer, Failure> {
    let Asked { cli, args, columns } = *asked;
    let is_lost = !stores.scans.is_empty() && stores.scans.iter().all(|(_, scan)| scan.is_lost());
    let code = if is_lost { ExitCode::Failed } else { ExitCode::Finished };
    let text = if let Some(format) = args.rollup {
        rollup(cli, args, format, table, now, open).map_err(Failure::Failed)?
    } else {
        let by: Vec<Dimension> = args.by.iter().copied().map(dimension).collect();
        let view = view(&table.parts, &by, args.since, args.until);
        let ways: Vec<(&str, u64)> = table.ways.iter().map(|(way, count)| (way.as_str(), *count)).collect();
        match cli.format {
            Format::Human => outputs::sessions::human(&view, &ways, &table.remarks, columns),
            Format::Json => outputs::sessions::json(&view, &ways, &table.remarks, &events::events(stores)),
            Format::Csv => outputs::sessions::csv(&view),
        }
    };
    Ok(Answer { text, warnings, code })
}

/// The rollup of the days that are meant: as text, or the path of the file that was written.
fn rollup(
    cli: &Cli,
    args: &SessionsArgs,
    format: RollupFormat,
    table: &Table<'_>,
    now: DateTime<Utc>,
    open: &dyn Fn(&Cli) -> Result<Store>,
) -> Result<String> {
    let is_meant = |day| args.since.is_none_or(|since| day >= since) && args.until.is_none_or(|until| day <= until);
    let rows = merge(table.parts.iter().filter(|part| is_meant(part.row.key.day)).map(|part| part.row.clone()));
    let (text, path) = match format {
        RollupFormat::Csv => (Some(write_csv(&rows, now)), None),
        RollupFormat::Parquet => {
            (None, Some(outputs::sessions::write_rollup(&open(cli)?, &write_parquet(&rows, now))?))
        }
    };
    Ok(match (cli.format, text, path) {
        (Format::Json, text, path) => document("rollup", json!({ "text": text, "path": path })),
        (_, Some(text), _) => text,
        (_, None, path) => path.unwrap_or_default() + "\n",
    })
}

/// What a line is about.
fn dimension(by: By) -> Dimension {
    match by {
        By::Model => Dimension::Model,
        By::Effort => Dimension::Effort,
        By::Pool => Dimension::Pool,
        By::Home => Dimension::Home,
        By::Class => Dimension::Class,
        By::Day => Dimension::Day,
    }
}
