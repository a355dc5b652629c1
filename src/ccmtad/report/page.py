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
from ..results import EVENT_COLUMNS, Detection, Event
from ..settings import Settings
from ..wording import moment, span, stamp
from .jinja import environment
from .thin import drawable

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["html", "save"]

CLOSE_UPS = 40  # events, the most severe ones, that are drawn one by one
LISTED = 500  # events in the table


@dataclass(frozen=True)
class Told:
    """An event as the page tells it."""

    number: int  # from 1
    cells: tuple[tuple[str, str], ...]  # titles and texts
    drawn: bool
    accepted: str  # rows after which its level was taken for the new normal; "" where it was not
    began: str
    severity: str


def save(result: Detection, path: str | Path, *, title: str = "Anomaly report") -> None:
    """Writes the report of a detection, whole or not at all."""
    write(html(result, title=title).encode("utf-8"), path)


def html(result: Detection, *, title: str = "Anomaly report") -> str:
    """The report of a detection as one page."""
    try:
        from markupsafe import Markup
        from plotly.offline import get_plotlyjs

        from . import figures
    except ImportError as error:
        raise MissingExtraError(f"reports need {error.name}: pip install 'ccmtad[report]'") from error
    severe = sorted(range(len(result.events)), key=lambda i: -result.events[i].severity)
    drawn = sorted(severe[:CLOSE_UPS])
    pictures = {
        "score": figures.score(result),
        "shares": figures.health_share(result),
        "pulse": figures.health_through_time(result),
        "clusters": figures.clusters(result),
        **{f"event-{i + 1}": figures.event(result, result.events[i]) for i in drawn},
    }
    events = [_told(result, i, i in drawn) for i in sorted(severe[:LISTED])]
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
            tiles=_tiles(result),
            span=_span(result),
            thinned=_thinned(result, figures.POINTS),
            events=events,
            left_out=f"{len(severe) - len(events):,}" if len(severe) > len(events) else "",
            options=[one for one in events if one.drawn],
            worst=severe[0] + 1 if severe else 0,
            found=len(severe),
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


def _json(pictures: "dict[str, go.Figure | None]") -> str:
    """All figures, safe inside a script element."""
    parts = (f"{json.dumps(name)}:{chart.to_json()}" for name, chart in pictures.items() if chart is not None)
    return "{" + ",".join(parts).replace("<", "\\u003c") + "}"


def _tiles(found: Detection) -> list[tuple[str, str, str]]:
    rows, events = len(found), found.events
    return [
        ("events", f"{len(events):,}", f"{sum(one.open for one in events)} still open" if events else "nothing to see"),
        ("rows in alarm", f"{found.alarm.mean():.2%}", f"{int(found.alarm.sum()):,} of {rows:,}"),
        (
            "largest severity",
            f"{max((one.severity for one in events), default=0):.3g}",
            "the largest error, in usual ones",
        ),
        ("channels", f"{len(found.channels)}", f"in {len(found.learnt.clusters)} clusters"),
        ("budget", found.learnt.allowed, _support(found)),
        ("calibration", found.health.state, "see below"),
    ]


def _span(found: Detection) -> str:
    unjudged = int(np.isnan(found.loss).sum())
    text = f"{len(found):,} rows"
    if found.times is not None and len(found):
        text += f", {stamp(found.times[0])} to {stamp(found.times[-1])} (UTC)"
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


def _thinned(found: Detection, points: int) -> str:
    if len(found) <= points:
        return "Every row is drawn."
    rows = -(-len(found) // ((points - 2) // 3))
    return f"Drawn from the smallest and the largest score of every {rows:,} rows: no peak is left out."


def _told(found: Detection, number: int, drawn: bool) -> Told:
    one, accept = found.events[number], found.learnt.settings.accept
    return Told(
        number + 1, _cells(found, one), drawn, f"{accept:,}" if found.accepted(one) else "",
        moment(one.start, one.start_time), f"{one.severity:.3g}",
    )  # fmt: skip


def _cells(found: Detection, one: Event) -> tuple[tuple[str, str], ...]:
    """What is told of an event, and how long it lasted."""
    cells = []
    for column in EVENT_COLUMNS:
        if column.title:
            cells.append((column.title, column.text(one)))
        if column.name == "end":
            cells.append(("lasted", _lasted(found, one)))
    return tuple(cells)


def _settings(found: Detection) -> list[tuple[str, Any, bool]]:
    """Name, value, and whether it is another than the default."""
    usual = asdict(Settings())
    return [(name, str(value), value != usual[name]) for name, value in asdict(found.learnt.settings).items()]


def _lasted(found: Detection, one: Event) -> str:
    last = one.end if one.end is not None else int(drawable(found)[-1])
    if found.times is None:
        return f"{last - one.start + 1:,} rows"
    return span(float((found.times[last] - found.times[one.start]).astype(np.int64)) * 1e-9)
