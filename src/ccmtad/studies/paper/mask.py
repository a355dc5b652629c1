"""The causal mask: each position divided by its number, or not."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..cases import Cases
from ..claims import MORE, Comparison, compared
from ..draw import Line, Panel
from ..judging import mean_of
from ..study import Found, Page
from ..tables import by_case
from ..trials import Trials
from ..variant import BASE, Variant

__all__ = ["mask"]

SCALED, UNIT = "1/j", "unit"
CASES = {SCALED: BASE, UNIT: Variant.of(causal_mask="unit")}
SIMILAR = (-0.2, 0.2)  # of the logarithm of the last training losses' ratio


class Mask(Cases):
    """How training goes with each."""

    name = "mask"
    title = "The 1/j of the causal mask"
    claim = "Training losses converge alike with 1/j and without, but without it the validation loss swings more."
    how = (
        "A swing is a rise of the validation loss from one epoch to the next, as a logarithm; a training's swings "
        "are summed. A last training loss within a fifth of the other counts as alike. The picture has the median "
        "over entities, in units of each entity's lowest validation loss with 1/j."
    )
    order = 10
    cases = CASES

    def further(self, trials: Trials, dataset: str, entities: Sequence[str]) -> Sequence[Comparison]:
        history = {
            case: [trials.kept(dataset, entity, variant).history for entity in entities]
            for case, variant in self.cases.items()
        }
        swings = {case: np.array([_swings(one[:, 1]) for one in each]) for case, each in history.items()}
        last = {case: np.array([one[-1, 0] for one in each]) for case, each in history.items()}
        return (
            compared(
                dataset, "swings of the validation loss, unit less 1/j", "measured",
                mean_of(swings[UNIT] - swings[SCALED]), len(entities), MORE,
            ),
            compared(
                dataset, "logarithm of the last training loss, unit over 1/j", "measured",
                mean_of(np.log(last[UNIT] / last[SCALED])), len(entities), SIMILAR,
            ),
        )  # fmt: skip

    def _curves(self, trials: Trials, dataset: str, entities: Sequence[str], case: str) -> dict[str, list[float]]:
        units = [float(trials.kept(dataset, entity).history[:, 1].min()) for entity in entities]
        over = [trials.kept(dataset, entity, self.cases[case]).history for entity in entities]
        middle = np.median([one[:, :2] / unit for one, unit in zip(over, units, strict=True)], axis=0)
        return {
            "training": middle[:, 0].tolist(),
            "validation": middle[:, 1].tolist(),
            "swings": [float(np.mean([_swings(one[:, 1]) for one in over]))],
        }

    def page(self, found: Found) -> Page:
        panels = tuple(
            Panel(
                dataset, "epoch", "loss",
                tuple(
                    Line(f"{part}, {case}", range(1, len(of.curves[part]) + 1), of.curves[part])
                    for part in ("training", "validation")
                    for case, of in found.of(dataset).items()
                ),
                log_y=True,
            )
            for dataset in found.datasets
        )  # fmt: skip
        return Page((*self.f1_tables(found), by_case("Swings", _swung(found), "swings", (SCALED, UNIT))), panels)


def _swings(losses: NDArray[np.float64]) -> float:
    return float(np.maximum(np.diff(np.log(np.maximum(losses, 1e-300))), 0.0).sum())


def _swung(found: Found) -> Found:
    return Found(tuple(replace(one, values={"swings": one.curves["swings"][0]}) for one in found.figures))


mask = Mask()
