"""Writes the tables of this folder as Parquet with four engines, each with the types it prefers.

    pip install pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0 pandas && python make.py

The CSV files are the answers; `<table>-<engine>.parquet` must read like `<table>.csv`.
"""

import datetime as dt
import decimal

import duckdb
import pandas
import polars
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

TEXT = {"pool", "provider", "model", "effort", "home", "task_class", "source", "task_id", "outcome", "basis", "session_id"}
DAYS = {"day"}
TIMES = {"first_at", "last_at", "as_of", "finished_at", "measured_at"}
SMALL = {"attempts": pa.int8(), "responses": pa.int16(), "infra": pa.uint8(), "n_cost": pa.uint16(), "attempt": pa.int8(), "n": pa.uint16()}
MONEY = {"cost_usd"}


def typed(name):
    if name in TEXT:
        return pa.string()
    if name in DAYS:
        return pa.date32()
    if name in TIMES:
        return pa.timestamp("us", tz="UTC")
    return pa.float64() if name.endswith("_s") or name.endswith("_usd") or name.endswith("_tps") else pa.int64()


def read(table):
    names = open(f"{table}.csv").readline().strip().split(",")
    return pa.csv.read_csv(
        f"{table}.csv", convert_options=pa.csv.ConvertOptions(column_types={name: typed(name) for name in names}, strings_can_be_null=True)
    )


def arrow(table, name):
    """Dictionaries, decimals, the smallest integers, and columns of types that no cell has."""
    for at, field in enumerate(table.schema):
        column = table[field.name]
        if field.name in TEXT:
            column = column.dictionary_encode()
        elif field.name in SMALL:
            column = column.cast(SMALL[field.name])
        elif field.name in MONEY:
            column = column.cast(pa.decimal128(18, 9))
        table = table.set_column(at, field.name, column)
    rows = table.num_rows
    table = table.append_column("extra_struct", pa.array([{"a": 1, "b": [1, 2]}] * rows))
    table = table.append_column("extra_decimal", pa.array([decimal.Decimal("1.50")] * rows, pa.decimal256(50, 2)))
    table = table.append_column("extra_bytes", pa.array([b"\xff\x00"] * rows))
    table = table.append_column("extra_time", pa.array([dt.time(1, 2)] * rows))
    pq.write_table(table, f"{name}-pyarrow.parquet", compression="zstd")


def duck(table, name):
    """DATE, TIMESTAMP without a zone where the table has days of its own, ENUM, DECIMAL, HUGEINT."""
    db = duckdb.connect()
    db.execute("SET TimeZone='UTC'")
    db.register("t", table)
    cells = []
    for field in table.schema:
        kind = {"day": "DATE", "first_at": "TIMESTAMP", "last_at": "TIMESTAMP_MS", "as_of": "TIMESTAMP", "finished_at": "TIMESTAMPTZ", "measured_at": "TIMESTAMPTZ"}.get(field.name)
        kind = kind or ("DECIMAL(12,6)" if field.name in MONEY else None)
        kind = kind or ("ENUM('scout', 'workhorse')" if field.name == "pool" else None)
        kind = kind or ("UTINYINT" if field.name in SMALL else None)
        cells.append(f'"{field.name}"::{kind} AS "{field.name}"' if kind else f'"{field.name}"')
    db.execute(f"COPY (SELECT {', '.join(cells)} FROM t) TO '{name}-duckdb.parquet' (FORMAT parquet)")


def frame(table, name):
    """Categorical text and times of milliseconds."""
    data = polars.from_arrow(table)
    data = data.with_columns([polars.col(c).cast(polars.Categorical) for c in data.columns if c in TEXT])
    data = data.with_columns([polars.col(c).cast(polars.Datetime("ms", "UTC")) for c in data.columns if c in TIMES])
    data.write_parquet(f"{name}-polars.parquet", compression="lz4")


def panda(table, name):
    """Categories, floats where a count is missing, times of nanoseconds."""
    data = table.to_pandas()
    for column in data.columns:
        if column in TEXT:
            data[column] = data[column].astype("category")
        if column in TIMES:
            data[column] = data[column].astype("datetime64[ns, UTC]")
        if column in DAYS:
            data[column] = pandas.to_datetime(data[column]).astype("datetime64[ns]")
    data.to_parquet(f"{name}-pandas.parquet", index=True)


for name in ["rollup", "rollup-one", "scorecards", "scorecards-one", "speeds-one"]:
    for write in [arrow, duck, frame, panda]:
        write(read(name), name)
