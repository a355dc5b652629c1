"""The page, in a real browser: what happens shows, what is said is heard, and nothing runs that should not."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from ccmtad import Detector, Frame
from ccmtad.simulate import simulate

from .conftest import empty_store
from .rows import as_json
from .server import PATIENCE, Nursery, Server, until

MILLISECONDS = 1_000 * PATIENCE
HOSTILE = "</script><script>window.ran=1</script>"
HOSTILE_ENTITY = "<img src=x onerror=window.ran=1>"


@pytest.fixture(scope="module")
def one_fault() -> Frame:
    """Rows of the plant with one fault."""
    frame = simulate(560, seed=5).frame
    values = frame.values.copy()
    values[400:460, 3] += 6 * values[:, 3].std() + 1
    return Frame(values, frame.channels, frame.times)


def later(frame: Frame, hours: int) -> Frame:
    """The same rows, at another time."""
    assert frame.times is not None
    return Frame(frame.values, frame.channels, frame.times + np.timedelta64(hours, "h"))


@pytest.fixture
def server(request: pytest.FixtureRequest, nursery: Nursery, models: Path, tmp_path: Path) -> Iterator[Server]:
    """On SQLite, or the store that a test asks for."""
    kind = getattr(request, "param", "sqlite")
    with empty_store(kind, tmp_path) as store, nursery.serving(models, store, "--silence", "0") as running:
        yield running


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    """A browser without a past. `complaints` are what it said, and requests that left for elsewhere."""
    opened = browser.new_context(viewport={"width": 1280, "height": 900})
    opened.set_default_timeout(MILLISECONDS)
    opened.complaints = []
    yield opened
    opened.close()
    assert opened.complaints == []


def tab(context: Any, server: Server, path: str = "/") -> Any:
    """A page, for which whoever looks has logged in."""
    page = context.new_page()
    page.on("console", lambda said: _heard(context, said))
    page.on("pageerror", lambda error: context.complaints.append(str(error)))
    page.on("response", lambda got: context.complaints.append(f"{got.status} {got.url}") if got.status >= 400 else None)
    page.on("request", lambda asked: _check_origin(context, server, asked.url))
    page.goto(f"{server.url}{path}")
    if page.url.startswith(f"{server.url}/login"):
        page.fill("input[name=key]", server.key)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{server.url}{path}")
    page.evaluate("window.loaded = true")  # gone where the page is loaded again
    return page


def _heard(context: Any, said: Any) -> None:
    """All that a browser complains of, but that a service which was killed does not answer."""
    if said.type in ("error", "warning") and "net::ERR_" not in said.text:
        context.complaints.append(said.text)


def _check_origin(context: Any, server: Server, url: str) -> None:
    if not url.startswith((f"{server.url}/", "data:")):
        context.complaints.append(f"asked elsewhere: {url}")


def never_reloaded(page: Any) -> bool:
    """Whether all that it shows came by itself."""
    return bool(page.evaluate("window.loaded === true"))


def press(page: Any, name: str) -> None:
    """By the keyboard alone: Tab until it has the focus, which must be seen, then Enter."""
    for _ in range(200):
        page.keyboard.press("Tab")
        at = page.evaluate("[document.activeElement.tagName, document.activeElement.textContent.trim()]")
        if at == ["BUTTON", name]:
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"the keyboard does not reach {name}")


@pytest.mark.parametrize("server", ["sqlite", "postgresql"], indirect=True)
def test_a_fault_shows_is_dismissed_in_every_tab_and_the_same_again_raises_nothing(
    context: Any, server: Server, one_fault: Frame
) -> None:
    server.send("pump 1", **as_json(one_fault, 0, 390))
    server.judged("pump 1", 390)
    entity, overview = tab(context, server, "/entities/pump%201"), tab(context, server)
    entity.wait_for_selector("#chart[data-drawn] canvas")
    overview.wait_for_selector("tr.green .pill >> text=normal")

    server.send("pump 1", **as_json(one_fault, 390, 430))
    entity.wait_for_selector("#opened .pill.red >> text=open")
    overview.wait_for_selector("tr.red .pill >> text=alarm")
    assert overview.title().startswith("(1)")
    channel = one_fault.channels[3]
    assert channel in entity.locator("#opened .what").first.inner_text()
    entity.wait_for_selector(f"#chart h3 >> text={channel}")  # what is blamed is drawn

    server.send("pump 1", **as_json(one_fault, 430, 560))
    overview.wait_for_selector("tr.green .pill >> text=normal")
    entity.wait_for_selector("#recent .pill >> text=over")
    entity.wait_for_selector("#opened .pill", state="detached")
    events = tab(context, server, "/events")
    press(entity, "Dismiss")
    for page in (entity, events):
        page.wait_for_selector(".events .pill >> text=dismissed")
    entity.wait_for_selector("#dismissed li")
    assert all(never_reloaded(page) for page in (entity, overview, events))

    (told,) = server.events()
    assert (told["word"], told["said"][0]["by"]) == ("dismissed", "first")
    server.send("pump 1", **as_json(later(one_fault, 24)))
    server.judged("pump 1", 2 * len(one_fault))
    assert len(server.events()) == 1
    entity.wait_for_selector("#standing >> text=1,120 rows judged")
    assert entity.locator("#recent tbody tr").count() == 1
    press(entity, "Undo")
    events.wait_for_selector(".events button >> text=Dismiss")
    server.send("pump 1", **as_json(later(one_fault, 48)))
    until("taken back, it is told again", lambda: len(server.events()) == 2)


def test_words_and_windows_by_buttons(context: Any, server: Server, one_fault: Frame) -> None:
    server.send("a", **as_json(one_fault, 0, 430))
    server.judged("a", 430)
    (told,) = server.events()
    page = tab(context, server, f"/events/{quote(told['id'], safe='')}")
    page.click("text=Acknowledge")
    page.wait_for_selector("#what .pill >> text=taken up")
    page.fill("textarea", "the sun\n<b>was</b> low")
    page.click("button >> text=Comment")
    page.wait_for_selector("#said >> text=<b>was</b> low")
    assert page.input_value("textarea") == ""
    page.click("#actions >> text=Confirm")
    page.wait_for_selector("#what .pill >> text=confirmed")
    assert [one["word"] for one in server.events()[0]["said"]] == ["acknowledged", "comment", "confirmed"]

    page.fill("#silence input[name=comment]", "new sensor")
    page.select_option("#silence select", "")
    page.click("#silence >> text=Silence")
    until("a window", lambda: len(server.get("/v1/windows")["windows"]) == 1)
    entity = tab(context, server, "/entities/a")
    entity.wait_for_selector(".windows >> text=new sensor")
    assert one_fault.times is not None
    shifted = Frame(
        one_fault.values, one_fault.channels, one_fault.times + (np.datetime64("now", "ns") - one_fault.times[0])
    )
    server.send("b", **as_json(shifted, 0, 430))
    server.send("a", **as_json(shifted, 0, 430))
    events = tab(context, server, "/events?show=silenced")
    events.wait_for_selector(".events >> text=silenced by maintenance window 1: “new sensor”, made by first")
    assert {one["entity"] for one in server.events(silenced=True)} == {"a"}
    entity.click("text=End it now")
    entity.wait_for_selector(".windows", state="detached")
    assert server.get("/v1/windows")["windows"][0]["end"] is not None
    assert never_reloaded(page)
    assert never_reloaded(entity)


def test_what_is_being_written_is_not_taken_away(context: Any, server: Server, one_fault: Frame) -> None:
    server.send("a", **as_json(one_fault, 0, 430))
    server.judged("a", 430)
    (told,) = server.events()
    page = tab(context, server, f"/events/{quote(told['id'], safe='')}")
    page.wait_for_selector("#line[data-state=live]")
    page.fill("textarea", "half a sen")
    server.send("a", **as_json(one_fault, 430, 560))
    page.wait_for_selector("#what .pill >> text=over")
    assert page.input_value("textarea") == "half a sen"


def test_a_page_finds_its_service_again(
    context: Any, nursery: Nursery, models: Path, tmp_path: Path, one_fault: Frame
) -> None:
    store, more = str(tmp_path / "store.db"), ("--silence", "0")
    mine = shutil.copytree(models, tmp_path / "models")
    with nursery.serving(mine, store, *more) as first:
        first.send("a", **as_json(one_fault, 0, 390))
        page = tab(context, first)
        page.wait_for_selector("#line[data-state=live]")
        first.kill()
    page.wait_for_selector("#line[data-state=lost]")
    with nursery.serving(mine, store, *more, "--port", first.url.rpartition(":")[2], key=first.key) as second:
        second.send("a", **as_json(one_fault, 390, 430))
        page.wait_for_selector("tr.red .pill >> text=alarm")
        page.wait_for_selector("#line[data-state=live]")
        assert never_reloaded(page)  # and the session has outlived it


def test_hostile_names_are_shown_and_never_run(context: Any, nursery: Nursery, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    wave = np.sin(np.arange(700) / 9)
    names = (HOSTILE, "a<b>&\"'", "\u202e℃")
    values = np.stack([wave + 0.05 * random.normal(size=700) for _ in names], axis=1)
    (tmp_path / "models").mkdir()
    train = Frame(values, names, None)
    Detector(epochs=1, width=4, window=4, budget="1/50 rows").fit(train).save(tmp_path / "models" / "m.ccm")
    values[600:, 0] = 9.0
    with nursery.serving(tmp_path / "models", str(tmp_path / "store.db"), "--no-keys") as server:
        server.send(HOSTILE_ENTITY, values=values.tolist())
        server.judged(HOSTILE_ENTITY, 700)
        told = next(one for one in server.events() if one["channels"])
        assert told["channels"][0] == HOSTILE
        page = tab(context, server)
        assert page.locator(".entities .name").inner_text() == HOSTILE_ENTITY
        page.click(".entities .name a")
        page.wait_for_selector("#chart[data-drawn]")
        assert page.locator("h1").inner_text() == HOSTILE_ENTITY
        assert page.locator("#chart h3").nth(1).inner_text() == HOSTILE
        assert HOSTILE in page.locator("td.what").first.inner_text()
        assert "\\u202e℃" in page.locator(".ticks").text_content()  # written backwards, it could say anything
        page.goto(f"{server.url}/events/{quote(told['id'], safe='')}")
        page.wait_for_selector("#chart[data-drawn]")
        page.fill("textarea", HOSTILE)
        page.click("button >> text=Comment")
        page.wait_for_selector("#said li")
        for path in ("/", "/events", "/maintenance", f"/?find={quote(HOSTILE)}"):
            page.goto(f"{server.url}{path}")
        assert page.evaluate("window.ran") is None


def test_every_page_fits_and_follows_the_system(browser: Any, server: Server, one_fault: Frame) -> None:
    name = "a-rather-long-name-of-a-machine-in-hall-seven-of-the-northern-plant"
    server.send(name, **as_json(one_fault, 0, 430))
    until("an event", server.events)
    event = f"/events/{quote(server.events()[0]['id'], safe='')}"
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
        context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
        context.set_default_timeout(MILLISECONDS)
        context.complaints = []
        page = tab(context, server)
        for path in ("/", "/events", "/maintenance", f"/entities/{name}", event):
            page.goto(f"{server.url}{path}")
            page.wait_for_selector("#line[data-state=live]")
            if page.locator("#chart").count():
                page.wait_for_selector("#chart[data-drawn]")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            background = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (background == "rgb(255, 255, 255)") == (scheme == "light")
        context.close()
        assert context.complaints == []


def test_an_empty_service_says_what_to_do(context: Any, server: Server) -> None:
    page = tab(context, server)
    text = page.locator("main").inner_text()
    assert "No entity yet" in text
    assert f"{server.url}/v1/entities/NAME/rows" in text
    server.send("first", values=[[0.0] * 53])
    page.wait_for_selector(".entities >> text=first")
    page.click("nav >> text=Events")
    assert "No event yet" in page.locator("main").inner_text()
