"""What is damaged, and what is asked of what could be read."""

import gzip
import io
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ccmtad import Detector, Frame, model_file
from ccmtad.errors import InputError
from ccmtad.tables import Reading, load
from ccmtad.tables.lines import Parser

__all__ = ["Victims", "use_model", "use_state", "use_table"]

GOLDEN = Path(__file__).parents[1] / "golden"
ROWS = 40
READING = Reading(
    "when", "%d.%m.%Y %H:%M", ("-9999", "Bad"), ("remark",), timezone="Europe/Berlin", day_first=True, thousands=".",
    tag="tag", value="value", words=(("c", (("off", 0.0), ("on", 1.0))),),
)  # fmt: skip


@dataclass(frozen=True)
class Victims:
    """What is damaged: a model, a snapshot of a stream of it, tables of its channels; older files too."""

    model: bytes
    state: bytes
    detector: Detector
    old_model: bytes
    old_state: bytes
    old_detector: Detector
    tables: tuple[tuple[str, bytes], ...]

    @classmethod
    def make(cls) -> "Victims":
        t = np.arange(600)
        random = np.random.default_rng(0)
        values = np.column_stack([np.sin(t / 9), np.cos(t / 9), np.sin(t / 5)]) + 0.01 * random.normal(size=(600, 3))
        times = np.datetime64("2026-01-01", "ns") + t * np.timedelta64(60, "s")
        train = Frame(values, ("a", "b", "c"), times)
        made = Detector(epochs=1, width=6, window=4, clusters=2, smooth=2, blocks=1, settle=20, seed=0)
        made.fit(train, reading=READING)
        odd = Frame(np.vstack([values[:80], [[9.0, 0.0, 0.0]] * 5, values[:20]]), train.channels, times[:105])
        made.dismiss(made.detect(odd).events[0])
        stream = made.stream()
        for row, time in zip(odd.values[:83], odd.times if odd.times is not None else (), strict=False):
            stream.update(row, time)
        old = Detector.load(GOLDEN / "model-v2.ccm")
        return cls(
            model_file.dumps(made.model_, {"params": made.get_params(), "history": [asdict(e) for e in made.history_]}),
            stream.snapshot(), made, (GOLDEN / "model-v2.ccm").read_bytes(), (GOLDEN / "snapshot-v2.bin").read_bytes(),
            old, tuple(_tables(odd)),
        )  # fmt: skip


def _tables(frame: Frame) -> Iterator[tuple[str, bytes]]:
    import polars as pl

    columns = {"time": frame.times, **{name: frame.values[:, i] for i, name in enumerate(frame.channels)}}
    table = pl.DataFrame(columns)
    text = table.write_csv(datetime_format="%Y-%m-%d %H:%M:%S").encode()
    yield "t.csv", text
    yield "t.csv.gz", gzip.compress(text, mtime=0)
    yield "t.jsonl", table.with_columns(pl.col("time").cast(pl.String)).write_ndjson().encode()
    for compression in ("zstd", "snappy", "uncompressed"):
        buffer = io.BytesIO()
        table.write_parquet(buffer, compression=compression)
        yield "t.parquet", buffer.getvalue()

    odd = [
        f"{i + 1}.{i % 12 + 1}.2026 {i % 24:02}:{i:02};1.23{i % 10},5;{'ON' if i % 3 else 'off'};-9999"
        for i in range(28)
    ]
    yield "t.csv", "\n".join(["Zeit;a;b;c", "-;bar;-;m3/h", *odd]).encode()
    long = [f"2026-10-25 0{2 + i // 60}:{i % 60:02}:00,{tag},{i}.5" for i in range(90) for tag in "abc"]
    yield "t.csv", "\n".join(["time,tag,value", *long]).encode()


def _rows(detector: Detector) -> NDArray[np.float64]:
    rows = np.random.default_rng(1).normal(size=(ROWS, detector.n_features_in_))
    rows[20] = 50.0
    rows[25, 0] = np.nan
    rows[30] = 1e308
    return rows


def use_model(data: bytes, folder: Path) -> None:
    """Reads a model, and asks everything of it that needs no training."""
    from ccmtad.cli.inspect import _clusters, _facts, _lines

    path = folder / "m.ccm"
    path.write_bytes(data)
    detector = Detector.load(path)
    rows = _rows(detector)
    found = detector.detect(rows)
    stream, start = detector.stream(), np.datetime64("2026-01-01", "s")
    for i, row in enumerate(rows):
        stream.update(row, start + 60 * i)
    detector.stream(resume=stream.snapshot())
    assert found.blame.shape == rows.shape
    json.dumps([event.sentence for event in found.events], ensure_ascii=False).encode()
    facts = _facts(detector, path)
    _lines(facts)
    _clusters(facts)
    json.dumps(facts, ensure_ascii=False, allow_nan=False).encode()
    _read_again(detector, folder)
    detector.save(path)
    Detector.load(path)


def _read_again(detector: Detector, folder: Path) -> None:
    """Reads a file as the model says, at once and line by line."""
    how, _ = Reading().over(detector.model_.reading)
    lines = [b"when;a;b;c", b"1.2.2026 10:00;1.234,5;2;off", b"25.10.2026 02:30;1;2;Bad", b"x;y;z;w"]
    path = folder / "again.csv"
    path.write_bytes(b"\n".join(lines))
    parser = Parser(detector.channels_, detector.model_.named, how, allow_missing=True)
    with suppress(InputError):
        load(path, how, fitted=detector.channels_)
    with suppress(InputError):
        parser.first(lines[0])
        for line in lines[1:]:
            parser.row(line)


def use_state(detector: Detector, data: bytes) -> None:
    """Goes on from a snapshot."""
    stream = detector.stream(resume=data)
    for row in _rows(detector):
        step = stream.update(row)
        assert step.blame.shape == row.shape
        json.dumps([change.event.sentence for change in step.changes] + [step.health.advice])
    _ = stream.tally, stream.last_time, stream.health
    detector.stream(resume=stream.snapshot())


def use_table(detector: Detector, name: str, data: bytes, folder: Path) -> None:
    """Reads a table, looks at it, and judges it."""
    from ccmtad.doctor import examine
    from ccmtad.tables import read

    (folder / name).write_bytes(data)
    frame = read(folder / name, Reading(timezone="Europe/Berlin"))
    for one in examine(frame, detector.settings, learning=False):
        json.dumps(one.text)
    detector.detect(frame)
