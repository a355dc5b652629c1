"""The report: figures and tables put into one page."""

import json
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..calibrate.feedback import in_force
from ..errors import MissingExtraError
from ..files import write
from ..results import EVENT_COLUMNS, Detection, Event
from ..settings import Settings
from ..wording import moment, span, stamp
from .text import in_html
from .thin import drawable

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["html", "save"]

CLOSE_UPS = 40  # events, the most severe ones, that are drawn one by one
LISTED = 500  # events in the table


def save(result: Detection, path: str | Path, *, title: str = "Anomaly report") -> None:
    """Writes the report of a detection, whole or not at all."""
    write(html(result, title=title).encode("utf-8"), path)


def html(result: Detection, *, title: str = "Anomaly report") -> str:
    """The report of a detection as one page."""
    try:
        from plotly.offline import get_plotlyjs

        from . import figures
    except ImportError as error:
        raise MissingExtraError(f"reports need {error.name}: pip install 'ccmtad[report]'") from error
    severe = sorted(range(len(result.events)), key=lambda i: -result.events[i].severity)
    drawn = sorted(severe[:CLOSE_UPS])
    shown = sorted(severe[:LISTED])
    pictures = {
        "score": figures.score(result),
        "shares": figures.health_share(result),
        "pulse": figures.health_through_time(result),
        "clusters": figures.clusters(result),
        **{f"event-{i + 1}": figures.event(result, result.events[i]) for i in drawn},
    }
    here = files(__package__)
    page = Template(here.joinpath("page.html").read_text(encoding="utf-8"))
    return page.substitute(
        title=in_html(title),
        style=here.joinpath("page.css").read_text(encoding="utf-8"),
        script=here.joinpath("page.js").read_text(encoding="utf-8"),
        plotly=get_plotlyjs(),
        figures=_json(pictures),
        summary=_summary(result),
        thinned=_thinned(result, figures.POINTS),
        events=_events(result, shown, set(drawn)),
        closeups=_closeups(result, drawn),
        health=in_html(f"{result.health.state}: {result.health.advice}"),
        state=result.health.state,
        clusters=_clusters(result),
        settings=_settings(result),
        version=__version__,
    )


def _json(pictures: "dict[str, go.Figure | None]") -> str:
    """All figures, safe inside a script element."""
    parts = (f"{json.dumps(name)}:{chart.to_json()}" for name, chart in pictures.items() if chart is not None)
    return "{" + ",".join(parts).replace("<", "\\u003c") + "}"


def _summary(found: Detection) -> str:
    rows, events = len(found), found.events
    tiles = [
        ("events", f"{len(events):,}", f"{sum(one.open for one in events)} still open" if events else "nothing to see"),
        ("rows in alarm", f"{found.alarm.mean():.2%}", f"{int(found.alarm.sum()):,} of {rows:,}"),
        (
            "largest severity",
            f"{max((one.severity for one in events), default=0):.3g}",
            "the largest error, in usual ones",
        ),
        ("channels", f"{len(found.channels)}", f"in {len(found.learnt.clusters)} clusters"),
        ("budget", in_html(found.learnt.allowed), _support(found)),
        ("calibration", found.health.state, "see below"),
    ]
    return (
        "".join(
            f'<div class="tile"><span class="name">{name}</span><span class="value">{value}</span>'
            f'<span class="aside">{aside}</span></div>'
            for name, value, aside in tiles
        )
        + f'<p class="span">{_span(found)}</p>'
    )


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


def _events(found: Detection, shown: list[int], drawn: set[int]) -> str:
    if not shown:
        return "<p>Nothing was beyond its limits.</p>"
    rows = "".join(_row(found, i, i in drawn) for i in shown)
    head = "".join(f"<th>{name}</th>" for name in ("#", *(title for title, _ in _cells(found, found.events[0]))))
    more = len(found.events) - len(shown)
    note = f"<p>{more:,} less severe events are left out here.</p>" if more else ""
    return f'<table class="events"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}'


def _row(found: Detection, number: int, drawn: bool) -> str:
    one = found.events[number]
    label = f'<button type="button" data-event="{number + 1}">{number + 1}</button>' if drawn else f"{number + 1}"
    cells = (("#", label), *_cells(found, one))
    return "<tr>" + "".join(f'<td data-label="{name}"><span>{cell}</span></td>' for name, cell in cells) + "</tr>"


def _cells(found: Detection, one: Event) -> list[tuple[str, str]]:
    """What is told of an event, and how long it lasted."""
    cells = []
    for column in EVENT_COLUMNS:
        if not column.title:
            continue
        cell = in_html(column.text(one))
        if column.name == "end" and found.accepted(one):
            cell += f"<br><small>after {found.learnt.settings.accept:,} rows taken for the new normal</small>"
        cells.append((column.title, cell))
        if column.name == "end":
            cells.append(("lasted", _lasted(found, one)))
    return cells


def _closeups(found: Detection, drawn: list[int]) -> str:
    if not drawn:
        return ""
    worst = max(drawn, key=lambda i: found.events[i].severity)
    options = "".join(
        f'<option value="{i + 1}"{" selected" * (i == worst)}>{_option(found.events[i], i + 1)}</option>' for i in drawn
    )
    note = "" if len(drawn) == len(found.events) else f" The {len(drawn)} most severe events are drawn."
    return (
        "<section><h2>One event up close</h2><p>The most blamed channels as they were, and as the network "
        f"reconstructed them from the {found.learnt.settings.window} rows up to each, in the units of the data; of "
        "long events the extremes of every stretch. Shaded: the event, its start and end corrected in "
        f'hindsight. Red line: the moment of the alarm.{note}</p><label class="pick">Event <select id="pick">{options}'
        '</select></label><div class="figure" id="close-up"></div></section>'
    )


def _option(one: Event, number: int) -> str:
    return f"{number}: {in_html(moment(one.start, one.start_time))}, severity {one.severity:.3g}"


def _clusters(found: Detection) -> str:
    groups = "".join(
        f"<li><b>{i}</b> {in_html(', '.join(group))}</li>" for i, group in enumerate(found.learnt.clusters, 1)
    )
    kept = (
        ""
        if found.learnt.correlation is not None
        else "<p>This model file is an older one and has no correlations.</p>"
    )
    return f'{kept}<ol class="groups">{groups}</ol>'


def _settings(found: Detection) -> str:
    usual, learnt = asdict(Settings()), found.learnt
    rows: list[tuple[str, Any, bool]] = [
        (name, value, value != usual[name]) for name, value in asdict(learnt.settings).items()
    ]
    cells = "".join(
        f"<div{' class=changed' * changed}><dt>{name}</dt><dd>{in_html(str(value))}</dd></div>"
        for name, value, changed in rows
    )
    facts = (
        f"alpha {learnt.alpha:.4g}, threshold {found.threshold:.4g}, calibrated on {learnt.references:,} normal losses"
    )
    return f"<p>{facts}. Settings other than the defaults are bold.</p><dl class=settings>{cells}</dl>"


def _lasted(found: Detection, one: Event) -> str:
    last = one.end if one.end is not None else int(drawable(found)[-1])
    if found.times is None:
        return f"{last - one.start + 1:,} rows"
    return span(float((found.times[last] - found.times[one.start]).astype(np.int64)) * 1e-9)
