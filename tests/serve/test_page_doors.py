"""Who gets in to the page, what forms must carry, and what every answer says to a browser."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
import pytest

from ccmtad import Detector, Frame
from ccmtad.serve.page.render import local
from ccmtad.serve.page.session import Visitor
from ccmtad.simulate import simulate

from .rows import as_json
from .server import PATIENCE, Nursery, Server


@pytest.fixture(scope="module")
def server(nursery: Nursery, plant_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With one event."""
    folder = tmp_path_factory.mktemp("page")
    mine = shutil.copytree(plant_models, folder / "models")
    frame = simulate(430, seed=5).frame
    frame.values[400:, 3] += 6 * frame.values[:, 3].std() + 1
    with nursery.serving(mine, str(folder / "store.db"), "--silence", "0") as running:
        running.send("a", **as_json(frame))
        running.judged("a", 430)
        yield running


@contextmanager
def browser_of(server: Server, key: str = "") -> Iterator[httpx.Client]:
    """What a browser does, without one; logged in where a key is given."""
    with httpx.Client(base_url=server.url, timeout=PATIENCE, trust_env=False) as client:
        if key:
            answer = client.post("/login", data={"token": token(client.get("/login")), "key": key, "next": "/events"})
            assert (answer.status_code, answer.headers["location"]) == (303, "/events")
        yield client


def token(answer: httpx.Response) -> str:
    """What the forms of a page carry."""
    found = re.search(r'name="token" value="([0-9a-f]{64})"', answer.text)
    assert found is not None
    return found[1]


def event_of(server: Server) -> tuple[str, str]:
    """The path of the only event, and its word."""
    (told,) = server.events()
    return f"/events/{quote(told['id'], safe='')}", told["word"]


def test_nobody_sees_anything_without_a_key(server: Server) -> None:
    with browser_of(server) as client:
        for path in ("/", "/events?show=open", "/entities/50%25%3F", "/maintenance", event_of(server)[0]):
            answer = client.get(path)
            assert answer.status_code == 303, path
            assert answer.headers["location"] == f"/login?next={quote(path, safe='')}"
        assert client.get("/live").status_code == 401
        wrong = client.post("/login", data={"token": token(client.get("/login")), "key": "ccm_no"})
        assert wrong.status_code == 403
        assert "not in use here" in wrong.text
        assert client.get("/").status_code == 303


def test_the_cookie_is_out_of_reach_and_is_never_the_one_a_browser_came_with(server: Server) -> None:
    with browser_of(server) as client:
        before = client.get("/login")
        anonymous = client.cookies["ccmtad"]
        answer = client.post("/login", data={"token": token(before), "key": server.key})
        for given in (before, answer):
            words = given.headers["set-cookie"].lower()
            assert "httponly" in words
            assert "samesite=strict" in words
        assert client.cookies["ccmtad"] != anonymous
        assert server.key not in answer.headers["set-cookie"]
        assert client.get("/").status_code == 200


@pytest.mark.parametrize("given", [{}, {"token": ""}, {"token": "0" * 64}, {"token": "é"}])
def test_a_form_without_its_token_is_refused(server: Server, given: dict[str, str]) -> None:
    path, _ = event_of(server)
    with browser_of(server, server.key) as client:
        for target in (f"{path}/dismiss", f"{path}/acknowledge", "/maintenance", "/maintenance/1/end", "/logout"):
            answer = client.post(target, data={"text": "", "hours": "1", **given})
            assert answer.status_code == 403, target
            assert "not from here" in answer.text
        assert client.get("/").status_code == 200
    assert event_of(server)[1] is None
    assert server.get("/v1/windows")["windows"] == []


def test_the_token_of_one_session_is_worth_nothing_in_another(server: Server) -> None:
    path, _ = event_of(server)
    with browser_of(server, server.key) as mine, browser_of(server, server.key) as other:
        answer = mine.post(f"{path}/dismiss", data={"token": token(other.get(path))})
        assert answer.status_code == 403
    assert event_of(server)[1] is None


def test_a_cookie_reads_the_api_and_changes_nothing_there(server: Server) -> None:
    path, _ = event_of(server)
    with browser_of(server, server.key) as client:
        assert client.get("/v1/entities").status_code == 200
        assert client.post(f"/v1{path}/dismiss", json={"text": ""}).status_code == 401
        assert client.post("/v1/entities/a/rows", json={"values": [[0.0] * 53]}).status_code == 401
    assert event_of(server)[1] is None


def test_scopes_decide_what_buttons_there_are(server: Server) -> None:
    path, _ = event_of(server)
    made = server.client.post("/v1/keys", json={"name": "looks", "scopes": ["read"]}).json()
    with browser_of(server, made["key"]) as client:
        page = client.get(path)
        assert "/dismiss" not in page.text
        assert "<textarea" not in page.text
        answer = client.post(f"{path}/dismiss", data={"token": token(page)})
        assert answer.status_code == 403
        assert "may look" in answer.text
        server.client.delete(f"/v1/keys/{made['id']}")
        assert client.get("/").status_code == 303  # the session has ended with its key
    rows = server.client.post("/v1/keys", json={"name": "sends", "scopes": ["write"]}).json()
    with browser_of(server, rows["key"]) as client:
        assert client.get("/").status_code == 403
    with browser_of(server, server.key) as client:
        assert "/dismiss" in client.get(path).text


def test_who_leaves_is_out(server: Server) -> None:
    with browser_of(server, server.key) as client:
        cookie = client.cookies["ccmtad"]
        assert client.post("/logout", data={"token": token(client.get("/"))}).status_code == 303
        client.cookies.set("ccmtad", cookie)
        assert client.get("/").status_code == 303
        assert client.get("/v1/entities").status_code == 401


def test_every_answer_tells_browsers_to_be_strict(server: Server) -> None:
    with browser_of(server, server.key) as client:
        answers = [client.get(path) for path in ("/", "/events", "/static/page.js", "/nowhere", "/v1/entities")]
        for answer in answers:
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "same-origin"
        page = answers[0].text
        assert " style=" not in page
        assert re.search(r"<script(?! src=\"/static/)", page) is None
        assert re.search(r"\son\w+=", page) is None
        for name in re.findall(r'"(/static/[^"]+)"', page):
            found = client.get(name)
            assert found.status_code == 200, name
            assert "immutable" in found.headers["cache-control"]
        for name in ("../views.py", "..%2Fviews.py", "NOTICE.md", "none.css"):
            assert client.get(f"/static/{name}").status_code == 404, name


def test_what_is_not_there_is_a_page_too(server: Server) -> None:
    with browser_of(server, server.key) as client:
        for path in ("/entities/nobody", "/events/nothing", "/entities/a%2Fb"):
            answer = client.get(path)
            assert answer.status_code in (404, 422), path
        assert "There is no such entity." in client.get("/entities/nobody").text
        bad = {"token": token(client.get("/")), "hours": "nan"}
        assert client.post("/maintenance", data=bad).status_code == 422
        assert client.post(f"{event_of(server)[0]}/explode", data=bad).status_code == 404
        assert client.post("/maintenance", json={}).status_code == 415
        assert client.post("/maintenance", data={**bad, "comment": "x" * 100_000}).status_code == 413


def test_without_keys_only_this_machine_may_ask_and_only_its_own_page_may_press(
    nursery: Nursery, models: Path, tmp_path: Path
) -> None:
    with nursery.serving(models, str(tmp_path / "store.db"), "--no-keys") as server, browser_of(server) as client:
        page = client.get("/maintenance")
        assert page.status_code == 200
        assert "Log out" not in page.text
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 403
        new: dict[str, Any] = {"json": {"comment": "x"}}
        assert client.post("/v1/windows", **new, headers={"Origin": "http://evil.example"}).status_code == 403
        assert client.post("/maintenance", data={"hours": "1"}).status_code == 403
        assert client.post("/maintenance", data={"hours": "1", "token": token(page)}).status_code == 303
        assert client.post("/v1/windows", **new).status_code == 201


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "https://evil.example", "x", "", "/\nx"])
def test_nobody_is_sent_elsewhere_after_a_login(path: str) -> None:
    assert local(path) == "/"
    assert local("/events?show=open") == "/events?show=open"


def test_a_browser_without_a_cookie_cannot_have_made_a_form() -> None:
    from ccmtad.serve.refusal import Refusal

    fresh = Visitor(None, "x" * 43, True)
    with pytest.raises(Refusal, match="not from here"):
        fresh.check(fresh.token)
    Visitor(None, "x" * 43, False).check(fresh.token)


def test_what_was_expected_is_what_detect_reconstructs(
    nursery: Nursery, models: Path, tmp_path: Path, fitted: Detector
) -> None:
    frame = simulate(900, seed=5).frame
    frame.values[300:310, 1] = np.nan
    frame.values[700:760, 3] += 6 * frame.values[:, 3].std() + 1
    names = [frame.channels[1], frame.channels[3]]
    mine = shutil.copytree(models, tmp_path / "models")
    with nursery.serving(mine, str(tmp_path / "store.db"), "--silence", "0", "--no-keys") as server:
        for first in range(0, 900, 75):
            server.send("a", **as_json(frame, first, first + 75))
        server.judged("a", 900)
        query = {"rows": 300, "last": 799, "points": 1_000, "channels": names}
        found = server.get("/v1/entities/a/trace", **query)
        assert found["row"] == list(range(500, 800))
        detected = fitted.detect(Frame(frame.values, frame.channels, frame.times))
        wanted = detected.reconstruction(500, 799)
        for one in found["channels"]:
            c = frame.channels.index(one["name"])
            np.testing.assert_allclose(one["expected"], wanted[:, c], rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(one["observed"], frame.values[500:800, c], rtol=1e-4)
        np.testing.assert_allclose(found["ratio"], detected.score[500:800] / detected.threshold, rtol=1e-4, atol=1e-5)
        thin = server.get("/v1/entities/a/trace", **{**query, "points": 60})
        assert len(thin["row"]) < 100
        assert max(thin["ratio"]) == max(found["ratio"])  # no peak is left out
        farthest = server.get("/v1/entities/a/trace", rows=60, last=759)["channels"][0]["name"]
        assert farthest == names[1]

        (event,) = (one for one in server.events() if one["channels"][0] == names[1])
        narrow = found["channels"][1]["reach"]
        assert server.client.post(f"/v1/events/{quote(event['id'])}/dismiss", json={}).status_code == 200
        wide = server.get("/v1/entities/a/trace", **query)["channels"][1]
        away = max(abs(a - b) for a, b in zip(wide["observed"], wide["expected"], strict=True))
        assert narrow < away < wide["reach"]  # what was dismissed is within what is normal now
        assert server.client.get("/v1/entities/a/trace", params={"channels": "none"}).status_code == 422
