"""The report: honest lines, whole pages, and a real browser that opens them."""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ccmtad import Detection, Detector, FileError, Frame, InputError, report
from ccmtad.report import figures
from ccmtad.report.thin import blocks, extremes
from ccmtad.simulate import schedule, simulate

floats = st.floats(-1e6, 1e6) | st.just(float("nan"))


@given(hnp.arrays(np.float64, st.integers(1, 400), elements=floats), st.integers(5, 60))
def test_a_thinned_line_keeps_its_extremes_its_ends_and_its_breaks(values: np.ndarray[Any, Any], most: int) -> None:
    kept = extremes(values, most)
    assert len(kept) <= most
    assert (np.diff(kept) > 0).all()
    assert kept[0] == 0
    assert kept[-1] == len(values) - 1
    if len(values) > most:
        first = blocks(len(values), max((most - 2) // 3, 1))
        for a, b in zip(first, [*first[1:], len(values)], strict=True):
            part, shown = values[a:b], values[kept[(kept >= a) & (kept < b)]]
            assert np.isnan(part).any() == np.isnan(shown).any()
            if not np.isnan(part).all():
                assert np.nanmax(part) == np.nanmax(shown)
                assert np.nanmin(part) == np.nanmin(shown)


@pytest.fixture(scope="module")
def found(fitted: Detector) -> Detection:
    return fitted.detect(simulate(5_000, seed=3, faults=schedule(5_000, seed=1, count=4)).frame)


@pytest.fixture(scope="module")
def page(found: Detection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.save(found, path, title="Plant <A> & co")
    return path


def test_the_page_is_whole_and_needs_no_network(page: Path, found: Detection) -> None:
    text = page.read_text()
    own = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)  # plotly's own code names its home page
    assert "http://" not in own
    assert "https://" not in own
    assert "Plant &lt;A&gt; &amp; co" in own
    told = json.loads(re.search(r'id="figures">(.*?)</script>', text, re.DOTALL)[1])  # type: ignore[index]
    assert {"score", "shares", "pulse", "clusters", "event-1"} <= set(told)
    assert len(re.findall(r"<tr><td", own)) == len(found.events)
    for event in found.events:
        assert str(event.start_time).replace("T", " ")[:19] in own
        assert event.channels[0] in own


def test_the_score_is_drawn_with_its_highest_peak(found: Detection) -> None:
    chart = figures.score(found)
    line = next(trace for trace in chart.data if trace.name == "score / threshold")
    assert np.nanmax(line.y) == pytest.approx(found.score.max() / found.threshold, rel=1e-6)


def test_rows_that_could_not_be_judged_break_the_line_and_late_ones_are_not_drawn(fitted: Detector) -> None:
    run = simulate(3_000, seed=3, faults=schedule(3_000, seed=1, count=2)).frame
    assert run.times is not None
    times = run.times.copy()
    times[2_000:] += np.timedelta64(5, "h")  # a gap
    times[-1] = times[10]  # a late row, the last of all
    found = fitted.with_budget("1/50 rows").detect(Frame(run.values, run.channels, times))
    assert np.isnan(found.loss[2_000:2_023]).all()
    for chart in (figures.score(found), figures.health_through_time(found), figures.event(found, found.events[-1])):
        for trace in chart.data:
            if trace.mode == "lines" and trace.fill is None:
                assert (np.diff(np.asarray(trace.x, dtype=float)) > 0).all()
    score = figures.score(found)
    line = next(trace for trace in score.data if trace.name == "score / threshold")
    x, y = np.asarray(line.x), np.asarray(line.y)
    gap = times[[1_999, 2_023]].astype(np.int64) / 1e6
    assert np.isnan(y[(x > gap[0]) & (x < gap[1])]).any()
    assert score.layout.xaxis.range[1] == times[-2].astype(np.int64) / 1e6
    lasted = re.findall(r'data-label="lasted"><span>([^<]*)', report.html(found))
    assert len(lasted) == len(found.events)
    assert not any(text.startswith("-") for text in lasted)


def test_an_event_is_drawn_in_the_units_of_the_data(found: Detection) -> None:
    event = max(found.events, key=lambda one: one.severity)
    chart = figures.event(found, event)
    real = next(trace for trace in chart.data if trace.name == "real")
    column = found.frame.values[:, found.channels.index(event.channels[0])]
    assert set(np.asarray(real.y, dtype=np.float32)) <= set(column.astype(np.float32))
    expected = found.reconstruction(event.start, event.alarm)
    assert expected.shape == (event.alarm - event.start + 1, len(found.channels))
    quiet = found.reconstruction(1_000, 1_100)  # far from any fault it is near the data
    spread = found.frame.values.std(axis=0) + 1e-9
    assert np.median(np.abs(quiet - found.frame.values[1_000:1_101]) / spread) < 0.5
    assert np.isnan(found.reconstruction(0, 5)).all()
    with pytest.raises(InputError, match="0 <= first <= last < 5000; got 9 and 5"):
        found.reconstruction(9, 5)


def test_the_loss_is_the_error_of_the_reconstruction(found: Detection, fitted: Detector) -> None:
    rows = slice(2_000, 2_050)
    back = found.reconstruction(2_000, 2_049)
    model = fitted.model_
    error = np.square(model.scaler(found.frame.values[rows]) - model.scaler(back))
    np.testing.assert_allclose(model.combiner.loss(error.astype(np.float32)), found.loss[rows], rtol=1e-4)


def test_names_cannot_break_the_page() -> None:
    random = np.random.default_rng(0)
    import polars as pl

    wave = np.sin(np.arange(700) / 9)
    names = ["</script><script>alert(1)</script>", "a<b>&\"'", "℃"]
    table = pl.DataFrame({name: wave + 0.05 * random.normal(size=700) for name in names})
    detector = Detector(epochs=1, width=4, window=4, budget="1/50 rows").fit(table)
    broken = table.with_columns(pl.when(pl.int_range(700) > 600).then(9.0).otherwise(pl.col(names[0])).alias(names[0]))
    result = detector.detect(broken)
    assert result.events
    text = report.html(result)
    assert "alert(1)</script>" not in text
    assert text.count("</script>") == 3


def test_nothing_found_is_said(fitted: Detector) -> None:
    quiet = fitted.with_budget("1/100000000 rows").detect(simulate(600, seed=11).frame)
    assert not quiet.events
    assert "Nothing was beyond its limits" in report.html(quiet)


def test_an_unwritable_place_is_an_error(found: Detection, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="path must be writable"):
        report.save(found, tmp_path / "none" / "report.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1_400, 400])
def test_a_browser_opens_it_without_a_complaint(browser: Any, page: Path, width: int, scheme: str) -> None:
    opened = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on(
        "request",
        lambda request: (
            complaints.append(request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None
        ),
    )
    opened.goto(page.as_uri())
    opened.wait_for_selector("#close-up .main-svg")
    for place in ("score", "close-up", "shares", "pulse", "clusters"):
        assert opened.locator(f"#{place} .main-svg").count() > 0, place
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    background = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    ink = opened.evaluate("getComputedStyle(document.querySelector('#score .xtick text')).fill")
    opened.click("#theme")
    assert opened.evaluate("getComputedStyle(document.querySelector('#score .xtick text')).fill") != ink
    title = "document.querySelector('#close-up .annotation-text').textContent"
    before = opened.evaluate(title)
    shown = opened.locator("#pick").input_value()
    other = opened.locator(f"[data-event]:not([data-event='{shown}'])").first
    number = other.get_attribute("data-event")
    other.click()
    assert opened.locator("tr.chosen button").get_attribute("data-event") == number
    assert opened.locator("#pick").input_value() == number
    opened.wait_for_function(f"{title} !== {json.dumps(before)}")  # another event, another most blamed channel
    opened.close()
    assert complaints == []


def test_ci_has_a_browser() -> None:
    """Continuous integration installs one where it may: there the tests above do run."""
    script = (Path(__file__).parents[2] / ".ci" / "run").read_text()
    assert "apt-get install" in script
    assert "chromium" in script
    assert os.access(Path(__file__).parents[2] / ".ci" / "run", os.X_OK)
