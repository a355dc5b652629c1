"""Names that came with data never act on a terminal, a log or a page; nor does a name that is no text, or a reader that
has gone, end a command in a traceback."""

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ccmtad import Detector, Frame
from ccmtad.cli import main
from ccmtad.wording import listed, printable

from .run import COMMAND

NAMES = (
    "\x1b[31mred", "\x1b]0;title\x07", "a\x9b2Jb", ":battery:", "\u202etfel", "[bold]x[/]", 'say "hi" <b>',
    "two\nlines",
)  # fmt: skip
CODES = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of such channels, and a file of them with an event, all under such a name."""
    import polars as pl

    made = tmp_path_factory.mktemp("hostile")
    random, wave = np.random.default_rng(0), np.sin(np.arange(700) / 9)[:, None]
    values = wave + 0.05 * random.normal(size=(700, len(NAMES)))
    Detector(epochs=1, width=8, window=4, blocks=1, budget="1/50 rows").fit(Frame(values, NAMES)).save(
        made / "\x1b[32mm.ccm"
    )
    values[600:610] = np.where(np.arange(len(NAMES)) % 2, 9.0, -9.0)
    pl.DataFrame(values, schema=list(NAMES)).write_parquet(made / "\x1b[32md.parquet")
    return made


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    found = logging.getLogger("ccmtad")
    handlers, propagate = found.handlers, found.propagate
    yield found
    found.handlers, found.propagate = handlers, propagate


COMMANDS = {
    "inspect": ["inspect", "MODEL"],
    "inspect --json": ["inspect", "MODEL", "--json"],
    "detect": ["detect", "MODEL", "DATA"],
    "detect --json": ["detect", "MODEL", "DATA", "--json"],
    "detect --report": ["detect", "MODEL", "DATA", "--report", "REPORT"],
    "check": ["check", "DATA", "DATA"],
    "backtest": ["backtest", "MODEL", "DATA"],
    "recalibrate": ["recalibrate", "MODEL", "DATA", "-o", "OUT", "--force"],
    "an unknown file": ["detect", "MODEL", "DATA.no"],
    "an unknown argument": ["inspect", "MODEL", "DATA"],
}


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("command", list(COMMANDS))
def test_no_code_reaches_the_terminal(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    places = {
        "MODEL": folder / "\x1b[32mm.ccm", "DATA": folder / "\x1b[32md.parquet", "DATA.no": folder / "\x1b[32mno\u202e",
        "REPORT": tmp_path / "\x1b[32mr.html", "OUT": tmp_path / "\x1b[32mn.ccm",
    }  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["ccmtad", *(str(places.get(one, one)) for one in COMMANDS[command])])
    ended = 0
    try:
        main()
    except SystemExit as end:
        ended = int(end.code or 0)
    out, errors = capfd.readouterr()
    assert not CODES.findall(out + errors)
    assert "🔋" not in out
    assert ended == 2 if "unknown" in command else ended in (0, 3)
    if command == "inspect --json":
        assert json.loads(out)["channels"] == list(NAMES)  # what machines get is the name itself
    if command == "inspect":
        assert ":battery:" in out
        assert r"\x1b[31mred" in out
        assert "[bold]x[/]" in out
        assert r"\u202etfel" in out
    if command == "detect --report":
        assert not CODES.findall(re.sub(r"<script>.*?</script>", "", places["REPORT"].read_text(), flags=re.DOTALL))


def test_no_code_reaches_a_log_or_a_sentence(
    folder: Path, caplog: pytest.LogCaptureFixture, log: logging.Logger
) -> None:
    log.propagate = True
    from ccmtad.tables import read

    detector, frame = Detector.load(folder / "\x1b[32mm.ccm"), read(folder / "\x1b[32md.parquet")
    for event in detector.detect(frame).events:
        assert not CODES.findall(event.sentence + event.others)
    stream = detector.stream()
    for row in frame.values[:10]:
        row[0] = np.nan
        for note in stream.update(row).notes:
            assert not CODES.findall(note)
    values = np.vstack([frame.values, np.full((1, len(NAMES)), np.inf)])
    import pandas as pd

    detector.detect(pd.DataFrame(values, columns=list(NAMES)))
    assert caplog.records
    assert not CODES.findall(caplog.text.replace("\n", ""))


def test_what_can_be_printed_stays_as_it_is() -> None:
    for text in ("Druck (bar)", "温度", "दाब", "می\u200cخواهم", "a\u00a0b", "1:2 [x]"):
        assert printable(text) == text
    assert printable("a\tb\x7f\ud800") == r"a\tb\x7f\ud800"
    assert listed(["\x1b[0m", "b"]) == r"\x1b[0m, b"


def test_a_quote_is_a_quote_in_the_pictures_of_a_report(folder: Path) -> None:
    from ccmtad.report import figures
    from ccmtad.tables import read

    found = Detector.load(folder / "\x1b[32mm.ccm").detect(read(folder / "\x1b[32md.parquet"))
    chart = figures.clusters(found)
    assert chart is not None
    labels = " ".join(chart.layout.xaxis.ticktext)
    assert 'say "hi" &lt;b&gt;' in labels
    assert "&quot;" not in labels  # plotly knows no such entity, and would print it
    assert not CODES.findall(labels)
    titles = " ".join(one.text for one in figures.event(found, found.events[0]).layout.annotations)
    assert "&quot;" not in titles


@pytest.mark.parametrize("more", [[], ["--json"], ["--report", "r.html"]])
def test_a_file_name_that_is_no_text_is_no_traceback(folder: Path, tmp_path: Path, more: list[str]) -> None:
    model, data = os.fsencode(tmp_path) + b"/m\xff.ccm", os.fsencode(tmp_path) + b"/d\xff.parquet"
    for name, place in (("m.ccm", model), ("d.parquet", data)):
        with open(place, "wb") as file:
            file.write((folder / f"\x1b[32m{name}").read_bytes())
    ended = subprocess.run(
        [*map(os.fsencode, COMMAND), b"detect", model, data, *map(os.fsencode, more)],
        capture_output=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
    )  # fmt: skip
    assert ended.returncode == 3, ended.stderr
    assert b"Traceback" not in ended.stderr
    if more == ["--json"]:
        assert json.loads(ended.stdout)["model"].endswith("m\udcff.ccm")


@pytest.mark.parametrize("command", ["inspect", "inspect --json", "detect"])
@pytest.mark.parametrize("closed", [True, False])
def test_a_reader_that_has_gone_ends_a_command_quietly(folder: Path, command: str, closed: bool) -> None:
    places = {"MODEL": folder / "\x1b[32mm.ccm", "DATA": folder / "\x1b[32md.parquet"}
    told = [*COMMAND, *(str(places.get(one, one)) for one in COMMANDS[command])]
    if closed:  # no standard output at all
        ended = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *told], capture_output=True, check=False)
    else:
        end, begin = os.pipe()
        os.close(end)
        ended = subprocess.run(told, stdout=begin, stderr=subprocess.PIPE, check=False)
        os.close(begin)
    assert ended.stderr == b""
    assert ended.returncode in ((0, 3) if closed else (1,))
