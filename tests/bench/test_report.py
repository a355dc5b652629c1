"""The tables say what the records say, with the paper's numbers beside them."""

import re
from typing import Any

import pytest

from ccmtad.bench.published import tables
from ccmtad.bench.report import Section, markdown, page, sections
from ccmtad.bench.summary import Figure, groups

AUTHORS = {"authors_pr_auc": 0.7, "authors_vus_pr": 0.1, "authors_range_f1": 0.5, "authors_affiliation_f1": 0.6}


def column(**values: Any) -> dict[str, Any]:
    plain = {"rows": 100, "predicted": 10, "correct": 5, "positives": 20, "events": 2, "found": 1, "false": 3}
    return plain | {"delays": [4], "range_f1": 0.5, "affiliation_f1": 0.6, "pr_auc": 0.7, "vus_pr": 0.1} | values


def record(
    entity: str,
    method: str,
    seed: int = 0,
    dataset: str = "MSL",
    combined: bool = False,
    rows: int = 40_000,
    **change: Any,
) -> dict[str, Any]:
    """`rows` to train on: two such entities are all of MSL, and not all of SMD."""
    return {
        "dataset": dataset,
        "entity": entity,
        "seed": seed,
        "method": method,
        "columns": {
            "online": column(),
            "corrected": column(**change),
            "oracle": column(),
            "oracle, authors": column(**AUTHORS),
        },
        "train_rows": rows,
        "settings": {"budget": "1/10000 rows"},
        "online": True,
        "versions": {"ccmtad": "0"},
        "seconds": {"method": 2.0, "judging": 1.0},
        "plan": {"preset": "authors", "settings": {}, "combined": combined, "every_epoch": False, "version": "0"},
    }


def records(dataset: str = "MSL") -> list[dict[str, Any]]:
    return [
        record("a", "ccmtad", 0, dataset, correct=10),
        record("b", "ccmtad", 0, dataset, correct=5),
        record("a", "ccmtad", 1, dataset, correct=8),
        record("b", "ccmtad", 1, dataset, correct=5),
        record("a", "pca", 0, dataset, correct=6),
        record("b", "pca", 0, dataset, correct=5),
    ]


def test_protocols_by_hand() -> None:
    (group,) = groups(records())
    found = group.figure("ccmtad", "corrected", "F1, protocol 2")
    assert found is not None
    assert found.mean == pytest.approx(((2 / 3 + 1 / 3) / 2 + (16 / 30 + 1 / 3) / 2) / 2)
    assert found.spread == pytest.approx(abs((20 - 16) / 30) / 2 / 2**0.5)
    pooled = group.figure("ccmtad", "corrected", "F1, protocol 3")
    assert pooled is not None
    assert pooled.mean == pytest.approx((30 / 60 + 26 / 60) / 2)
    for name, value in (("event recall", 0.5), ("false events per 10,000 rows", 300.0), ("median delay", 4.0)):
        figure = group.figure("ccmtad", "corrected", name)
        assert figure is not None
        assert figure.mean == pytest.approx(value)


def test_the_paired_difference_is_taken_entity_by_entity() -> None:
    (group,) = groups(records())
    paired = group.paired("ccmtad", "pca", "corrected", "F1, protocol 2")
    assert paired is not None
    assert paired.difference.mean == pytest.approx(((20 - 12) / 30 + (16 - 12) / 30) / 2 / 2)
    assert paired.low <= paired.difference.mean <= paired.high
    assert (paired.better, paired.worse) == (1, 0)
    assert group.paired("ccmtad", "norm", "corrected", "F1, protocol 2") is None


def table(parts: list[Section], title: str) -> Section:
    (found,) = (part for part in parts if part.title == title)
    return found


def test_one_entity_has_no_interval_over_entities() -> None:
    title = "ccmtad minus PCA error, paired"
    found = table(sections([record("PSM", "ccmtad", dataset="PSM"), record("PSM", "pca", dataset="PSM")]), title)
    assert found.header == ("column", "difference ± over seeds")
    assert found.rows[0] == ("online", "0.000")
    assert table(sections(records()), title).rows[0][::3] == ("online, F1, protocol 2", "0 / 0")


def test_published_numbers_stand_beside_ours() -> None:
    parts = sections(records())
    found = table(parts, "Beside the paper")
    assert found.header == ("", "best F1, protocol 2", "best F1, protocol 3", "PR-AUC", "VUS-PR", "VUS-ROC")
    assert found.rows == (
        ("CCM-TAD, as printed", "0.613", "0.638", "0.610", "0.581", "0.777"),
        ("CCM-TAD, mean of five seeds", "", "0.633 ± 0.023", "0.592 ± 0.024", "0.564 ± 0.024", "0.782 ± 0.015"),
        ("**this library, oracle, authors**", "0.333 ± 0.000", "0.333 ± 0.000", "0.700 ± 0.000", "0.100 ± 0.000", ""),
    )
    assert "Ours is the oracle, authors column, with the authors' settings." in found.text
    assert "no range F1 and no affiliation F1 here" in found.text
    assert "Not online" not in markdown(parts)


def test_noise_stands_there_too() -> None:
    found = table(sections([*records(), record("a", "random"), record("b", "random")]), "Beside the paper")
    assert found.rows[-1][:2] == ("random score, oracle, authors", "0.333")


def test_one_model_over_all_entities_is_set_beside_protocol_1() -> None:
    parts = sections([record("all", "ccmtad", combined=True, rows=58_317)])
    found = table(parts, "Beside the paper")
    assert found.header[1:] == ("best F1, protocol 1", "PR-AUC", "VUS-PR", "VUS-ROC", "range F1", "affiliation F1")
    assert found.rows[0][1:] == ("0.370", "0.283", "0.249", "0.660", "0.292", "0.756")
    assert found.rows[1] == ("**this library, oracle, authors**", "0.333", "0.700", "0.100", "", "0.500", "0.600")
    name = "**this library, the authors' settings, oracle, authors**"
    assert table(parts, "Range F1").rows[2] == (name, "1", "", "", "", "0.500", "", "")


def test_one_entity_has_no_protocol() -> None:
    parts = sections([record("PSM", "ccmtad", dataset="PSM")])
    found = table(parts, "Beside the paper")
    assert found.header[1:] == ("best F1", "PR-AUC", "VUS-PR", "VUS-ROC", "range F1", "affiliation F1")
    assert found.rows[0][1:] == ("0.716", "0.558", "0.485", "0.545", "0.428", "0.694")
    assert found.rows[1][1:3] == ("0.688 ± 0.022", "0.558 ± 0.023")
    name = "**this library, the authors' settings, oracle, authors**"
    assert table(parts, "Affiliation F1").rows[-1] == (name, "", "", "0.600", "", "", "", "")
    assert (name, "PR-AUC", "", "0.700", "", "", "", "") in table(parts, "Mean of five seeds").rows


def test_other_figures_of_the_same_name_are_not_set_beside_theirs() -> None:
    made = records()
    for one in made:
        del one["columns"]["oracle, authors"]
    found = table(sections(made), "Beside the paper")
    assert found.rows[0][1:] == ("0.613", "0.638", "0.610", "0.581", "0.777")
    assert found.rows[-1] == ("**this library, oracle**", "0.333 ± 0.000", "0.333 ± 0.000", "", "", "")
    assert "(the epoch not chosen), with the authors' settings." in found.text


def test_every_number_of_the_paper_is_printed() -> None:
    parts = sections(records())
    cells = [cell for part in parts[-7:] for row in part.rows for cell in row[2:] if cell and "this lib" not in row[0]]
    wanted = [
        f"{row['mean']:.3f} ± {row['spread']:.3f}" if name == "robustness" else f"{value:.3f}"
        for name, rows in tables().items()
        for row in rows
        for key, value in row.items()
        if key in {"WADI", "PSM", "SWaT", "MSL", "SMD", "SMAP", "mean"}
    ]
    assert sorted(cells) == sorted(wanted)
    assert ("NPSR", "2", "0.642", "0.648", "0.839", "0.551", "0.535", "0.505") in table(parts, "Best F1").rows
    assert "no results here for WADI, PSM, SWaT, SMD, SMAP." in table(parts, "The paper's tables of results").text


def test_data_that_the_paper_has_not_brings_none_of_its_numbers() -> None:
    assert "paper" not in markdown(sections(records("pump")))


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (records("SMD"), "2 of the 28 entities published"),
        ([record("all", "ccmtad", 0, "SMD", True, 289_126)], "289,126 of the 708,405 training rows published"),
        ([record("M-6", "ccmtad")], "1 of the 27 entities published"),
    ],
    ids=["machines", "one model over some machines", "one entity chosen"],
)
def test_part_of_a_dataset_is_not_set_beside_the_whole(given: list[dict[str, Any]], part: str) -> None:
    parts = sections(given)
    assert f"**{part}**, " in markdown(parts)
    assert table(parts, "Beside the paper").rows == ()
    assert f"Not the same data: this is {part}." in table(parts, "Beside the paper").text
    assert f"Ours for {given[0]['dataset']} cover only part" in table(parts, "The paper's tables of results").text
    assert "this library" not in markdown(parts)


def test_one_model_over_all_machines_is_set_beside_the_paper() -> None:
    parts = sections([record("all", "ccmtad", 0, "SMD", True, 708_405)])
    assert table(parts, "Beside the paper").rows[0][1] == "0.300"
    assert "cover only part" not in markdown(parts)


def late(entity: str, method: str, seed: int, delays: list[float | None]) -> dict[str, Any]:
    found = record(entity, method, seed)
    found["columns"]["online"] |= {"delay_at": delays}
    return found


def test_delays_are_given_for_each_false_alarm_period() -> None:
    parts = sections(
        [
            late("a", "ccmtad", 0, [1.0, 3.0, 5.0, 7.0, None]),
            late("b", "ccmtad", 0, [2.0, 3.0, 6.0, None, None]),
            late("a", "ccmtad", 1, [3.0, 3.0, 7.0, 9.0, None]),
            late("b", "ccmtad", 1, [4.0, 3.0, 8.0, None, None]),
            late("a", "pca", 0, [0.0, 1.0, 1.0, 2.0, None]),
            late("b", "pca", 0, [0.5, 1.0, 2.0, None, None]),
        ]
    )
    found = table(parts, "Mean delay by false-alarm period (online score)")
    assert found.header == ("method", "100 rows", "300 rows", "1,000 rows", "3,000 rows (1 of 2 entities)")
    assert found.rows == (
        ("ccmtad", "2.5 ± 1.4", "3.0 ± 0.0", "6.5 ± 1.4", "8.0 ± 1.4"),
        ("PCA error", "0.2", "1.0", "1.5", "2.0"),
    )
    assert "lower is better. No entity has normal rows enough for longer periods." in found.text


def test_the_point_adjusted_table_comes_only_when_asked_for_and_says_it_misleads() -> None:
    assert "oint-adjusted" not in markdown(sections(records()))
    asked = [record("a", "ccmtad", point_adjusted_f1=0.9)]
    assert "Point-adjusted F1: misleading" in markdown(sections(asked))


def test_the_page_is_self_contained() -> None:
    text = page(sections(records()))
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", text)
    assert "{{" not in text
    assert "<b>online</b>" in text


def test_the_page_shows_bold_words_wherever_they_stand_and_paragraphs_apart() -> None:
    text = page(sections(records()))
    assert "<td><b>this library, oracle, authors</b></td>" in text
    assert "**" not in text
    assert text.count("<p>Columns that") == 2
    cell = Section(1, "a", "", ("**x** & y",), (("1 < **2** ** 3",),))
    assert "<th><b>x</b> &amp; y</th>" in page([cell])
    assert "<td>1 &lt; <b>2</b> ** 3</td>" in page([cell])


def test_figures_say_their_spread_only_when_there_is_one() -> None:
    assert Figure(0.1234, None).text() == "0.123"
    assert Figure(0.1234, 0.05).text(1) == "0.1 ± 0.1"
    assert Figure(float("nan"), None).text() == ""


def test_every_table_of_the_paper_is_there() -> None:
    assert {name: len(rows) for name, rows in tables().items()} == {
        "best_f1": 30, "pr_auc": 15, "vus_pr": 11, "vus_roc": 11, "range_f1": 4, "affiliation_f1": 4, "robustness": 48,
        "datasets": 6,
    }  # fmt: skip
    assert {row["method"] for row in tables()["best_f1"]} >= {"NPSR", "CATCH", "SensitiveHUE (online)", "CAROTS+"}


def test_a_method_that_looks_ahead_says_so_in_every_table() -> None:
    shorter = record("a", "timesnet-published")
    shorter["columns"]["online"] = column(rows=24)
    parts = sections([*records(), shorter])
    shown = [row for part in parts for row in part.rows if row[0].startswith("TimesNet, published")]
    assert len(shown) > 3
    assert all(row[0] == "TimesNet, published (looks ahead)" for row in shown)
    (facts,) = (part.text for part in parts if "rows judged" in part.text)
    assert "200 rows judged" in facts  # by those that judge most
    assert "**TimesNet, published (looks ahead)**: takes its periods from the mean over a batch" in facts
    assert "looks ahead" not in markdown(sections(records()))


def test_a_method_that_ran_with_fewer_seeds_than_others_is_named() -> None:
    more = [record(entity, "uae", 0) for entity in "ab"]
    assert "Fewer seeds: UAE 1." in markdown(sections(records() + more))
    assert "Fewer seeds" not in markdown(sections(records()))  # PCA does not depend on it


def test_the_seconds_of_a_run_stand_beside_what_it_found() -> None:
    table = markdown(sections(records()))
    assert re.search(r"seconds to fit and judge an entity \|\n.*\n\| ccmtad \|.*\| 2\.0 \|", table)
