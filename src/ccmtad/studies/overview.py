"""What the paper claims, and what we found: claim by claim, from the benchmark's records and the studies' figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..bench.render import Section
from ..bench.summary import Group
from . import evidence, known
from .claims import Comparison, sentence, span
from .evidence import Line
from .study import Found
from .tables import printed

__all__ = ["CLAIMS", "Claim", "claims_page"]

RIVAL = "cost_sensitive_hue"
TEXT = """\
Each claim of the abstract, the introduction and the results, with the figures for and against it. The verdicts are \
computed from the figures, none is typed: a claim **held** where the whole 90 % interval of a difference lies in what \
is claimed, **did not hold** where none of it does, and cannot be told within the spread else; of several comparisons \
it held in part where some are as claimed and others are not. Intervals are over resampled entities, of our mean over \
seeds where it is set beside a printed figure. What has no figures yet says so.

By **the authors' evaluation** epoch, alpha and threshold are chosen on the test labels, as in the paper: an oracle. \
[The data and the floors](data.md) says what knowing nothing gets by it, [the benchmark](benchmark.md) what is left \
without labels, and [How it differs from the paper](paper.md) what was computed how."""


@dataclass(frozen=True)
class Claim:
    """One claim, and where its figures come from: records of the benchmark, or comparisons of a study."""

    words: str
    where: str  # in the paper
    lines: Callable[[Sequence[Group]], Iterator[Line]] | None = None
    note: str = ""
    study: str = ""
    only: str = ""  # of its comparisons, those that begin so


def claims_page(records: Sequence[dict[str, Any]], found: Mapping[str, Found]) -> list[Section]:
    """The whole page. A claim without figures says that it has not been measured."""
    every = evidence.judged(records)
    rows, details = [], []
    for claim in CLAIMS:
        if claim.lines is not None:
            lines, link = list(claim.lines(every)), "the benchmark"
        else:
            here = found.get(claim.study, Found()).comparisons
            lines = [_of_study(one) for one in here if one.words.startswith(claim.only)]
            link = f"[{known()[claim.study].title}](studies/{claim.study}.md)"
        rows.append((claim.words, claim.where, sentence([line.compared for line in lines]), link))
        details.append(_details(claim, lines))
    header = ("claim", "in the paper", "found here", "figures of")
    return [
        Section(1, "What the paper claims, and what we found", TEXT),
        Section(2, "Claim by claim", "", header, tuple(rows)),
        *details,
        _others(found),
    ]


def _of_study(one: Comparison) -> Line:
    by = {"authors": "", "label-free": ", label-free", "measured": ""}[one.by]
    return Line(replace(one, words=f"{one.words}{by}"))


def _details(claim: Claim, lines: Sequence[Line]) -> Section:
    if not lines:
        return Section(2, claim.words, f"{claim.note}\n\nThis has not been measured yet.")
    told = ("in the paper", "the other, here", "ours") if claim.lines is not None else ()  # else on the study's page
    rows = tuple(
        (
            one.dataset, one.words, *((line.paper, line.other, line.ours) if told else ()), _interval(one),
            span(*one.claimed), one.verdict,
        )
        for line in lines
        for one in (line.compared,)
    )  # fmt: skip
    return Section(2, claim.words, claim.note, ("", "compared", *told, "difference, 90 %", "claimed", ""), rows)


def _interval(one: Comparison) -> str:
    if one.low is None or one.high is None or one.low == one.high:
        return f"{one.value:+.3f}"
    return f"{one.value:+.3f} ({one.low:+.3f} to {one.high:+.3f})"


def _others(found: Mapping[str, Found]) -> Section:
    claimed = {claim.study for claim in CLAIMS}
    rows = tuple(
        (f"[{study.title}](studies/{name}.md)", study.claim, sentence(found.get(name, Found()).comparisons))
        for name, study in known().items()
        if name not in claimed
    )
    text = "What else the paper studies, each with a page of its own: [all of them](studies/index.md)."
    return Section(2, "The other studies", text, ("study", "claim", "found here"), rows)


def _printed(table: str, case: str, other: str = "", rivals: str = "") -> str:
    """What the paper prints of a case in one of its tables, against another case or that of another table."""
    told = []
    for dataset, of in printed(table).items():
        against = of.get(other) if other else printed(rivals)[dataset][case] if rivals else None
        told.append(f"{dataset} {of[case]:g}" + (f" against {against:g}" if against is not None else ""))
    return f"Printed: {', '.join(told)}."


CLAIMS = (
    Claim(
        "The printed figures are what the method gives",
        "tables of results",
        evidence.reproduced,
        "The authors' settings for each entity, their evaluation, our training; datasets that are here whole. Within "
        f"{evidence.SAME[1]:g} counts as the same.",
    ),
    Claim(
        "It outperforms existing methods",
        "abstract, results",
        evidence.superior,
        "The best rival that the paper prints for the protocol, as printed.",
    ),
    Claim(
        "It outperforms others where all are judged alike",
        "results",
        evidence.as_measured,
        "Methods that were run here. Each is given its best alpha and threshold on the test labels, and its best "
        "epoch where it has any; noise is given as many draws. The paper's figures stand there where it has both.",
    ),
    Claim(
        "A model for each entity does better than one over all",
        "results",
        evidence.one_for_each,
        "The other is one model over all entities.",
    ),
    Claim(
        "Accumulating evidence and refining bounds improve detection",
        "abstract, introduction: third contribution",
        evidence.scored,
        "The same trainings, scored in three ways, over all seeds of the benchmark; the other is the simpler way. The "
        "epoch is that of the best point F1, as in the authors' code, which suits the point score best. Alpha and "
        "threshold are those of each entity's best F1, which makes protocol 2 largest, and not the F1 of summed counts "
        "(protocol 3, as printed). PR-AUC, and what is found without labels, are in [the study](studies/scorer.md).",
    ),
    Claim(
        "It operates online",
        "abstract",
        evidence.online,
        "By the settings that the authors published: where they average, over 50 rows, it is centred. The network "
        "itself looks at no later row. That F1 is of labels whose bounds are corrected in hindsight is another matter: "
        "what it is without that stands above.",
    ),
    Claim(
        "It is suitable for real-time detection: no label is needed for what it gets",
        "abstract; only the first half in so many words",
        evidence.without_labels,
        "The threshold is that of a budget of one false alarm in 10,000 rows, the epoch that of the lowest validation "
        f"loss; the other is the authors' evaluation. {-evidence.NOT_WORSE[0]:g} less would count as the same.",
    ),
    Claim(
        "The causal mixer eliminates future leakage",
        "introduction: first contribution",
        note="Printed as a picture.",
        study="gradient",
    ),
    Claim(
        "Causal mixing helps to detect",
        "introduction: first contribution",
        note=f"The whole network against one with a plain temporal mixer. {_printed('modules', '10', '8')}",
        study="modules",
        only="causal",
    ),
    Claim(
        "Clusters help to detect",
        "introduction: second contribution",
        note=f"The whole network against one without clusters. {_printed('modules', '10', '5')}",
        study="modules",
        only="with clusters",
    ),
    Claim(
        "Clusters mitigate spurious correlations",
        "abstract, introduction: second contribution",
        note=f"Less of it, in per cent. {_printed('spurious', 'less, %')}",
        study="spurious",
    ),
    Claim(
        "Clusters set anomalous rows further apart",
        "introduction: second contribution",
        note=f"The nearest-neighbour separation. {_printed('separation', 'with clusters', 'without clusters')}",
        study="separation",
    ),
    Claim(
        "Detection is early",
        "abstract, appendix",
        note="Printed as a picture, of WADI and against SensitiveHUE (online).",
        study="delay",
    ),
    Claim(
        "It costs little",
        "appendix",
        note=f"GFLOPs of a batch, against SensitiveHUE (online). {_printed('cost', 'GFLOPs', rivals=RIVAL)}",
        study="cost",
    ),
    Claim(
        "It is robust to the seed",
        "appendix",
        note="Printed with its spread over five seeds: at the end of [the benchmark](benchmark.md).",
        study="seeds",
    ),
)
