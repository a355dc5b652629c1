"""The report: figures and tables put into one page."""

import json
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..calibrate.feedback import in_force
from ..errors import MissingExtraError
from ..files import write
from ..results import EVENT_COLUMNS, Column, Detection, measured
from ..settings import Settings
from ..truth import Truth, judge
from ..wording import count
from ..wording import number as numeral
from .channels import BLAMED, all_channels, every
from .clock import Clock
from .jinja import environment
from .stretches import silent
from .thin import drawable

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["html", "save"]

CLOSE_UPS = 40  # events, the most severe ones, that are drawn one by one
LISTED = 500  # events in the table
COLUMNS = sorted((column for column in EVENT_COLUMNS if column.title), key=lambda column: column.title != "what")


@dataclass(frozen=True)
class Told:
    """An event as the page tells it."""

    number: int  # from 1
    cells: tuple[tuple[Column, str], ...]
    sentence: str
    kind: str
    start: str
    severity: str
    lasted: str
    drawn: bool
    accepted: str  # rows after which its level was taken for the new normal; "" where it was not
    label: str  # whether it touches a labelled stretch; "" where there are no labels


def save(result: Detection, path: str | Path, *, title: str = "Anomaly report", labels: Any = None) -> None:
    """Writes the report of a detection as one HTML file, whole or not at all. It needs no network to be read.

    Args:
        result: what `Detector.detect` gave.
        path: of the file, which may exist.
        title: at the top of the page.
        labels: one for each row, 0 for normal, to be shown beside what was found; the detector never sees them.

    Raises:
        FileError: where it cannot be written.
        InputError: where there is not one label for each row.
        MissingExtraError: where plotly or jinja2 is absent.

    Example:
        result = detector.detect(recent)
        report.save(result, "report.html", title="Water works, last week")
    """
    write(html(result, title=title, labels=labels).encode("utf-8"), path)


def html(result: Detection, *, title: str = "Anomaly report", labels: Any = None) -> str:
    """The report of a detection as one page.

    Args:
        result: what `Detector.detect` gave.
        title: at the top of the page.
        labels: one for each row, 0 for normal, to be shown beside what was found; the detector never sees them.

    Returns:
        HTML that holds all it shows.

    Raises:
        InputError: where there is not one label for each row.
        MissingExtraError: where plotly or jinja2 is absent.

    Example:
        page = report.html(detector.detect(recent))
        print(len(page))
    """
    try:
        from markupsafe import Markup
        from plotly.offline import get_plotlyjs

        from . import figures
    except ImportError as error:
        raise MissingExtraError(f"reports need {error.name}: pip install 'ccmtad[report]'") from error
    truth = None if labels is None else judge(result, labels)
    severe = sorted(range(len(result.events)), key=lambda i: -result.events[i].severity)
    drawn, gone = sorted(severe[:CLOSE_UPS]), silent(result)
    pictures = {
        "score": figures.score(result, truth),
        "channel": figures.channel(result, truth),
        "blame": figures.blame(result),
        "shares": figures.health_share(result),
        "pulse": figures.health_through_time(result),
        "clusters": figures.clusters(result),
        **{f"event-{i + 1}": figures.event(result, result.events[i], truth, gone) for i in drawn},
    }
    events = [_told(result, truth, i, i in drawn) for i in sorted(severe[:LISTED])]
    learnt = result.learnt
    return (
        environment()
        .get_template("page.html")
        .render(
            title=title,
            style=Markup(_file("pieces/shared.css") + _file("page.css")),
            script=Markup(_file("pieces/theme.js") + _file("page.js")),
            plotly=Markup(get_plotlyjs()),
            figures=Markup(_json(pictures)),
            channels=Markup(_safe(json.dumps(all_channels(result, gone), separators=(",", ":"), allow_nan=False))),
            tiles=[*_tiles(result), *_label_tiles(result, truth)],
            span=_span(result),
            thinned=_thinned(len(result), figures.POINTS),
            every=every(result),
            columns=COLUMNS,
            events=events,
            left_out=f"{len(severe) - len(events):,}" if len(severe) > len(events) else "",
            options=[one for one in events if one.drawn],
            worst=severe[0] + 1 if severe else 0,
            found=len(severe),
            labelled=truth is not None,
            choices=_choices(result, severe),
            mapped=figures.MAPPED,
            zone=Clock(result).zone,
            window=learnt.settings.window,
            health=result.health,
            clusters=learnt.clusters,
            correlated=learnt.correlation is not None,
            facts=f"alpha {learnt.alpha:.4g}, threshold {result.threshold:.4g}, calibrated on {learnt.references:,} "
            "normal losses",
            settings=_settings(result),
            version=__version__,
        )
    )


def _file(path: str) -> str:
    return files(__package__).joinpath(path).read_text(encoding="utf-8")


def _safe(text: str) -> str:
    """JSON, safe inside a script element."""
    return text.replace("<", "\\u003c")


def _json(pictures: "dict[str, go.Figure | None]") -> str:
    """All figures."""
    parts = (f"{json.dumps(name)}:{chart.to_json()}" for name, chart in pictures.items() if chart is not None)
    return _safe("{" + ",".join(parts) + "}")


def _tiles(found: Detection) -> list[tuple[str, str, str]]:
    rows, events = len(found), found.events
    worst = max(events, key=lambda one: one.severity, default=None)
    return [
        ("events", f"{len(events):,}", f"{sum(one.open for one in events)} still open" if events else "nothing to see"),
        ("rows in alarm", f"{found.alarm.mean():.2%}", f"{int(found.alarm.sum()):,} of {rows:,}"),
        (
            "largest severity",
            "none" if worst is None else numeral(worst.severity),
            "" if worst is None else measured(worst.kind),
        ),
        ("channels", f"{len(found.channels)}", f"in {len(found.learnt.clusters)} clusters"),
        ("budget", found.learnt.allowed, _support(found)),
        ("calibration", found.health.state, "see below"),
    ]


def _label_tiles(found: Detection, truth: Truth | None) -> list[tuple[str, str, str]]:
    """How well it did by labels that it never saw."""
    if truth is None:
        return []
    right, clock = sum(truth.right), Clock(found)
    return [
        ("precision", _share(truth.precision), f"{right} of {len(truth.right)} events touch a label"),
        ("recall", _share(truth.recall), f"{truth.found} of {len(truth.stretches)} labelled stretches found"),
        (
            "delay",
            "none" if truth.delay is None else clock.delayed(truth.delay),
            "from the start of a label to the alarm, median",
        ),
    ]


def _share(share: float | None) -> str:
    return "none" if share is None else f"{share:.0%}"


def _span(found: Detection) -> str:
    unjudged, clock = int(np.isnan(found.loss).sum()), Clock(found)
    text = f"{len(found):,} rows"
    if clock.zone and len(found):
        text += f", {clock.text(0)} to {clock.text(len(found) - 1)} ({clock.zone})"
    text += f"; {unjudged:,} of them could not be judged (the first of a window, after gaps, late or empty rows)."
    words = [one.word for one in in_force(found.learnt.feedback)]
    if words:
        heeded = ", ".join(f"{words.count(word)} {word}" for word in ("dismissed", "confirmed") if word in words)
        text += f" Judged after what was said of earlier events: {heeded}."
    return text


def _support(found: Detection) -> str:
    support = found.learnt.support
    if support is None:
        return "false alarms that are acceptable"
    if support.enough:
        return f"supported by {found.learnt.references:,} normal rows"
    return f"extrapolated: {found.learnt.references:,} normal rows support 1/{support.longest:,.0f} rows"


def _thinned(rows: int, points: int) -> str:
    if rows <= points:
        return "Every row is drawn."
    each = -(-rows // ((points - 2) // 3))
    return f"Drawn from the smallest and the largest score of every {each:,} rows: no peak is left out."


def _told(found: Detection, truth: Truth | None, number: int, drawn: bool) -> Told:
    one, clock = found.events[number], Clock(found)
    accept = found.accepted_after(one)
    last = one.end if one.end is not None else int(drawable(found)[-1])
    return Told(
        number + 1, tuple((column, column.text(one)) for column in COLUMNS), one.sentence + one.others, one.kind,
        clock.text(one.start), numeral(one.severity), clock.lasted(one.start, last), drawn,
        f"{accept:,}" if accept else "",
        "" if truth is None else "labelled" if truth.right[number] else "not labelled",
    )  # fmt: skip


def _choices(found: Detection, severe: list[int]) -> list[tuple[int, str, str, bool]]:
    """Channels to choose from: place, name, how many events blame it, and whether it is drawn first."""
    blamed: dict[str, int] = {}
    for one in found.events:
        for name in one.channels[:BLAMED]:
            blamed[name] = blamed.get(name, 0) + 1
    first = found.events[severe[0]].channels[:1] if severe else found.channels[:1]
    return [
        (i, name, count(blamed[name], "event") if name in blamed else "", name in first)
        for i, name in enumerate(found.channels)
    ]


def _settings(found: Detection) -> list[tuple[str, Any, bool]]:
    """Name, value, and whether it is another than the default."""
    usual = asdict(Settings())
    return [(name, str(value), value != usual[name]) for name, value in asdict(found.learnt.settings).items()]
