"""The pages on the paper's claims and on the data say what the figures say, and no more."""

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from ccmtad.bench import published
from ccmtad.bench.render import Section
from ccmtad.bench.run import authors_table
from ccmtad.bench.statistics import Facts, read
from ccmtad.studies import known
from ccmtad.studies.claims import Comparison
from ccmtad.studies.evidence import judged, reproduced, scored, superior
from ccmtad.studies.floors import alphas, at_the_floor, data_page
from ccmtad.studies.overview import CLAIMS, claims_page
from ccmtad.studies.study import Found

DATA = Path(__file__).parents[2] / "docs" / "data.jsonl"
ENTITIES = tuple(f"e{i}" for i in range(27))


def record(
    entity: str, seed: int, correct: dict[str, int], method: str = "ccmtad", rows: int = 3_000, alpha: float = 0.5
) -> dict[str, Any]:
    """100 anomalous rows and 100 predicted, of which so many are right: F1 is that share. 27 such are all of MSL."""
    columns: dict[str, dict[str, float]] = {
        name: {"rows": 1_000, "predicted": 100, "positives": 100, "correct": n} for name, n in correct.items()
    }
    columns["oracle, authors"] |= {"authors_pr_auc": 0.6, "alpha": alpha}
    return {
        "dataset": "MSL", "entity": entity, "seed": seed, "method": method, "columns": columns, "train_rows": rows,
        "online": True, "plan": {"preset": "authors", "settings": {}, "combined": False},
    }  # fmt: skip


def records(authors: Sequence[int] = (64, 65, 63), point: int = 50, **more: Any) -> list[dict[str, Any]]:
    return [
        record(entity, seed, {
            "oracle, authors": right, "oracle, authors, uncorrected": 60, "oracle, authors, point": point,
            "corrected": 20,
        }, **more)
        for entity in ENTITIES
        for seed, right in enumerate(authors)
    ]  # fmt: skip


def section(parts: Sequence[Section], title: str) -> Section:
    (found,) = (part for part in parts if part.title == title)
    return found


def verdicts(parts: Sequence[Section]) -> dict[str, str]:
    return {row[0]: row[2] for row in section(parts, "Claim by claim").rows}


def test_a_claim_without_figures_says_so() -> None:
    told = verdicts(claims_page([], {}))
    assert set(told) == {claim.words for claim in CLAIMS}
    silent = {words for words, said in told.items() if said == "This has not been measured yet."}
    assert silent == set(told) - {"It operates online"}  # which the settings tell
    assert "5 are not" in told["It operates online"]


def test_every_study_is_there() -> None:
    parts = claims_page([], {})
    links = [cell for row in section(parts, "Claim by claim").rows for cell in row if "studies/" in cell]
    links += [row[0] for row in section(parts, "The other studies").rows]
    assert {link.partition("studies/")[2].removesuffix(".md)") for link in links} == set(known())


def test_a_printed_figure_is_reproduced_within_the_spread_or_not() -> None:
    near = {line.compared.words: line for line in reproduced(judged(records()))}
    assert (near["best F1, protocol 3"].paper, near["best F1, protocol 3"].ours) == ("0.638", "0.640 ± 0.010")
    assert near["best F1, protocol 3"].compared.verdict == "held"
    far = {line.compared.words: line.compared.verdict for line in reproduced(judged(records((40, 41, 39))))}
    assert far["best F1, protocol 3"] == "did not hold"
    wide = {line.compared.words: line.compared.verdict for line in reproduced(judged(records((50, 64, 78))))}
    assert wide["best F1, protocol 3"] == "cannot be told within the spread"
    alone = {line.compared.words: line.compared for line in reproduced(judged(records((64,))))}
    assert (alone["best F1, protocol 3"].low, alone["best F1, protocol 3"].high) == (None, None)


def test_the_best_printed_rival_of_the_protocol_is_the_one_to_beat() -> None:
    found = {line.compared.words: line.compared.verdict for line in superior(judged(records()))}
    assert found["best F1, ours less NPSR, protocol 2"] == "held"
    worse = {line.compared.words: line.compared.verdict for line in superior(judged(records((44, 45, 43))))}
    assert worse["best F1, ours less SensitiveHUE (offline), protocol 3"] == "cannot be told within the spread"
    assert worse["best F1, ours less NPSR, protocol 2"] == "did not hold"


def test_other_figures_give_another_verdict() -> None:
    claim = "Accumulating evidence and refining bounds improve detection"
    assert "The claim held (6 of 6" in verdicts(claims_page(records(), {}))[claim]
    assert "The claim held in part (2 of 6" in verdicts(claims_page(records(point=70), {}))[claim]
    first = next(scored(judged(records())))
    assert (first.paper, first.other, first.ours) == ("0.638 against 0.557", "0.500 ± 0.000", "0.640 ± 0.010")


def test_part_of_a_dataset_is_not_set_beside_the_whole() -> None:
    some = records(rows=100)
    assert list(reproduced(judged(some))) == list(superior(judged(some))) == []
    for line in scored(judged(some)):
        assert line.paper == ""
        assert line.compared.words.endswith("27 of the 27 entities published")


def test_other_settings_are_no_evidence() -> None:
    made = [one | {"plan": one["plan"] | {"settings": {"width": 8}}} for one in records()]
    assert judged(made) == []


def test_a_studys_figures_fill_its_claims() -> None:
    def of(words: str, value: float) -> Comparison:
        return Comparison("MSL", words, "authors", value, value - 0.01, value + 0.01)

    both = of("causal less plain mixer (10 - 8)", 0.1), of("with clusters less without (10 - 5)", -0.1)
    parts = claims_page([], {"modules": Found((), both)})
    told, mixing = verdicts(parts), section(parts, "Causal mixing helps to detect")
    assert "Printed: SWaT 0.883 against 0.871, PSM 0.716 against 0.652." in mixing.text
    assert [row[1:3] for row in mixing.rows] == [("causal less plain mixer (10 - 8)", "+0.100 (+0.090 to +0.110)")]
    assert told["Causal mixing helps to detect"].startswith("The claim held (1 of 1")
    assert told["Clusters help to detect"].startswith("The claim did not hold (0 of 1")


def test_printed_figures_at_the_floor_are_found() -> None:
    kept = {name: [one for one in read(DATA) if one.dataset == name] for name in ("MSL", "SMAP")}
    found = {(method, dataset): (value, least) for method, _, dataset, value, least in at_the_floor(kept)}
    assert {dataset for method, dataset in found if method == "Anomaly Transformer"} == set(published.DATASETS)
    assert found["CATCH", "SMAP"] == pytest.approx((0.061, 2 * 0.12826 / 1.12826), abs=1e-4)
    assert not {"CCM-TAD", "NPSR", "SimAD"} & {method for method, _ in found}
    made = {"MSL": [Facts("MSL", str(i), 55, 0, 10, 100, (60,)) for i in range(27)]}
    assert ("CCM-TAD", 2, "MSL", 0.613, 0.75) in [(*one[:4], round(one[4], 6)) for one in at_the_floor(made)]


def test_the_page_of_the_data_says_where_alphas_leave_the_bound() -> None:
    parts = data_page(read(DATA), records(alpha=0.5))
    bound = section(parts, "Alpha and the bound of Appendix A")
    by_name = {row[0]: row[1:] for row in bound.rows}
    assert by_name["MSL, the authors' choice"][:2] == ("13 of 27", "0.31")
    assert by_name["MSL, the authors' choice"][2].startswith("M-1, ")
    assert by_name["MSL, by the same search here, 3 seeds"][:2] == ("81 of 81", "0.31")
    assert "37 of the 110 alphas" in bound.text
    assert ("MSL, as printed", "27", "55", "", "58,317", "73,729", "10.48%", "", "") in parts[0].rows
    few = section(data_page(read(DATA), records(alpha=0.01)), bound.title)
    assert {row[0]: row[1] for row in few.rows}["MSL, by the same search here, 3 seeds"] == "0 of 81"


def test_every_entity_of_the_authors_settings_has_its_alpha() -> None:
    assert {name: set(of) for name, of in alphas().items()} == {
        name: set(authors_table()[name]) for name in ("MSL", "SMAP", "SMD")
    }
    text = files("ccmtad.bench").joinpath("authors_alphas.json").read_text(encoding="utf-8")
    assert "note" in json.loads(text)
