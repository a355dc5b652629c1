"""Pictures as SVG, written by hand: panels of lines, dots, bars or a map."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["Line", "Panel", "svg"]

COLOURS = ("#1f6feb", "#d1495b", "#2a9d8f", "#b5790a", "#7b4fb5", "#5c6670", "#0f8bb0", "#a3386c")
WIDTH, HEIGHT = 430, 304
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 30, 76
INK, FAINT = "#1f2933", "#d8dde3"


@dataclass(frozen=True)
class Line:
    """One series of points; None is a gap."""

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    kind: str = "line"  # "line", "dots" or "bars"


@dataclass(frozen=True)
class Panel:
    """One picture. `names` are written under x = 0, 1, ..; `cells` is a map, its first row at the bottom."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...] = ()
    log_x: bool = False
    log_y: bool = False
    names: tuple[str, ...] = ()
    marks: Mapping[str, float] = field(default_factory=dict)  # upright lines, by what they say
    cells: tuple[tuple[float, ...], ...] = ()


def svg(panels: Sequence[Panel], columns: int = 2) -> str:
    """All of them, side by side."""
    columns = min(columns, max(len(panels), 1))
    rows = -(-len(panels) // columns)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns * WIDTH} {rows * HEIGHT}" '
        f'font-family="sans-serif" font-size="11" fill="{INK}">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for i, panel in enumerate(panels):
        parts.append(f'<g transform="translate({i % columns * WIDTH} {i // columns * HEIGHT})">')
        parts += _map(panel) if panel.cells else _plot(panel)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True)
class Axis:
    """From values to places."""

    low: float
    high: float
    first: float
    last: float
    log: bool

    @classmethod
    def over(cls, values: Sequence[float], first: float, last: float, log: bool) -> "Axis":
        shown = [math.log10(v) if log else v for v in values if math.isfinite(v) and (v > 0 or not log)] or [0.0, 1.0]
        low, high = min(shown), max(shown)
        room = 0.04 * (high - low) or 0.5
        return cls(low - room, high + room, first, last, log)

    def __call__(self, value: float) -> float:
        at = (math.log10(max(value, 1e-300)) if self.log else value) - self.low
        return self.first + at / (self.high - self.low) * (self.last - self.first)

    def ticks(self) -> list[float]:
        if self.log:
            whole = range(math.ceil(self.low), math.floor(self.high) + 1)
            step = max(1, -(-len(whole) // 6))
            if len(whole) > 1:
                return [10.0**i for i in whole[::step]]
            around = range(math.floor(self.low), math.ceil(self.high) + 1)
            fine = [k * 10.0**i for i in around for k in (1, 2, 5) if self.low <= i + math.log10(k) <= self.high]
            return fine or [10**self.low, 10**self.high]
        rough = (self.high - self.low) / 5
        size = 10 ** math.floor(math.log10(rough))
        step_by = next((size * k for k in (1, 2, 5, 10) if size * k >= rough), size * 10)
        return [i * step_by for i in range(math.ceil(self.low / step_by), math.floor(self.high / step_by) + 1)]


def _plot(panel: Panel) -> list[str]:
    xs = [x for line in panel.lines for x in line.x] + list(panel.marks.values())
    ys = [y for line in panel.lines for y in line.y if y is not None]
    if any(line.kind == "bars" for line in panel.lines):
        ys.append(0.0)
        half = min((b - a for a, b in pairwise(sorted(set(xs)))), default=1.0) / 2
        xs += [min(xs) - half, max(xs) + half]
    across = Axis.over(xs, LEFT, WIDTH - RIGHT, panel.log_x)
    up = Axis.over(ys, HEIGHT - BOTTOM, TOP, panel.log_y)
    parts = _frame(panel)
    for value in up.ticks():
        parts.append(_stroke(LEFT, up(value), WIDTH - RIGHT, up(value), FAINT))
        parts.append(_text(LEFT - 5, up(value) + 4, _number(value), "end"))
    shown = dict(enumerate(panel.names)) if panel.names else {value: _number(value) for value in across.ticks()}
    for value, text in shown.items():
        for place, words in enumerate(text.split(", ")):
            parts.append(_text(across(value), HEIGHT - BOTTOM + 15 + 12 * place, words, "middle"))
    for text, value in panel.marks.items():
        parts.append(_stroke(across(value), TOP, across(value), HEIGHT - BOTTOM, INK, "4 3"))
        late = across(value) > 0.7 * WIDTH
        parts.append(_text(across(value) + (-3 if late else 3), TOP + 10, text, "end" if late else "start"))
    bars = [line for line in panel.lines if line.kind == "bars"]
    for i, line in enumerate(panel.lines):
        colour = COLOURS[i % len(COLOURS)]
        points = [(across(x), None if y is None else up(y)) for x, y in zip(line.x, line.y, strict=True)]
        if line.kind == "bars":
            parts += _bars(points, bars.index(line), len(bars), up(0.0) if not panel.log_y else HEIGHT - BOTTOM, colour)
        else:
            parts += _points(points, colour, joined=line.kind == "line")
    return parts + _legend([line.name for line in panel.lines])


def _points(points: Sequence[tuple[float, float | None]], colour: str, joined: bool) -> list[str]:
    there = [(x, y) for x, y in points if y is not None]
    parts = []
    if joined and len(there) > 1:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in there)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.7"/>')
    if not joined or len(there) <= 40:
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"/>' for x, y in there]
    return parts


def _bars(points: Sequence[tuple[float, float | None]], place: int, of: int, foot: float, colour: str) -> list[str]:
    between = min((b[0] - a[0] for a, b in pairwise(points)), default=WIDTH / 4)
    wide = max(0.8 * between / of, 1.0)
    return [
        f'<rect x="{x + (place - of / 2) * wide:.1f}" y="{min(y, foot):.1f}" width="{wide:.1f}" '
        f'height="{abs(foot - y):.1f}" fill="{colour}"/>'
        for x, y in points
        if y is not None
    ]


def _map(panel: Panel) -> list[str]:
    """Cells from pale (the least) to dark (the most)."""
    values = [v for row in panel.cells for v in row if math.isfinite(v)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    wide = (WIDTH - LEFT - RIGHT) / max(len(panel.cells[0]), 1)
    tall = (HEIGHT - TOP - BOTTOM) / len(panel.cells)
    parts = _frame(panel)
    for i, row in enumerate(panel.cells):
        shades = [_shade((value - low) / (high - low) if high > low else 0.0) for value in row]
        first = 0
        for j, shade in enumerate(shades):  # equal neighbours are one
            if j + 1 < len(shades) and shades[j + 1] == shade:
                continue
            parts.append(
                f'<rect x="{LEFT + first * wide:.1f}" y="{HEIGHT - BOTTOM - (i + 1) * tall:.1f}" '
                f'width="{(j + 1 - first) * wide + 0.3:.1f}" height="{tall + 0.3:.1f}" fill="{shade}"/>'
            )
            first = j + 1
    for place, text in enumerate(panel.names):
        step = max(1, len(panel.names) // 8)
        if place % step == 0:
            parts.append(_text(LEFT + (place + 0.5) * wide, HEIGHT - BOTTOM + 15, text, "middle"))
    return [*parts, *_legend([f"{_number(low)} (pale) to {_number(high)} (dark)"], plain=True)]


def _shade(depth: float) -> str:
    return "#" + "".join(f"{round(250 - (250 - dark) * depth):02x}" for dark in (20, 60, 140))


def _frame(panel: Panel) -> list[str]:
    middle = (TOP + HEIGHT - BOTTOM) / 2
    return [
        _text(LEFT, 18, panel.title, weight="bold"),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 31, panel.x, "middle"),
        f'<g transform="rotate(-90 14 {middle:.0f})">{_text(14, middle, panel.y, "middle")}</g>',
        _stroke(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, INK),
    ]


def _legend(names: Sequence[str], plain: bool = False) -> list[str]:
    parts, x, y = [], float(LEFT), HEIGHT - 27
    for i, name in enumerate(names):
        if x > LEFT and x + 16 + 6.2 * len(name) > WIDTH:  # on to the next line
            x, y = float(LEFT), y + 15
        if not plain:
            parts.append(f'<rect x="{x:.0f}" y="{y - 9}" width="10" height="10" fill="{COLOURS[i % len(COLOURS)]}"/>')
        parts.append(_text(x + 13, y, name))
        x += 24 + 6.2 * len(name)
    return parts


def _stroke(x: float, y: float, x2: float, y2: float, colour: str, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dashed}/>'


def _text(x: float, y: float, text: str, anchor: str = "start", weight: str = "normal") -> str:
    said = f' font-weight="{weight}"' if weight != "normal" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{said}>{html.escape(text)}</text>'


def _number(value: float) -> str:
    return f"{value:.3g}"
