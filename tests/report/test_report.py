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
from ccmtad.report.channels import BLAMED, BYTES, all_channels, every
from ccmtad.report.clock import Clock
from ccmtad.report.stretches import silent
from ccmtad.report.thin import blocks, extremes
from ccmtad.simulate import schedule, simulate
from ccmtad.truth import judge, stretches

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
    assert len(re.findall(r"<tr data-number=", own)) == len(found.events)
    for event in found.events:
        assert event.sentence in own
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
    lasted = re.findall(r'<td class="lasted">([^<]*)', report.html(found))
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
    assert text.count("</script>") == 4


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
    for place in ("score", "close-up", "channel", "blame"):
        assert opened.locator(f"#{place} .main-svg").count() > 0, place
    for place in ("shares", "pulse", "clusters"):  # what is for statisticians folds away, and is drawn when asked for
        assert opened.locator(f"#{place} .main-svg").count() == 0, place
    for fold in opened.locator("details summary").all():
        fold.focus()
        opened.keyboard.press("Enter")
    for place in ("shares", "pulse", "clusters"):
        opened.wait_for_selector(f"#{place} .main-svg", state="attached")
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
    said = opened.locator(f"tr[data-number='{number}'] .what").get_attribute("title")
    assert opened.locator("#said").text_content() == said
    if width == 400:  # an event takes two lines
        assert opened.locator("tr.chosen").bounding_box()["height"] < 60
    assert opened.locator("#pick").input_value() == number
    opened.wait_for_function(f"{title} !== {json.dumps(before)}")  # another event, another most blamed channel
    opened.close()
    assert complaints == []


NAMES = "[...document.querySelectorAll('#channel-pick option')].map((one) => one.textContent)"
DRAWN = "document.getElementById('channel').data.find((one) => one.name === 'real').y"


def test_a_channel_that_no_event_blames_is_drawn_when_asked_for(browser: Any, page: Path, found: Detection) -> None:
    blamed = {name for one in found.events for name in one.channels[:BLAMED]}
    place, name = next((i, name) for i, name in enumerate(found.channels) if name not in blamed)
    opened = browser.new_page(viewport={"width": 1_400, "height": 900})
    opened.goto(page.as_uri())
    assert opened.evaluate(NAMES)[place] == name  # and no event beside it
    opened.select_option("#channel-pick", str(place))
    drawn = np.array(opened.evaluate(f"Array.from({DRAWN})"))
    column = found.frame.values[:, place].astype(np.float32)
    assert set(drawn.astype(np.float32)) <= set(column)
    assert drawn.min() == pytest.approx(column.min())
    assert drawn.max() == pytest.approx(column.max())
    traces = opened.evaluate("document.getElementById('channel').data.map((one) => one.name)")
    assert {"normal", "real", "expected"} <= set(traces)
    opened.close()


def test_zooming_one_picture_zooms_all_and_a_button_resets_it(browser: Any, page: Path) -> None:
    opened = browser.new_page(viewport={"width": 1_400, "height": 900})
    opened.goto(page.as_uri())
    opened.wait_for_selector("#blame .main-svg")
    ranges = "['score', 'channel', 'blame'].map((one) => String(document.getElementById(one).layout.xaxis.range))"
    before = opened.evaluate(ranges)
    box = opened.locator("#score .nsewdrag").bounding_box()
    opened.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 60)
    opened.mouse.down()
    opened.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 60, steps=8)
    opened.mouse.up()
    opened.wait_for_selector("#score .main-svg")
    opened.wait_for_function(f"({ranges}).every((one, i) => one !== {json.dumps(before)}[i])")
    zoomed = opened.evaluate(ranges)
    opened.click("#theme")  # drawn again, in other colours: it stays where it is
    opened.select_option("#channel-pick", "2")
    assert opened.evaluate(ranges) == zoomed
    reset = opened.locator("[data-reset]").first
    reset.click()
    opened.wait_for_function("document.querySelector('[data-reset]').hidden")
    assert opened.evaluate(ranges) == before
    tall = opened.evaluate("document.getElementById('channel').layout.yaxis.range")
    opened.click("#near")
    opened.wait_for_function("!document.querySelector('[data-reset]').hidden")
    close = opened.evaluate("document.getElementById('channel').layout.yaxis.range")
    assert close[1] - close[0] < tall[1] - tall[0]  # as high as what is seen
    opened.dblclick("#channel .nsewdrag")
    opened.wait_for_function("document.querySelector('[data-reset]').hidden")
    opened.close()


def test_plots_shrink_with_their_window(browser: Any, page: Path) -> None:
    opened = browser.new_page(viewport={"width": 1_400, "height": 900})
    opened.goto(page.as_uri())
    opened.wait_for_selector("#close-up .main-svg")
    for width in (700, 400):
        opened.set_viewport_size({"width": width, "height": 900})
        for place in ("score", "close-up", "channel", "blame"):
            opened.wait_for_function(f"document.querySelector('#{place} .main-svg').clientWidth <= {width}")
        assert opened.evaluate("document.documentElement.scrollWidth") <= width
    opened.close()


def test_a_report_without_events_still_draws_any_channel(browser: Any, fitted: Detector, tmp_path: Path) -> None:
    quiet = fitted.with_budget("1/100000000 rows").detect(simulate(600, seed=11).values)  # and without times
    assert not quiet.events
    report.save(quiet, tmp_path / "quiet.html")
    opened = browser.new_page(viewport={"width": 1_400, "height": 900})
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto((tmp_path / "quiet.html").as_uri())
    opened.select_option("#channel-pick", "7")
    drawn = opened.evaluate(f"Array.from({DRAWN})")
    np.testing.assert_allclose(drawn, quiet.frame.values[:, 7], rtol=1e-6)  # every row, there are few
    opened.close()
    assert complaints == []


def test_lost_and_frozen_stretches_are_hatched_where_they_were(fitted: Detector) -> None:
    run = simulate(2_500, seed=3).frame
    values = run.values.copy()
    values[1_000:1_200, 4] = np.nan
    still = run.channels.index("PIT401")
    values[1_700:1_950, still] = values[1_700, still]
    found = fitted.detect(Frame(values, run.channels, run.times))
    assert {"signal lost", "frozen"} <= {one.kind for one in found.events}
    gone = silent(found)
    assert gone[run.channels[4]] == ((1_000, 1_199),)
    ((first, last),) = gone["PIT401"]
    assert 1_700 <= first <= 1_701
    assert last == 1_949
    assert set(gone) == {run.channels[4], "PIT401"}
    told = all_channels(found, gone)["channels"]
    assert [bool(one["silent"]) for one in told] == [i in (4, still) for i in range(len(told))]
    lost = next(one for one in found.events if one.kind == "signal lost")
    chart = figures.event(found, lost)
    hatched = [trace for trace in chart.data if trace.fillpattern.shape]
    assert [list(trace.x[:3:2]) for trace in hatched] == [list(Clock(found).x([1_000, 1_199]))]


def test_neighbouring_events_are_shaded_in_the_close_up(found: Detection) -> None:
    for one in found.events:
        chart = figures.event(found, one)
        low, high = chart.layout.xaxis.range
        spans = [Clock(found).x([other.start, found.alarm.size - 1 if other.end is None else other.end])
                 for other in found.events if other is not one]  # fmt: skip
        near = sum(bool(a <= high and b >= low) for a, b in spans)
        panels = len(one.channels[:BLAMED]) + 1
        grey = [shape for shape in chart.layout.shapes if shape.fillcolor == figures.NEIGHBOUR]
        assert len(grey) == near * panels


def test_the_blame_map_has_the_shares_of_the_events(found: Detection) -> None:
    chart = figures.blame(found)
    assert chart is not None
    (grid,) = chart.data
    names = [row[0] for row in grid.customdata]
    worst = max(found.events, key=lambda one: one.blame[0])
    share = np.nanmax(np.asarray(grid.z, dtype=float)[names.index(worst.channels[0])])
    assert share == pytest.approx(100 * worst.blame[0], abs=1)


def test_the_band_is_where_normal_rows_stay(fitted: Detector) -> None:
    normal = fitted.detect(simulate(3_000, seed=12).frame)
    reach = normal.learnt.reach
    assert reach is not None
    away = np.abs(normal.frame.values - normal.reconstruction())
    inside = np.nanmean(np.where(np.isnan(away), np.nan, away <= reach), axis=0)
    assert np.median(inside) > 0.98


def test_labels_stand_beside_what_was_found_and_change_nothing(found: Detection) -> None:
    labels = np.zeros(len(found))
    first = found.events[0]
    labels[first.start : first.alarm + 20] = 1
    labels[10:30] = 1  # which nothing found
    truth = judge(found, labels)
    assert truth.stretches == ((10, 29), (first.start, first.alarm + 19))
    assert truth.delays == (None, first.alarm - first.start)
    assert truth.recall == 0.5
    assert truth.precision == pytest.approx(1 / len(found.events))
    text = report.html(found, labels=labels)
    for words in ("precision", "recall", "1 of 2 labelled stretches found", "bars along the bottom"):
        assert words in text
    assert "precision" not in re.sub(r"<script.*?</script>", "", report.html(found), flags=re.DOTALL)
    none = judge(found, np.zeros(len(found)))
    assert none.recall is None
    assert none.delay is None
    assert none.precision == 0.0
    with pytest.raises(InputError, match=r"labels must be one for each of the 5,000 rows; got shape \(3,\)"):
        judge(found, [0, 1, 0])
    with pytest.raises(InputError, match="labels must be numbers, 0 for normal"):
        report.html(found, labels=["normal"] * len(found))


@given(hnp.arrays(np.bool_, st.integers(0, 60)))
def test_stretches_are_the_runs_of_true_rows(marked: np.ndarray[Any, Any]) -> None:
    back = np.zeros_like(marked)
    spans = stretches(marked)
    for first, last in spans:
        assert not back[max(first - 1, 0) : last + 1].any()
        back[first : last + 1] = True
    np.testing.assert_array_equal(back, marked)


def test_many_channels_make_no_huge_page(found: Detection) -> None:
    told = json.dumps(all_channels(found, {}))
    assert len(told) < 1.2 * BYTES
    assert every(found) == 5  # rows of a block: 5,000 in 1,200 blocks


def test_ci_has_a_browser() -> None:
    """Continuous integration installs one where it may: there the tests above do run."""
    script = (Path(__file__).parents[2] / ".ci" / "run").read_text()
    assert "apt-get install" in script
    assert "chromium" in script
    assert os.access(Path(__file__).parents[2] / ".ci" / "run", os.X_OK)
