"""The pictures of a report, as plotly figures. Colours are readable on a light and on a dark page."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from ..results import Detection, Event
from ..truth import Truth
from .channels import BLAMED
from .clock import Clock
from .stretches import Spans, silent
from .text import in_picture
from .thin import blocks, drawable, extremes

__all__ = ["blame", "channel", "clusters", "event", "health_share", "health_through_time", "score"]

Floats = NDArray[np.float64]

SCORE, EVENT, REAL, EXPECTED = "#4c8fd6", "#e5534b", "#4c8fd6", "#e8912d"
NOTHING = "rgba(0,0,0,0)"
QUIET = "rgba(128,128,128,0.25)"
SHADE = "rgba(229,83,75,0.16)"
NEIGHBOUR = "rgba(128,128,128,0.16)"  # an event that is not the one looked at
LABELLED = "#8a63d2"
SILENT = "rgba(128,128,128,0.9)"
BLAME = [[0.0, "rgba(229,83,75,0.12)"], [1.0, "#e5534b"]]
MAPPED = 30  # channels of the blame map
BINS = 300  # of time, of the blame map
LONGEST_NAME = 24  # characters of it beside an axis
SEEN = 0.01  # share of blame below which nothing is to be seen
FLOOR = 0.01  # score / threshold below which nothing is to be seen
POINTS = 3_000  # of a line through the whole series
CLOSE = 360  # of a line around one event
TENTHS = tuple(i / 10 for i in range(1, 10))
DIVERGING = [[0.0, "#2f6fb3"], [0.5, "rgba(128,128,128,0.07)"], [1.0, "#d1632a"]]


REAL_LINE: dict[str, Any] = {
    "mode": "lines", "line": {"color": REAL, "width": 1.6}, "hovertemplate": "%{y:.5g}",
}  # fmt: skip
EXPECTED_LINE: dict[str, Any] = {
    "mode": "lines", "line": {"color": EXPECTED, "width": 1.6, "dash": "dot"}, "hovertemplate": "%{y:.5g}",
}  # fmt: skip


def score(found: Detection, truth: Truth | None = None) -> go.Figure:
    """Score over threshold through time, events shaded, alarms marked, labelled stretches along the bottom."""
    there = drawable(found)
    ratio = _ratio(found, there)
    line = there[extremes(ratio, POINTS)]
    top = max(float(np.nanmax(ratio, initial=1.0)), 2.0) * 1.6
    chart = go.Figure(layout=_layout(340))
    across, up = [], []
    for one in found.events:
        a, b = _x(found, [one.start, _last(found, one)])
        across += [a, a, b, b, None]
        up += [FLOOR, top, top, FLOOR, None]
    shade: dict[str, Any] = {"fill": "toself", "fillcolor": SHADE, "line": {"width": 0}, "mode": "lines"}
    chart.add_scatter(x=across, y=up, **shade, hoverinfo="skip", showlegend=False)
    chart.add_scatter(
        x=_x(found, line),
        y=_ratio(found, line).astype(np.float32),
        mode="lines",
        line={"color": SCORE, "width": 1.2},
        name="score / threshold",
        hovertemplate="%{y:.3g}<extra></extra>",
    )
    chart.add_scatter(
        x=_x(found, [one.alarm for one in found.events]),
        y=[top / 1.25] * len(found.events),
        mode="markers",
        marker={"symbol": "triangle-down", "size": 9, "color": EVENT},
        customdata=list(range(len(found.events))),
        text=[f"event {i + 1}: severity {one.severity:.3g}, {_names(one)}" for i, one in enumerate(found.events)],
        hovertemplate="%{text}<extra></extra>",
        name="alarm",
    )
    _add_labels(chart, found, truth)
    chart.add_hline(y=1.0, line={"color": EVENT, "width": 1.2, "dash": "dash"})
    chart.add_annotation(  # on a logarithmic axis annotations are placed by the logarithm
        x=1, xref="paper", xanchor="right", y=0, yanchor="bottom", text="threshold", showarrow=False,
        font={"color": EVENT, "size": 11},
    )  # fmt: skip
    ticks = [10.0**k for k in range(-2, int(np.ceil(np.log10(top))))]
    chart.update_yaxes(
        type="log", range=[np.log10(FLOOR), np.log10(top)], tickvals=ticks, ticktext=[f"{t:g}" for t in ticks]
    )
    chart.update_yaxes(title="score / threshold")
    chart.update_layout(showlegend=False)
    chart.update_xaxes(range=list(_x(found, there[[0, -1]])))
    chart.update_yaxes(fixedrange=True)
    return _time_axis(chart, found)


def channel(found: Detection, truth: Truth | None = None) -> go.Figure:
    """One channel through time, which the page puts in: as it was, as it was expected, where it was silent."""
    chart = go.Figure(layout=_layout(320))
    chart.add_scatter(**_hatched([], []))
    chart.add_scatter(x=[], y=[], name="real", **REAL_LINE)
    chart.add_scatter(x=[], y=[], name="expected", **EXPECTED_LINE)
    _add_labels(chart, found, truth)
    chart.update_layout(legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"})
    chart.update_yaxes(fixedrange=True)
    chart.update_xaxes(range=list(_x(found, drawable(found)[[0, -1]])))
    return _time_axis(chart, found)


def blame(found: Detection) -> go.Figure | None:
    """Which channels events blame, and when: the share of each, most blamed first; None where there are no events."""
    total: dict[str, float] = {}
    for one in found.events:
        for name, share in zip(one.channels, one.blame, strict=True):
            if share >= SEEN:
                total[name] = total.get(name, 0.0) + share
    names = sorted(total, key=lambda name: -total[name])[:MAPPED]
    if not names:
        return None
    place, there = {name: i for i, name in enumerate(names)}, drawable(found)
    first = blocks(len(there), BINS)
    shares = np.full((len(names), len(first)), np.nan)
    for one in found.events:
        a, b = np.searchsorted(there[first], [one.start, _last(found, one)], side="right") - 1
        for name, share in zip(one.channels, one.blame, strict=True):
            if name in place and share >= SEEN:
                part = shares[place[name], max(a, 0) : b + 1]
                np.fmax(part, round(share * 100), out=part)
    edges = np.append(there[first], there[-1])
    chart = go.Figure(
        go.Heatmap(
            x=_x(found, edges), y=list(range(len(names))), z=shares, zmin=0, zmax=100, colorscale=BLAME,
            customdata=[[in_picture(name)] * len(first) for name in names], xgap=0, ygap=2, hoverongaps=False,
            colorbar={"title": {"text": "%"}, "thickness": 10}, hovertemplate="%{customdata}: %{z} %<extra></extra>",
        ),
        layout=_layout(90 + 20 * len(names)),
    )  # fmt: skip
    labels = [_short(name) for name in names]
    chart.update_yaxes(
        tickvals=list(range(len(names))), ticktext=labels, autorange="reversed", showgrid=False, fixedrange=True
    )
    chart.update_xaxes(range=list(_x(found, there[[0, -1]])))
    chart.update_layout(hovermode="closest")
    return _time_axis(chart, found)


def event(
    found: Detection, one: Event, truth: Truth | None = None, gone: Mapping[str, Spans] | None = None
) -> go.Figure:
    """The most blamed channels around one event, as they were and as they were expected, and the score below them."""
    last = _last(found, one)
    around = int(np.clip(last - one.start, 2 * found.learnt.settings.window, 500))
    first, end = max(one.start - around, 0), min(last + around, len(found) - 1)
    rows = drawable(found)
    rows = rows[(rows >= first) & (rows <= end)]
    names = tuple(name for name, share in zip(one.channels[:BLAMED], one.blame, strict=False) if share >= SEEN)
    names = names or one.channels[:1]
    expected = found.reconstruction(first, end)[rows - first]
    reach, gone = found.learnt.reach, silent(found) if gone is None else gone
    titles = (f"{in_picture(name)} · {share:.0%} of the blame" for name, share in zip(names, one.blame, strict=False))
    chart = make_subplots(
        rows=len(names) + 1,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.06,
        subplot_titles=[*titles, "score / threshold"],
    )
    for row, name in enumerate(names, 1):
        column = found.channels.index(name)
        wide = None if reach is None or not np.isfinite(reach[column]) else float(f"{reach[column]:.6g}")
        lines: tuple[tuple[str, Floats, dict[str, Any]], ...] = (
            ("real", found.frame.values[rows, column], REAL_LINE),
            ("expected", expected[:, column], {**EXPECTED_LINE, "meta": {"reach": wide}}),
        )
        for label, values, look in lines:
            kept = extremes(values, CLOSE)
            chart.add_scatter(
                x=_x(found, rows[kept]), y=values[kept].astype(np.float32), name=label, legendgroup=label,
                showlegend=row == 1, **look, row=row, col=1,
            )  # fmt: skip
        there = [(max(a, first), min(b, end)) for a, b in gone.get(name, ()) if a <= end and b >= first]
        if there:
            known = np.r_[found.frame.values[rows, column], _around(expected[:, column], wide)]
            known = known[np.isfinite(known)]
            low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
            across, up = _boxes(found, there, low, high)
            chart.add_scatter(**_hatched(across, up), row=row, col=1)
    ratio = _ratio(found, rows, floor=0.0)
    kept = extremes(ratio, CLOSE)
    chart.add_scatter(
        x=_x(found, rows[kept]), y=ratio[kept].astype(np.float32), mode="lines", line={"color": SCORE, "width": 1.4},
        showlegend=False, name="score / threshold", hovertemplate="%{y:.3g}", row=len(names) + 1, col=1,
    )  # fmt: skip
    chart.add_hline(y=1.0, line={"color": EVENT, "width": 1, "dash": "dash"}, row=len(names) + 1, col=1)
    start, alarm, stop = _x(found, [one.start, one.alarm, last])
    for other in found.events:
        if other is not one and other.start <= end and _last(found, other) >= first:
            a, b = _x(found, [max(other.start, first), min(_last(found, other), end)])
            chart.add_vrect(x0=a, x1=b, fillcolor=NEIGHBOUR, line_width=0, layer="below", row="all", col=1)
    chart.add_vrect(x0=start, x1=stop, fillcolor=SHADE, line_width=0, layer="below", row="all", col=1)
    for a, b in () if truth is None else truth.stretches:
        if a <= end and b >= first:
            left, right = _x(found, [max(a, first), min(b, end)])
            chart.add_shape({**_labelled(left, right), "yref": f"y{len(names) + 1} domain"})
    chart.add_vline(x=alarm, line={"color": EVENT, "width": 1.4}, row="all", col=1)
    chart.update_layout(_layout(130 * (len(names) + 1) + 70))
    chart.update_layout(legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"})
    for title in chart.layout.annotations[: len(names) + 1]:
        title.update(x=0, xanchor="left", font={"size": 13})
    chart.update_yaxes(gridcolor=QUIET, zeroline=False, fixedrange=True)
    chart.update_xaxes(gridcolor=QUIET, zeroline=False, range=list(_x(found, rows[[0, -1]])))
    return _time_axis(chart, found)


def clusters(found: Detection) -> go.Figure | None:
    """Correlation of the training rows, channels in the order of their clusters; None where a model did not keep it."""
    correlation = found.learnt.correlation
    if correlation is None:
        return None
    groups = found.learnt.clusters
    order = [found.channels.index(name) for group in groups for name in group]
    names = [_short(found.channels[i]) for i in order]
    percent = np.round(correlation[np.ix_(order, order)] * 100).astype(np.int8)
    size = len(names)
    chart = go.Figure(
        go.Heatmap(
            z=percent, zmin=-100, zmax=100, colorscale=DIVERGING, colorbar={"title": {"text": "%"}, "thickness": 12},
            text=None, hovertemplate="%{x} · %{y}: %{z} %<extra></extra>", x=list(range(size)), y=list(range(size)),
        ),
        layout=_layout(560),
    )  # fmt: skip
    edges = np.cumsum([0, *(len(group) for group in groups)]) - 0.5
    for a, b in pairwise(edges):
        chart.add_shape(type="rect", x0=a, x1=b, y0=a, y1=b, line={"color": EVENT, "width": 1.6}, fillcolor=NOTHING)
    every = max(size // 40, 1)
    ticks = {"tickvals": list(range(0, size, every)), "ticktext": names[::every], "tickfont": {"size": 9}}
    chart.update_xaxes(**ticks, tickangle=-90, showgrid=False, constrain="domain")
    chart.update_yaxes(**ticks, autorange="reversed", showgrid=False, scaleanchor="x", constrain="domain")
    return chart


def health_share(found: Detection) -> go.Figure:
    """The p-values of rows outside events in tenths, beside those of normal rows."""
    pvalue = found.own_pvalue[_judged(found)]
    edges = np.linspace(0.0, 1.0, 11)
    shares = np.histogram(pvalue, edges)[0] / max(len(pvalue), 1)
    normal = np.diff([0.0, *found.learnt.shares, 1.0])
    middle = (edges[:-1] + edges[1:]) / 2
    chart = go.Figure(layout=_layout(280))
    chart.add_bar(x=middle, y=shares, marker={"color": SCORE}, name="these rows", hovertemplate="%{y:.1%}")
    chart.add_scatter(
        x=middle, y=normal, mode="markers", name="normal rows", hovertemplate="%{y:.1%}",
        marker={"symbol": "line-ew", "size": 22, "line": {"color": EXPECTED, "width": 3}},
    )  # fmt: skip
    chart.update_yaxes(title="share of rows", tickformat=".0%", rangemode="tozero")
    chart.update_xaxes(title="p-value", tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1], range=[0, 1])
    chart.update_layout(bargap=0.15, legend=_below())
    return chart


def health_through_time(found: Detection) -> go.Figure:
    """The share of p-values below three levels, block by block; each should stay near its level."""
    there = drawable(found)
    pvalue, judged = found.own_pvalue[there], _judged(found)[there]
    first = blocks(len(there), int(np.clip(len(there) / 400, 4, 120)))
    last = np.append(first[1:], len(there))
    chart = go.Figure(layout=_layout(280))
    usual = dict(zip(TENTHS, found.learnt.shares, strict=True))
    for level, colour in ((0.9, "#8a63d2"), (0.5, SCORE), (0.1, EVENT)):
        shares = np.full(len(first), np.nan)
        for i, (a, b) in enumerate(zip(first, last, strict=True)):
            part = pvalue[a:b][judged[a:b]]
            if len(part) >= 10:
                shares[i] = float(np.mean(part < level))
        chart.add_scatter(
            x=_x(found, there[(first + last - 1) // 2]), y=shares, mode="lines", line={"color": colour, "width": 1.5},
            name=f"below {level:g}", hovertemplate="%{y:.0%}",
        )  # fmt: skip
        chart.add_hline(y=usual[level], line={"color": colour, "width": 1, "dash": "dot"})
    chart.update_yaxes(title="share of p-values", tickformat=".0%", range=[0, 1.02])
    chart.update_layout(legend=_below())
    return _time_axis(chart, found)


def _judged(found: Detection) -> NDArray[np.bool_]:
    """Rows that were judged, outside events."""
    return ~np.isnan(found.loss) & ~found.label & ~(found.score > found.threshold)


def _ratio(found: Detection, rows: NDArray[np.int64], floor: float = FLOOR) -> Floats:
    """Score over threshold; NaN, so that the line breaks, in rows that could not be judged."""
    ratio = np.maximum(found.score[rows] / found.threshold, floor)
    return np.where(np.isnan(found.loss[rows]), np.nan, ratio)


def _last(found: Detection, one: Event) -> int:
    """The last row of an event; of an open one, the last row there is."""
    return int(drawable(found)[-1]) if one.end is None else max(one.end, one.start)


def _x(found: Detection, rows: Any) -> Any:
    return Clock(found).x(rows)


def _time_axis(chart: go.Figure, found: Detection) -> go.Figure:
    return chart.update_xaxes(**Clock(found).axis)


def _around(expected: Floats, reach: float | None) -> Floats:
    """Both edges of the band of normal rows."""
    return np.concatenate([expected - (reach or 0.0), expected + (reach or 0.0)])


def _boxes(found: Detection, spans: Any, low: float, high: float) -> tuple[list[Any], list[Any]]:
    """Outlines of stretches of time, to be filled."""
    across, up = [], []
    for first, last in spans:
        a, b = _x(found, [first, last]).tolist()
        across += [a, a, b, b, None]
        up += [low, high, high, low, None]
    return across, up


def _hatched(x: list[Any], y: list[Any]) -> dict[str, Any]:
    """Where a channel was lost or stood still."""
    return {
        "x": x, "y": y, "name": "lost or frozen", "mode": "lines", "fill": "toself", "line": {"width": 0},
        "fillcolor": NOTHING, "fillpattern": {"shape": "/", "size": 8, "solidity": 0.25, "fgcolor": SILENT},
        "hoverinfo": "skip", "showlegend": bool(x),
    }  # fmt: skip


def _add_labels(chart: go.Figure, found: Detection, truth: Truth | None) -> None:
    """Labelled stretches as bars along the bottom."""
    spans = () if truth is None else truth.stretches
    shapes = [_labelled(*_x(found, [first, last]).tolist()) for first, last in spans]
    chart.update_layout(shapes=[*chart.layout.shapes, *shapes])


def _labelled(first: float, last: float) -> dict[str, Any]:
    line = {"color": LABELLED, "width": 6}
    return {"type": "line", "x0": first, "x1": last, "y0": 0, "y1": 0, "xref": "x", "yref": "y domain", "line": line}


def _layout(height: int) -> dict[str, Any]:
    axis = {"gridcolor": QUIET, "zeroline": False, "automargin": True, "ticks": "outside", "tickcolor": QUIET}
    return {
        "template": None, "height": height, "margin": {"l": 56, "r": 16, "t": 28, "b": 40}, "hovermode": "x unified",
        "paper_bgcolor": NOTHING, "plot_bgcolor": NOTHING, "font": {"size": 12},
        "xaxis": axis, "yaxis": axis,
    }  # fmt: skip


def _below() -> dict[str, Any]:
    return {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}


def _short(name: str) -> str:
    """A name beside an axis."""
    return in_picture(name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…")


def _names(one: Event) -> str:
    return in_picture(", ".join(one.channels[:3]))
