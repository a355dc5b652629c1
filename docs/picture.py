"""Draws the pictures of README and guides from the demo, in headless Chromium: `make picture`."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from playwright.sync_api import Browser, sync_playwright
from plotly.subplots import make_subplots

from ccmtad import Detection, Event, report
from ccmtad.bench import plant
from ccmtad.report import figures

PICTURES = Path(__file__).with_name("pictures")
INK = "#1f2933"


def chain(found: Detection, event: Event) -> go.Figure:
    """One event on its way from a channel to an alarm."""
    first, last = event.start - 70, (event.end or event.alarm) + 40
    rows = slice(first, last + 1)
    assert found.times is not None
    times = found.times[rows]
    column = found.channels.index(event.channels[0])
    panels: tuple[tuple[str, dict[str, Any]], ...] = (
        (f"{event.channels[0]}, measured and expected", {}),
        ("loss", {"type": "log"}),
        ("p-value", {"type": "log"}),
        ("evidence, log(alpha / p)", {}),
        ("score / threshold", {}),
    )
    chart = make_subplots(
        rows=5, cols=1, shared_xaxes=True, vertical_spacing=0.055, subplot_titles=[n for n, _ in panels]
    )
    lines = (
        (1, found.frame.values[rows, column], figures.REAL, "solid"),
        (1, found.reconstruction(first, last)[:, column], figures.EXPECTED, "dot"),
        (2, found.loss[rows], figures.REAL, "solid"),
        (3, found.pvalue[rows], figures.REAL, "solid"),
        (4, found.evidence[rows], figures.REAL, "solid"),
        (5, found.score[rows] / found.threshold, figures.REAL, "solid"),
    )
    for row, values, colour, dash in lines:
        chart.add_scatter(x=times, y=values, line={"color": colour, "dash": dash, "width": 1.6}, row=row, col=1)
    for row, level in ((3, found.learnt.alpha), (4, 0.0), (5, 1.0)):
        chart.add_hline(y=level, line={"color": figures.EVENT, "width": 1, "dash": "dash"}, row=row, col=1)
    start, alarm, end = (str(found.times[i]) for i in (event.start, event.alarm, event.end or event.alarm))
    chart.add_vrect(x0=start, x1=end, fillcolor=figures.SHADE, line_width=0, layer="below", row="all", col=1)
    chart.add_vline(x=alarm, line={"color": figures.EVENT, "width": 1.6}, row="all", col=1)
    for row, (_, axis) in enumerate(panels, 1):
        chart.update_yaxes(**axis, row=row, col=1)
    for title in chart.layout.annotations[:5]:
        title.update(x=0, xanchor="left", font={"size": 14})
    chart.update_layout(
        template="simple_white", width=1_100, height=900, showlegend=False, font={"color": INK, "size": 13},
        margin={"l": 60, "r": 20, "t": 40, "b": 40},
    )  # fmt: skip
    chart.update_xaxes(tickformat="%H:%M")
    return chart


def clusters(found: Detection) -> go.Figure:
    chart = figures.clusters(found)
    assert chart is not None
    return chart.update_layout(width=760, height=680, font={"color": INK}, paper_bgcolor="white")


def photograph(browser: Browser, page: Path, target: Path, width: int, scheme: Any, height: int | None = None) -> None:
    """A picture of a page, the whole of it or its top."""
    opened = browser.new_page(viewport={"width": width, "height": height or 900}, color_scheme=scheme)
    opened.goto(page.as_uri())
    opened.wait_for_selector(".main-svg")
    opened.wait_for_timeout(500)
    opened.screenshot(path=target, full_page=height is None)
    opened.close()
    print(target.name, f"{target.stat().st_size / 1e3:.0f} kB")


def main() -> None:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        sys.exit("drawing needs Chromium: apt-get install chromium")
    trial = plant.prepare(0)
    found, judgements = trial.run()
    leak = next(match.event for match in judgements["ccmtad"].found if match.fault.kind == "leak")
    assert leak is not None
    print(f"{len(found.events)} events; highest score {np.max(found.score) / found.threshold:.0f} thresholds")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = Path(folder) / "report.html"
        report.save(found, page, title="A simulated water works")
        for width in (1_400, 400):
            for scheme in ("light", "dark"):
                photograph(browser, page, PICTURES / f"report-{width}-{scheme}.png", width, scheme)
        photograph(browser, page, PICTURES / "report-top.png", 1_400, "light", 1_130)
        for name, chart in (("chain", chain(found, leak)), ("clusters", clusters(found))):
            drawn = Path(folder) / f"{name}.html"
            chart.write_html(drawn, include_plotlyjs=True, config={"displayModeBar": False})
            drawn.write_text(drawn.read_text().replace("<body>", '<body style="margin:0">'))
            photograph(browser, drawn, PICTURES / f"{name}.png", chart.layout.width, "light", chart.layout.height)
        browser.close()


if __name__ == "__main__":
    main()
