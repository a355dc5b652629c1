"""Model files and snapshots: whole, unaltered and understood, or refused with a clear error."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmtad import CcmtadError, Detector, FileError, NotFittedError, files, model_file, snapshot
from ccmtad.compiled import available
from ccmtad.simulate import Run, simulate
from ccmtad.tables import read

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def small() -> Detector:
    t = np.arange(400)
    return Detector(epochs=1, width=4, window=4, clusters=2).fit(np.column_stack([np.sin(t / 9), np.cos(t / 9)]))


@pytest.fixture(scope="module")
def sealed(small: Detector) -> bytes:
    return model_file.dumps(small.model_, {"params": small.get_params(), "history": []})


@pytest.fixture(scope="module")
def state(small: Detector) -> bytes:
    stream = small.stream()
    for row in np.random.default_rng(0).normal(size=(40, 2)):
        stream.update(row)
    return stream.snapshot()


def test_a_saved_model_gives_the_same_answer(fitted: Detector, tmp_path: Path) -> None:
    run: Run = simulate(800, seed=5)
    fitted.save(tmp_path / "plant.ccm")
    loaded = Detector.load(tmp_path / "plant.ccm")
    one, other = fitted.detect(run.frame), loaded.detect(run.frame)
    np.testing.assert_array_equal(one.loss, other.loss)
    assert one.events == other.events
    assert loaded.get_params() == fitted.get_params()
    assert loaded.settings == fitted.settings
    assert loaded.history_ == fitted.history_
    assert loaded.clusters_ == fitted.clusters_
    for name in ("correlation_", "adjacency_", "silhouettes_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))
    assert loaded.model_.fingerprint == fitted.model_.fingerprint
    with pytest.raises(NotFittedError, match="not kept in a saved or recalibrated model"):
        _ = loaded.decision_scores_


def test_saving_is_whole_or_not_at_all(fitted: Detector, tmp_path: Path) -> None:
    target = tmp_path / "plant.ccm"
    target.write_bytes(b"the old one")
    fitted.save(target)
    assert target.read_bytes()[:8] == model_file.MAGIC
    assert [path.name for path in tmp_path.iterdir()] == ["plant.ccm"]
    with pytest.raises(FileError, match="path must be writable; got .*No such file"):
        fitted.save(tmp_path / "missing" / "plant.ccm")
    with pytest.raises(FileError, match="path must be readable; got .*No such file"):
        Detector.load(tmp_path / "other.ccm")
    for wrong in (tmp_path, "/", "", "a\0b"):  # folders, nothing, nonsense
        with pytest.raises(FileError, match="path must be writable"):
            files.write(b"x", wrong)
    with pytest.raises(FileError, match="path must be readable"):
        files.read("a\0b")
    with pytest.raises(NotFittedError):
        Detector().save(target)


def test_saving_through_a_link_keeps_the_link_and_the_mode(tmp_path: Path) -> None:
    target, link = tmp_path / "real.ccm", tmp_path / "link.ccm"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    files.write(b"new", link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    files.write(b"long", tmp_path / ("n" * 250))


def test_a_model_of_numpy_settings_can_be_saved(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(300, 2))
    detector = Detector(epochs=1, width=4, window=np.int64(4), learning_rate=np.float32(0.01)).fit(rows)
    detector.save(tmp_path / "x.ccm")
    assert Detector.load(tmp_path / "x.ccm").settings == detector.settings


def test_kernels_compile_where_nothing_can_be_cached(tmp_path: Path) -> None:
    if not available():
        pytest.skip("numba is missing: pip install 'ccmtad[fast]'")
    code = (
        "import numba.core.caching as c; c.CacheImpl._locator_classes = []\n"
        "from numba import njit\n"
        "try: njit(cache=True)(lambda x: x)\n"
        "except RuntimeError: print('no cache')\n"
        "import numpy as np; from ccmtad.network.kernels import GELU; GELU(np.zeros(3, np.float32)); print('fine')"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.stdout == "no cache\nfine\n", result.stderr


def test_a_file_truncated_at_any_byte_is_refused(sealed: bytes, state: bytes, small: Detector) -> None:
    for whole, load in ((sealed, model_file.loads), (state, lambda data: small.stream(resume=data))):
        for length in range(len(whole)):
            with pytest.raises(FileError):
                load(whole[:length])


def test_a_file_with_any_byte_changed_is_refused(sealed: bytes, state: bytes, small: Detector) -> None:
    random = np.random.default_rng(0)
    for whole, load in ((sealed, model_file.loads), (state, lambda data: small.stream(resume=data))):
        for place in range(len(whole)):
            altered = bytearray(whole)
            altered[place] ^= int(random.integers(1, 256))
            with pytest.raises(FileError):
                load(bytes(altered))


@given(st.binary(max_size=200), st.booleans())
def test_garbage_is_refused(small: Detector, garbage: bytes, dressed: bool) -> None:
    for magic, load in ((model_file.MAGIC, model_file.loads), (snapshot.MAGIC, lambda data: small.stream(resume=data))):
        with pytest.raises(CcmtadError):
            load(magic + b"\x00\x01" + garbage if dressed else garbage)


def test_a_newer_format_says_so(sealed: bytes, state: bytes, small: Detector) -> None:
    newer = (5).to_bytes(2, "big")
    with pytest.raises(FileError, match="format version 3 or older; got 5: it was written by a newer release"):
        model_file.loads(sealed[:8] + newer + sealed[10:])
    with pytest.raises(FileError, match="snapshot must be of format version 4 or older; got 5"):
        small.stream(resume=state[:8] + newer + state[10:])


def test_one_kind_is_not_taken_for_the_other(sealed: bytes, state: bytes, small: Detector) -> None:
    with pytest.raises(FileError, match="this is another kind of file"):
        model_file.loads(state)
    with pytest.raises(FileError, match="this is another kind of file"):
        small.stream(resume=sealed)


def test_a_snapshot_belongs_to_its_model(state: bytes, fitted: Detector) -> None:
    with pytest.raises(FileError, match="snapshot must be of this model; got one of another"):
        fitted.stream(resume=state)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda arrays, _: arrays.pop("fallback"),
        lambda arrays, _: arrays.pop("network.head.weight"),
        lambda arrays, _: arrays.update({"network.head.bias": np.zeros(3, np.float32)}),
        lambda arrays, _: arrays.update({"network.head.bias": np.full(2, np.nan, np.float32)}),
        lambda arrays, _: arrays.update({"clusters": np.array([0, 2])}),
        lambda arrays, _: arrays.update({"clusters": np.array([0, 0, 0])}),
        lambda arrays, _: arrays.update({"scaler.span": np.zeros(2)}),
        lambda arrays, _: arrays.update({"calibration.reference": np.array([2.0, 1.0])}),
        lambda arrays, _: arrays.update({"calibration.reference": np.array([])}),
        lambda _, facts: facts.update({"threshold": -1.0}),
        lambda _, facts: facts.update({"alpha": "x"}),
        lambda _, facts: facts.update({"period": 0.0}),
        lambda _, facts: facts["settings"].update({"window": 1}),
        lambda _, facts: facts["settings"].update({"widow": 1}),
        lambda _, facts: facts["settings"].update({"window": 9}),
        lambda _, facts: facts.pop("channels"),
        lambda _, facts: facts.update({"channels": ["a"]}),
        lambda _, facts: facts.update({"channels": ["a", "a"]}),
        lambda _, facts: facts.update({"channels": "ab"}),
        lambda _, facts: facts.pop("named"),
        lambda _, facts: facts.update({"alpha": 10**400}),
        lambda arrays, _: arrays.update({"network.norm.running_var": np.full(4, -1, np.float32)}),
    ],
)
def test_a_well_sealed_file_with_a_wrong_content_is_refused(sealed: bytes, break_it: object) -> None:
    arrays, facts = files.open_sealed(sealed, model_file.MAGIC, model_file.VERSION, "model")
    break_it(arrays, facts)  # type: ignore[operator]
    with pytest.raises(FileError, match="model must hold"):
        model_file.loads(files.seal(model_file.MAGIC, model_file.VERSION, arrays, facts))


def test_what_is_younger_than_a_file_it_did_without(sealed: bytes) -> None:
    """A setting added later stands in no file of today: what is declared as the paper's is what such a file goes by."""
    arrays, facts = files.open_sealed(sealed, model_file.MAGIC, model_file.VERSION, "model")
    for name in ("blocks", "duration", "linear"):
        del facts["settings"][name]
    read = model_file.loads(files.seal(model_file.MAGIC, model_file.VERSION, arrays, facts))[0].settings
    assert (read.blocks, read.duration, read.linear) == (1, 1, False)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda _, facts: facts["stream"].update({"filled": "x"}),
        lambda _, facts: facts["stream"].update({"filled": -3}),
        lambda _, facts: facts["stream"].update({"onset_time": "zz"}),
        lambda _, facts: facts["stream"].update({"active": 7}),
        lambda _, facts: facts["stream"].update({"weight": math.nan}),
        lambda _, facts: facts["stream"].update({"shares": [1.0]}),
        lambda _, facts: facts["stream"].pop("rows"),
        lambda _, facts: facts["tracks"][0].update({"settled": 10**9}),
        lambda _, facts: facts["tracks"][0].update({"score": "x"}),
        lambda _, facts: facts["tracks"].pop(),
        lambda _, facts: facts.pop("stream"),
        lambda arrays, _: arrays["ring"].fill(np.nan),
        lambda arrays, _: arrays.update({"held": np.zeros(9)}),
    ],
)
def test_a_well_sealed_snapshot_with_a_wrong_content_is_refused(
    state: bytes, small: Detector, break_it: object
) -> None:
    arrays, facts = files.open_sealed(state, snapshot.MAGIC, snapshot.VERSION, "snapshot")
    arrays = {name: array.copy() for name, array in arrays.items()}
    break_it(arrays, facts)  # type: ignore[operator]
    with pytest.raises(FileError, match="snapshot must hold"):
        small.stream(resume=files.seal(snapshot.MAGIC, snapshot.VERSION, arrays, facts))


def test_a_snapshot_is_bytes(small: Detector) -> None:
    with pytest.raises(FileError, match="snapshot must be bytes; got str"):
        small.stream(resume="x")  # type: ignore[arg-type]


def test_the_same_model_is_the_same_bytes(small: Detector) -> None:
    assert model_file.dumps(small.model_) == model_file.dumps(replace(small.model_))


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_golden_files_of_every_version_still_load(version: str) -> None:
    """Written by the code of their time; regenerate only by adding a file for a new format version."""
    expected = json.loads((GOLDEN / f"expected-{version}.json").read_text())
    detector = Detector.load(GOLDEN / f"model-{version}.ccm")
    assert (detector.correlation_, detector.adjacency_, detector.silhouettes_) == (None, None, None)  # not kept then
    rows = np.array(expected["rows"])
    np.testing.assert_allclose(detector.detect(rows).loss[3:], expected["loss"][3:], rtol=1e-5)
    stream = detector.stream(resume=(GOLDEN / f"snapshot-{version}.bin").read_bytes())
    assert stream.tally.rows == expected["resumed_at"]
    steps = [stream.update(row) for row in rows[expected["resumed_at"] :]]
    np.testing.assert_allclose([s.loss for s in steps], expected["loss"][expected["resumed_at"] :], rtol=1e-5)
    np.testing.assert_allclose([s.score for s in steps], expected["score"][expected["resumed_at"] :], rtol=1e-5)


@pytest.mark.parametrize(("name", "row"), [("settling", 30), ("alarm", 127)])
def test_golden_snapshots_of_a_settling_and_an_alarmed_stream_go_on(name: str, row: int) -> None:
    """Of the default way of scoring: two tracks, a level that follows; taken before it settled, and inside an event."""
    expected = json.loads((GOLDEN / "watch-v1.json").read_text())
    frame = read(GOLDEN / "watch-v1.csv")
    stream = Detector.load(GOLDEN / "watch-v1.ccm").stream(resume=(GOLDEN / f"{name}-v2.bin").read_bytes())
    assert frame.times is not None
    steps = [stream.update(values, time) for values, time in zip(frame.values[row:], frame.times[row:], strict=True)]
    for field in ("loss", "pvalue", "score"):
        np.testing.assert_allclose(
            [getattr(s, field) for s in steps],
            [np.nan if v is None else v for v in expected[field][row:]],
            rtol=1e-5,
            atol=1e-9,
            err_msg=field,
        )
    assert [s.alarm for s in steps] == expected["alarm"][row:]
