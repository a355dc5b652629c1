"""The pictures of a report, as plotly figures. Colours are readable on a light and on a dark page."""

from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from ..results import Detection, Event
from .text import in_picture
from .thin import blocks, drawable, extremes

__all__ = ["clusters", "event", "health_share", "health_through_time", "score"]

Floats = NDArray[np.float64]

SCORE, EVENT, REAL, EXPECTED = "#4c8fd6", "#e5534b", "#4c8fd6", "#e8912d"
NOTHING = "rgba(0,0,0,0)"
QUIET = "rgba(128,128,128,0.25)"
SHADE = "rgba(229,83,75,0.16)"
FLOOR = 0.01  # score / threshold below which nothing is to be seen
POINTS = 3_000  # of a line through the whole series
CLOSE = 360  # of a line around one event
BLAMED = 4  # channels drawn for one event
TENTHS = tuple(i / 10 for i in range(1, 10))
DIVERGING = [[0.0, "#2f6fb3"], [0.5, "rgba(128,128,128,0.07)"], [1.0, "#d1632a"]]


def score(found: Detection) -> go.Figure:
    """Score over threshold through time, events shaded, alarms marked."""
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
    return _time_axis(chart, found)


def event(found: Detection, one: Event) -> go.Figure:
    """The most blamed channels around one event, as they were and as they were expected, and the score below them."""
    last = _last(found, one)
    around = int(np.clip(last - one.start, 2 * found.learnt.settings.window, 500))
    first, end = max(one.start - around, 0), min(last + around, len(found) - 1)
    rows = drawable(found)
    rows = rows[(rows >= first) & (rows <= end)]
    names = one.channels[:BLAMED]
    expected = found.reconstruction(first, end)[rows - first]
    titles = (f"{in_picture(name)} · {share:.0%} of the loss" for name, share in zip(names, one.blame, strict=False))
    chart = make_subplots(
        rows=len(names) + 1,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.06,
        subplot_titles=[*titles, "score / threshold"],
    )
    for row, name in enumerate(names, 1):
        column = found.channels.index(name)
        lines: tuple[tuple[str, Floats, dict[str, Any]], ...] = (
            ("real", found.frame.values[rows, column], {"color": REAL, "width": 1.6}),
            ("expected", expected[:, column], {"color": EXPECTED, "width": 1.6, "dash": "dot"}),
        )
        for label, values, line in lines:
            kept = extremes(values, CLOSE)
            chart.add_scatter(
                x=_x(found, rows[kept]), y=values[kept].astype(np.float32), mode="lines", line=line, name=label,
                legendgroup=label, showlegend=row == 1, hovertemplate="%{y:.5g}", row=row, col=1,
            )  # fmt: skip
    ratio = _ratio(found, rows, floor=0.0)
    kept = extremes(ratio, CLOSE)
    chart.add_scatter(
        x=_x(found, rows[kept]), y=ratio[kept].astype(np.float32), mode="lines", line={"color": SCORE, "width": 1.4},
        showlegend=False, name="score / threshold", hovertemplate="%{y:.3g}", row=len(names) + 1, col=1,
    )  # fmt: skip
    chart.add_hline(y=1.0, line={"color": EVENT, "width": 1, "dash": "dash"}, row=len(names) + 1, col=1)
    start, alarm, stop = _x(found, [one.start, one.alarm, last])
    chart.add_vrect(x0=start, x1=stop, fillcolor=SHADE, line_width=0, layer="below", row="all", col=1)
    chart.add_vline(x=alarm, line={"color": EVENT, "width": 1.4}, row="all", col=1)
    chart.update_layout(_layout(130 * (len(names) + 1) + 70))
    chart.update_layout(legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"})
    for title in chart.layout.annotations[: len(names) + 1]:
        title.update(x=0, xanchor="left", font={"size": 13})
    chart.update_yaxes(gridcolor=QUIET, zeroline=False)
    chart.update_xaxes(gridcolor=QUIET, zeroline=False)
    return _time_axis(chart, found)


def clusters(found: Detection) -> go.Figure | None:
    """Correlation of the training rows, channels in the order of their clusters; None where a model did not keep it."""
    correlation = found.learnt.correlation
    if correlation is None:
        return None
    groups = found.learnt.clusters
    order = [found.channels.index(name) for group in groups for name in group]
    names = [in_picture(found.channels[i]) for i in order]
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
    """Where rows are on the time axis: milliseconds since 1970, or their numbers."""
    where = np.asarray(rows, dtype=np.int64)
    if found.times is None:
        return where
    return found.times[where].astype(np.int64) / 1e6


def _time_axis(chart: go.Figure, found: Detection) -> go.Figure:
    if found.times is not None:
        chart.update_xaxes(type="date", hoverformat="%Y-%m-%d %H:%M:%S")
    else:
        chart.update_xaxes(tickformat=",d", hoverformat=",d")
    return chart


def _layout(height: int) -> dict[str, Any]:
    axis = {"gridcolor": QUIET, "zeroline": False, "automargin": True, "ticks": "outside", "tickcolor": QUIET}
    return {
        "template": None, "height": height, "margin": {"l": 56, "r": 16, "t": 28, "b": 40}, "hovermode": "x unified",
        "paper_bgcolor": NOTHING, "plot_bgcolor": NOTHING, "font": {"size": 12},
        "xaxis": axis, "yaxis": axis,
    }  # fmt: skip


def _below() -> dict[str, Any]:
    return {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}


def _names(one: Event) -> str:
    return in_picture(", ".join(one.channels[:3]))
