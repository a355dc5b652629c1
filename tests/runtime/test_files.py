"""Model files and snapshots: whole, unaltered and understood, or refused with a clear error."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmtad import CcmtadError, Detector, FileError, NotFittedError
from ccmtad.runtime import artefact, envelope, snapshot
from ccmtad.simulate import Run, simulate

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def small() -> Detector:
    t = np.arange(400)
    return Detector(epochs=1, width=4, window=4, clusters=2).fit(np.column_stack([np.sin(t / 9), np.cos(t / 9)]))


@pytest.fixture(scope="module")
def sealed(small: Detector) -> bytes:
    return artefact.dumps(small.model_, {"params": small.get_params(), "history": []})


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
    assert loaded.model_.fingerprint == fitted.model_.fingerprint
    with pytest.raises(NotFittedError, match="not kept in a saved model"):
        _ = loaded.decision_scores_


def test_saving_is_whole_or_not_at_all(fitted: Detector, tmp_path: Path) -> None:
    target = tmp_path / "plant.ccm"
    target.write_bytes(b"the old one")
    fitted.save(target)
    assert target.read_bytes()[:8] == artefact.MAGIC
    assert [path.name for path in tmp_path.iterdir()] == ["plant.ccm"]
    with pytest.raises(FileError, match="path must be writable; got .*No such file"):
        fitted.save(tmp_path / "missing" / "plant.ccm")
    with pytest.raises(FileError, match="path must be readable; got .*No such file"):
        Detector.load(tmp_path / "other.ccm")
    with pytest.raises(FileError, match="path must be writable"):
        artefact.write(b"x", tmp_path)  # a folder
    with pytest.raises(NotFittedError):
        Detector().save(target)


def test_a_file_truncated_at_any_byte_is_refused(sealed: bytes, state: bytes, small: Detector) -> None:
    for whole, load in ((sealed, artefact.loads), (state, lambda data: small.stream(resume=data))):
        for length in range(len(whole)):
            with pytest.raises(FileError):
                load(whole[:length])


def test_a_file_with_any_byte_changed_is_refused(sealed: bytes, state: bytes, small: Detector) -> None:
    random = np.random.default_rng(0)
    for whole, load in ((sealed, artefact.loads), (state, lambda data: small.stream(resume=data))):
        for place in range(len(whole)):
            altered = bytearray(whole)
            altered[place] ^= int(random.integers(1, 256))
            with pytest.raises(FileError):
                load(bytes(altered))


@given(st.binary(max_size=200), st.booleans())
def test_garbage_is_refused(small: Detector, garbage: bytes, dressed: bool) -> None:
    for magic, load in ((artefact.MAGIC, artefact.loads), (snapshot.MAGIC, lambda data: small.stream(resume=data))):
        with pytest.raises(CcmtadError):
            load(magic + b"\x00\x01" + garbage if dressed else garbage)


def test_a_newer_format_says_so(sealed: bytes, state: bytes, small: Detector) -> None:
    newer = (2).to_bytes(2, "big")
    with pytest.raises(FileError, match="format version 1; got 2: it was written by a newer release"):
        artefact.loads(sealed[:8] + newer + sealed[10:])
    with pytest.raises(FileError, match="snapshot must be of format version 1; got 2"):
        small.stream(resume=state[:8] + newer + state[10:])


def test_one_kind_is_not_taken_for_the_other(sealed: bytes, state: bytes, small: Detector) -> None:
    with pytest.raises(FileError, match="this is another kind of file"):
        artefact.loads(state)
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
    ],
)
def test_a_well_sealed_file_with_a_wrong_content_is_refused(sealed: bytes, break_it: object) -> None:
    arrays, facts = envelope.open_sealed(sealed, artefact.MAGIC, artefact.VERSION, "model")
    break_it(arrays, facts)  # type: ignore[operator]
    with pytest.raises(FileError, match="model must hold"):
        artefact.loads(envelope.seal(artefact.MAGIC, artefact.VERSION, arrays, facts))


def test_the_same_model_is_the_same_bytes(small: Detector) -> None:
    assert artefact.dumps(small.model_) == artefact.dumps(replace(small.model_))


def test_golden_files_of_every_version_still_load() -> None:
    """Written by release 0.1.0; regenerate only by adding a file for a new format version."""
    expected = json.loads((GOLDEN / "expected-v1.json").read_text())
    detector = Detector.load(GOLDEN / "model-v1.ccm")
    rows = np.array(expected["rows"])
    np.testing.assert_allclose(detector.detect(rows).loss[3:], expected["loss"][3:], rtol=1e-5)
    stream = detector.stream(resume=(GOLDEN / "snapshot-v1.bin").read_bytes())
    assert stream.tally.rows == expected["resumed_at"]
    steps = [stream.update(row) for row in rows[expected["resumed_at"] :]]
    np.testing.assert_allclose([s.loss for s in steps], expected["loss"][expected["resumed_at"] :], rtol=1e-5)
    np.testing.assert_allclose([s.score for s in steps], expected["score"][expected["resumed_at"] :], rtol=1e-5)
