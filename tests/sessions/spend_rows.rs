//! Random rows of a spend log: what the database sums up is, bit for bit, what the reader makes of an export of the same rows, as CSV, as
//! JSONL and of both at once, in any order of rows, with and without a primary key.

use std::path::Path;

use chrono::{DateTime, Utc};
use pool_review::fetch::{Outcome, Surroundings, plan, run};
use pool_review::rollup::{Priced, of_calls, write_csv};
use pool_review::settings::Settings;
use pool_review::sources::sessions::{StoreSpec, read};
use pool_review::vocabulary::{StatedPool, StoreKind};
use postgres::Client;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::database::{Database, SECRET};
use crate::spend_logs::TABLE;
use crate::support::fresh;

/// A table that promises nothing, as a view or a copy of the log is; and the log with other types.
const LOOSE: &str = r#"CREATE TABLE loose (request_id text, call_type text, spend float8, total_tokens bigint, prompt_tokens bigint,
    completion_tokens bigint, "startTime" timestamp, "endTime" timestamp, "completionStartTime" timestamp, model text, model_group text,
    custom_llm_provider text, cache_hit text, session_id text, status text, metadata jsonb);
    CREATE VIEW other AS SELECT request_id::varchar, call_type, spend::text::numeric AS spend, total_tokens::float8, prompt_tokens::numeric,
    completion_tokens::float8, "startTime" AT TIME ZONE 'UTC' AS "startTime", "endTime" AT TIME ZONE 'UTC' AS "endTime",
    "completionStartTime", model, model_group, custom_llm_provider, cache_hit, session_id, status, metadata::json FROM loose
    WHERE spend IS NULL OR spend < 1e15 OR spend > 1e15"#;

/// The instant of every run.
fn now() -> DateTime<Utc> {
    "2026-11-29T12:00:00Z".parse().unwrap()
}

/// One of some JSON values.
fn one_of(values: Vec<Value>) -> impl Strategy<Value = Value> {
    select(values)
}

/// Spends of all sizes, and what is no number.
fn spend() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => (0_u32..2_000_000, 0_i32..12).prop_map(|(digits, places)| json!(f64::from(digits) * 10_f64.powi(-places))),
        2 => (-16_f64..15.2).prop_map(|exponent| json!(10_f64.powf(exponent))),
        1 => any::<f64>().prop_map(|amount| json!(amount.to_string())),
        2 => one_of(vec![json!(0), json!(-1.5), json!(null), json!("NaN"), json!("Infinity"), json!("-Infinity"), json!(5e-324),
            json!(5e-13), json!(1.5e-12), json!(999_999_999_999_999.9), json!(2_251.799_813_685_249), json!(1e-9), json!(1e15)]),
    ]
}

/// What stands where a count should.
fn leaf() -> impl Strategy<Value = Value> {
    let odd = vec![
        json!(null),
        json!(true),
        json!([3]),
        json!({"a": 1}),
        json!(-4),
        json!(12.0),
        json!(12.5),
        json!("12"),
        json!("012"),
        json!("12.0"),
        json!("12."),
        json!("+4"),
        json!(" 4"),
        json!("4\n"),
        json!(""),
        json!("many"),
        json!(1e30),
        json!(999_999_999_999_u64),
        json!(1_000_000_000_000_u64),
        json!(1_000_000_000_000_000_000_u64),
        json!("٣"),
    ];
    prop_oneof![4 => (0_u32..400).prop_map(|count| json!(count)), 1 => one_of(odd)]
}

/// Metadata of every shape.
fn metadata() -> impl Strategy<Value = Value> {
    let details = prop_oneof![
        4 => (leaf(), leaf()).prop_map(|(read, written)| json!({"cached_tokens": read, "cache_creation_tokens": written})),
        1 => leaf().prop_map(|read| json!({"cached_tokens": read})),
        1 => one_of(vec![json!(null), json!([]), json!("text")]),
    ];
    let usage = prop_oneof![
        5 => details.prop_map(|details| json!({"prompt_tokens_details": details, "prompt_tokens": 1e300})),
        1 => one_of(vec![json!(null), json!([{"prompt_tokens_details": {"cached_tokens": 1}}]), json!(7)]),
    ];
    let class =
        ["RateLimitError", "Timeout", "BudgetExceededError", "ContextWindowExceededError", "", "rateLimitError"];
    let errors = prop_oneof![
        select(class.to_vec()).prop_map(|class| json!({"error_class": class})),
        one_of(vec![
            json!(null),
            json!({"error_class": 5}),
            json!({"error_class": ["RateLimitError"]}),
            json!("RateLimitError")
        ]),
    ];
    let effort = one_of(vec![
        json!("high"),
        json!(""),
        json!(3),
        json!(null),
        json!("hoch, \"sehr\"\n"),
        json!("unrecorded"),
        json!(["x"]),
    ]);
    let retries = prop_oneof![3 => one_of(vec![json!(null), json!(0)]), 1 => leaf()];
    let whole = (usage, errors, effort, retries).prop_map(|(usage, errors, effort, retries)| {
        json!({"usage_object": usage, "error_information": errors, "reasoning_effort": effort, "attempted_retries": retries})
    });
    prop_oneof![
        8 => whole,
        1 => one_of(vec![json!(null), json!([]), json!({}), json!("[]"), json!("text"), json!(5), json!([{"attempted_retries": 2}])]),
    ]
}

/// Start, end and first token, some around midnight, to the microsecond, some at no time.
fn times() -> impl Strategy<Value = [Value; 3]> {
    let midnight = "2026-11-20T00:00:00Z".parse::<DateTime<Utc>>().unwrap().timestamp_micros();
    let at = |micros: i64| DateTime::from_timestamp_micros(micros).unwrap();
    let shown = move |micros: i64, has_fraction: bool| {
        json!(at(micros).format(if has_fraction { "%Y-%m-%d %H:%M:%S%.6f" } else { "%Y-%m-%d %H:%M:%S" }).to_string())
    };
    let start = prop_oneof![-2_000_i64..2_000, -90_000_000_000_i64..90_000_000_000];
    let busy = prop_oneof![Just(0_i64), 249_000_i64..251_000, -5_000_000_i64..90_000_000];
    let odd = || prop_oneof![8 => Just(None), 1 => one_of(vec![json!(null), json!("infinity"), json!("-infinity"), json!("9999-12-31 00:00:00"), json!("12026-01-01 00:00:00")]).prop_map(Some)];
    (start, busy, 0_i64..2_000_000, any::<bool>(), odd(), odd()).prop_map(
        move |(start, busy, first, has_fraction, odd_start, odd_end)| {
            let [start, end, first] =
                [start, start + busy, start + first].map(|micros| shown(midnight + micros, has_fraction));
            [odd_start.unwrap_or(start), odd_end.unwrap_or(end), first]
        },
    )
}

/// A row.
fn row() -> impl Strategy<Value = Value> {
    let id = prop_oneof![3 => "r[0-9]{1,2}".prop_map(Value::from), 1 => one_of(vec![json!(""), json!(null), json!("é,\"\n"), json!("r 1")])];
    let kind = one_of(vec![
        json!(null),
        json!(""),
        json!("acompletion"),
        json!("acompletion"),
        json!("responses"),
        json!("aembedding"),
        json!("ACOMPLETION"),
    ]);
    let hit = one_of(vec![
        json!(null),
        json!(""),
        json!("None"),
        json!("None"),
        json!("None"),
        json!("True"),
        json!("TRUE"),
        json!("False"),
    ]);
    let status =
        one_of(vec![json!(null), json!(""), json!("success"), json!("success"), json!("failure"), json!("Success")]);
    let name = || {
        prop_oneof![
            4 => one_of(vec![json!("a"), json!("a"), json!("b"), json!(""), json!("漢字🦀"), json!("k, \"k3\"\r\n"), json!(" a"), json!("A")]),
            1 => "[^\u{0}]{0,4}".prop_map(Value::from),
        ]
    };
    let count = || {
        prop_oneof![
            4 => (0_i64..600).prop_map(|count| json!(count)), 2 => (45_i64..55).prop_map(|count| json!(count)),
            1 => one_of(vec![json!(null), json!(0), json!(-7), json!(999_999_999_999_i64), json!(1_000_000_000_000_i64), json!(i64::MAX)]),
        ]
    };
    ((id, kind, hit, status), (name(), name(), name()), (count(), count(), 0_i64..3), spend(), times(), metadata()).prop_map(
        |((id, kind, hit, status), (model, pool, provider), (prompt, output, total), spend, [start, end, first], metadata)| {
            json!({"request_id": id, "call_type": kind, "cache_hit": hit, "status": status, "model": model, "model_group": pool,
                "custom_llm_provider": provider, "prompt_tokens": prompt, "completion_tokens": output, "total_tokens": total, "spend": spend,
                "startTime": start, "endTime": end, "completionStartTime": first, "session_id": "s", "metadata": metadata})
        },
    )
}

/// Rows of a log: calls, and for some of them further rows of the same id and time that differ in some columns.
fn rows() -> impl Strategy<Value = Vec<Value>> {
    let rival = |call: &Value, (other, columns): &(Value, u16)| {
        let mut rival = call.clone();
        let differs = |(at, (column, _)): &(usize, (&String, &Value))| {
            columns >> at & 1 == 1 && column.as_str() != "request_id" && !column.ends_with("Time")
        };
        for (_, (column, value)) in other.as_object().unwrap().iter().enumerate().filter(differs) {
            rival[column] = value.clone();
        }
        rival
    };
    let rivals = prop_oneof![Just(Vec::new()).boxed(), prop::collection::vec((row(), any::<u16>()), 1..3).boxed()];
    let call = (row(), rivals).prop_map(move |(call, others)| {
        let rivals: Vec<Value> = others.iter().map(|other| rival(&call, other)).collect();
        [vec![call], rivals].concat()
    });
    prop::collection::vec(call, 0..40).prop_map(|calls| calls.concat())
}

/// The rollup that `fetch` makes of a table, as CSV; empty where nothing is in it.
fn summed(folder: &Path, table: &str, port: u16) -> String {
    let front_matter = format!(
        "data: {{ spend_logs: spend.csv }}\nfetch: {{ spend_logs: {{ variable: DB, days: 36500, table: {table} }} }}"
    );
    let settings = Settings::parse(&format!("---\n{front_matter}\n---\nWords.\n"), "review.md").unwrap();
    let address = Database::address("owner", SECRET, port);
    let around = Surroundings {
        clock: &now,
        sleep: &|_| (),
        variable: &|name| (name == "DB").then(|| address.clone()),
        progress: &|_| (),
    };
    let done = run(folder, &settings, &plan(&settings, &[]), (true, true), &around);
    assert!(matches!(done[0].outcome, Outcome::Fetched { .. }), "{table}: {}", done[0].line());
    std::fs::read_to_string(folder.join("spend.csv")).unwrap()
}

/// The rollup of an export, as CSV.
fn exported(path: &Path) -> String {
    let scan = read(&StoreSpec::new(StoreKind::Litellm, path.to_owned()), &[].into(), None, &|_, _| ());
    let pool = |stated: &StatedPool| match stated {
        StatedPool::Session(pool) => Some(pool.clone()),
        StatedPool::Nothing | StatedPool::Attempt(_) => None,
    };
    let priced = scan.rows.iter().map(|row| Priced { row, pool: pool(&row.key.stated), prices: None });
    write_csv(&of_calls(priced, now()), now())
}

/// Exports a table in an order of its own.
fn export(owner: &mut Client, table: &str, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let copy = format!("COPY (SELECT * FROM {table} ORDER BY random()) TO STDOUT WITH (FORMAT csv, HEADER)");
    let mut file = std::fs::File::create(folder.join("log.csv")).unwrap();
    std::io::copy(&mut owner.copy_out(&copy).unwrap(), &mut file).unwrap();
    let lines = owner.query(&format!("SELECT row_to_json(t)::text FROM {table} t ORDER BY random()"), &[]).unwrap();
    let lines: String = lines.iter().map(|line| line.get::<_, String>(0) + "\n").collect();
    std::fs::write(folder.join("log.jsonl"), lines).unwrap();
}

/// Puts rows into both tables: where there is a key, the first of each id and none without.
fn fill(owner: &mut Client, rows: &[Value]) {
    owner.batch_execute(r#"TRUNCATE loose, "LiteLLM_SpendLogs""#).unwrap();
    let text = Value::from(rows.to_vec()).to_string();
    owner
        .execute("INSERT INTO loose SELECT * FROM json_populate_recordset(NULL::loose, $1::text::json)", &[&text])
        .unwrap();
    let columns = r#"request_id, call_type, spend, prompt_tokens, completion_tokens, total_tokens, "startTime", "endTime",
        "completionStartTime", model, model_group, custom_llm_provider, cache_hit, session_id, status, metadata"#;
    owner
        .execute(
            &format!(
                r#"INSERT INTO "LiteLLM_SpendLogs" ({columns}) SELECT {columns} FROM (SELECT * FROM loose WHERE request_id IS NOT NULL AND
                call_type IS NOT NULL AND spend IS NOT NULL AND prompt_tokens < 2147483648 AND completion_tokens < 2147483648 AND
                "startTime" IS NOT NULL AND "endTime" IS NOT NULL AND model IS NOT NULL) AS fit ON CONFLICT DO NOTHING"#
            ),
            &[],
        )
        .unwrap();
}

#[test]
fn any_rows_sum_up_in_the_database_as_their_exports_do_in_every_bit() {
    let Some(database) = Database::start() else { return };
    let mut owner = database.owner();
    owner.batch_execute(TABLE).unwrap();
    owner.batch_execute(LOOSE).unwrap();
    let folder = fresh("spend-rows");
    let mut runner = TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
    let owner = std::cell::RefCell::new(owner);
    let compared = std::cell::Cell::new(0);
    let tested = runner.run(&rows(), |rows| {
        let mut owner = owner.borrow_mut();
        fill(&mut owner, &rows);
        for table in ["loose", "\"LiteLLM_SpendLogs\"", "other"] {
            let exports = folder.join("exports");
            export(&mut owner, table, &exports);
            let wanted = summed(&folder, table.trim_matches('"'), database.port);
            compared.set(compared.get() + wanted.lines().count() - 1);
            for path in [exports.join("log.csv"), exports.join("log.jsonl"), exports] {
                prop_assert_eq!(&exported(&path), &wanted, "{} of {}", path.display(), table);
            }
        }
        Ok(())
    });
    assert!(tested.is_ok(), "{}", tested.unwrap_err());
    assert!(compared.get() > 200, "{} rollup rows were compared", compared.get());
}
