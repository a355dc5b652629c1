"""Draws the picture of the README from the demo, in headless Chromium: `make picture`."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ccmtad.bench import plant

INK, FAULT, SCORE, EVENT = "#1f2933", "#f4a261", "#1d70b8", "#c1121f"
SIZE = (1200, 640)


def figure(seed: int = 0) -> go.Figure:
    """Score over threshold through time, true faults shaded; below it, one fault as its channels saw it."""
    trial = plant.prepare(seed)
    detection, judgements = trial.run()
    run, found = trial.watched, judgements["ccmtad"]
    ratio = np.maximum(detection.score / detection.threshold, 1e-2)
    chart = make_subplots(
        rows=2, cols=1, row_heights=[0.62, 0.38], vertical_spacing=0.16, subplot_titles=["", ""], specs=[[{}], [{}]]
    )
    peaks = _envelope(ratio)
    chart.add_trace(
        go.Scatter(x=run.times[peaks], y=ratio[peaks], showlegend=False, line={"color": SCORE, "width": 1}),
        row=1,
        col=1,
    )
    chart.add_hline(y=1.0, line={"color": EVENT, "width": 1.2, "dash": "dash"}, row=1, col=1)
    for fault in run.faults:
        _shade(chart, run.times[fault.start], run.times[fault.end], 1)

    match = next(m for m in found.found if m.fault.kind == "leak")
    first, last = match.fault.start - 150, match.fault.end + 120
    for channel, colour in zip(("FIT401", "PIT401", "SIT401"), (SCORE, "#2a9d8f", "#8d5fb0"), strict=True):
        column = run.values[:, run.channels.index(channel)]
        scaled = (column - column.mean()) / column.std()
        chart.add_trace(
            go.Scatter(
                x=run.times[first:last], y=scaled[first:last], name=channel, line={"color": colour, "width": 1.6}
            ),
            row=2,
            col=1,
        )
    _shade(chart, run.times[match.fault.start], run.times[match.fault.end], 2)
    assert match.event is not None
    chart.add_vline(x=str(run.times[match.event.alarm]), line={"color": EVENT, "width": 1.6}, row=2, col=1)
    chart.add_annotation(
        x=str(run.times[match.event.alarm]), y=0.97, xref="x2", yref="y2 domain", xanchor="left",
        xshift=6, showarrow=False,
        text=f"alarm after {match.delay} minutes, blaming {', '.join(match.event.channels[:3])}",
        font={"color": EVENT, "size": 13},
    )  # fmt: skip
    titles = (
        f"Sixteen days of a simulated water works: {len(found.found)} of {len(found.matches)} faults (shaded) "
        f"raise an alarm, {len(found.false_events)} false ones",
        "One of them: a leak. Flow, pressure and pump speed around it",
    )
    for title, height in zip(titles, (1.09, 0.36), strict=True):
        chart.add_annotation(
            text=f"<b>{title}</b>", x=0, y=height, xref="paper", yref="paper", xanchor="left", showarrow=False,
            font={"size": 16, "color": INK},
        )  # fmt: skip
    chart.update_yaxes(title="score / threshold", type="log", tickvals=[0.01, 0.1, 1, 10, 100], row=1, col=1)
    chart.update_yaxes(title="spreads", range=[-0.8, 2.8], row=2, col=1)
    chart.update_xaxes(tickformat="%H:%M", row=2, col=1)
    chart.update_xaxes(tickformat="%b %-d", dtick=86_400_000 * 2, row=1, col=1)
    chart.update_layout(
        template="simple_white", width=SIZE[0], height=SIZE[1], font={"color": INK, "size": 13},
        margin={"l": 70, "r": 30, "t": 60, "b": 40},
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 0.37, "yanchor": "bottom"},
    )  # fmt: skip
    return chart


def _envelope(values: np.ndarray[tuple[int], np.dtype[np.float64]], block: int = 16) -> list[int]:
    """Rows of the smallest and largest value of each block: fewer points, the same extremes."""
    rows: list[int] = []
    for first in range(0, len(values), block):
        part = values[first : first + block]
        rows += sorted({first + int(part.argmin()), first + int(part.argmax())})
    return rows


def _shade(chart: go.Figure, first: np.datetime64, last: np.datetime64, row: int) -> None:
    chart.add_vrect(
        x0=str(first), x1=str(last), fillcolor=FAULT, opacity=0.35, line_width=0, layer="below", row=row, col=1
    )


def main(target: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("drawing needs Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "picture.html"
        figure().write_html(page, include_plotlyjs=True, config={"displayModeBar": False})
        page.write_text(page.read_text().replace("<body>", '<body style="margin:0">'))
        subprocess.run(
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--disable-background-networking", f"--user-data-dir={folder}/profile", "--virtual-time-budget=8000",
                f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={target}", page.as_uri(),
            ],
            check=True,
            capture_output=True,
        )  # fmt: skip
    print(target)


if __name__ == "__main__":
    main(Path(__file__).with_name("demo.png").resolve())
