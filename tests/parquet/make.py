"""Writes the small files beside it, as another engine would: pip install pyarrow, then python3 make.py."""
import datetime
import pathlib

import pyarrow
from pyarrow import parquet

HERE = pathlib.Path(__file__).parent
UTC = datetime.timezone.utc


def instant(day, unit, zone):
    """A column of instants, one a day."""
    days = [datetime.datetime(2026, 11, n, 10, tzinfo=UTC if zone else None) for n in day]
    return pyarrow.array(days, pyarrow.timestamp(unit, tz=zone))


def table(zone, **more):
    """Speeds: the times in a zone, or in none."""
    columns = {
        "measured_at": instant([20, 21], "us", zone),
        "provider": ["acme", "acme"],
        "model": pyarrow.array(["one", "two"], pyarrow.large_string()),
        "n": pyarrow.array([12, 40], pyarrow.uint32()),
        "output_tps": pyarrow.array([80.5, None], pyarrow.float32()),
        "ttft_s": [0.5, 1.25],
    }
    return pyarrow.table(columns | more)


def rollup(**more):
    """Rollup rows with days as days and instants as instants."""
    columns = {
        "day": pyarrow.array([datetime.date(2026, 11, 20), datetime.date(2026, 11, 21)]),
        "provider": ["acme", "acme"],
        "model": pyarrow.array(["one", None], pyarrow.large_string()),
        "source": ["warehouse", "warehouse"],
        "attempts": pyarrow.array([12, 3], pyarrow.uint32()),
        "output_tokens": pyarrow.array([5000.0, 70.0]),
        "busy_s": pyarrow.array([61.5, None]),
        "last_at": instant([20, 21], "ns", "UTC"),
    }
    return pyarrow.table(columns | more)


WORDS = pyarrow.array(["acme", "acme"]).dictionary_encode()
ODD = {
    "note": pyarrow.array([[1, 2], []]),
    "words": WORDS,
    "small": pyarrow.array([1, None], pyarrow.int8()),
    "exact": pyarrow.array([1, 2]).cast(pyarrow.decimal128(21, 2)),
    "date": pyarrow.array([datetime.date(2026, 11, 20), None]),
}
for name, made in {
    "speeds-in-a-zone": table("Europe/Berlin"),
    "speeds-without-a-zone": table(None),
    "speeds-of-words": table("UTC", provider=WORDS),
    "speeds-with-odd-notes": table("UTC", **ODD),
    "rollup": rollup(),
    "rollup-of-words": rollup(provider=WORDS),
}.items():
    parquet.write_table(made, HERE / f"{name}.parquet")
