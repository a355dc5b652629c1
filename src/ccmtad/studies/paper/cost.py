"""What a batch of 512 windows costs: parameters, operations, time."""

import numpy as np

from ...network.clusters import Clusters
from ...network.shapes import Architecture
from ..claims import Comparison
from ..draw import Line, Panel
from ..extras import BATCH
from ..study import Figure, Found, Page, Study
from ..tables import by_case, printed
from ..trials import Trials
from ..variant import Variant

__all__ = ["cost", "operations", "parameters"]

BASE = Variant.of("seconds")
COUNTED, ALL, NUMBER = "GFLOPs", "GFLOPs, with the causal layers", "parameters"
TORCH, ENGINE = "ms", "ms, by the engine that detects"
CASES = (COUNTED, ALL, NUMBER, TORCH, ENGINE)
NEAR = (0.9, 1.1)


class Cost(Study):
    """Counted from the architecture; only time is measured."""

    name = "cost"
    title = "What a batch costs"
    claim = (
        "The network needs fewer operations than SensitiveHUE on every set, and fewer parameters on all but MSL and "
        "SMD; it takes longer, but milliseconds."
    )
    how = (
        f"A batch is {BATCH} windows. Operations are two for each product and sum of the linear layers at every row "
        "of a window, as the paper's counter has it; that one leaves out the two causal layers, which are counted "
        "beside. Means over entities; time is that of the first entity, by torch on the machine that trained, and "
        "by the numpy engine that detectors use. SensitiveHUE is as printed. What is counted has no spread."
    )
    order = 14
    whole = True

    def variants(self) -> tuple[Variant, ...]:
        return (BASE,)

    def judged(self, trials: Trials, dataset: str, entities: list[str]) -> Found:
        kept = [trials.kept(dataset, entity, BASE) for entity in entities]
        shapes = [Architecture.of(one.full_settings, Clusters(one.label)) for one in kept]
        found: dict[str, float] = {
            COUNTED: float(np.mean([operations(shape, causal=False) for shape in shapes])) / 1e9,
            ALL: float(np.mean([operations(shape) for shape in shapes])) / 1e9,
            NUMBER: float(np.mean([parameters(shape) for shape in shapes])),
        }
        timed = [one.extras["seconds"] for one in kept if "seconds" in one.extras]
        if timed:
            found |= {TORCH: 1e3 * float(timed[0][0]), ENGINE: 1e3 * float(timed[0][1])}
        figures = tuple(
            Figure(self.name, dataset, case, len(entities), {"value": value}) for case, value in found.items()
        )
        return Found(figures, tuple(_beside(dataset, found)))

    def page(self, found: Found) -> Page:
        def paper(table: str) -> dict[str, dict[str, float]]:
            return {dataset: dict(values) for dataset, values in printed(table).items()}

        sections = (
            by_case("Here, and CCM-TAD as printed", found, "value", CASES, paper("cost"), digits=2),
            by_case("SensitiveHUE (online) as printed", Found(), "value", CASES, paper("cost_sensitive_hue"), digits=2),
        )
        lines = tuple(
            Line(case, range(len(found.datasets)), [found.of(d)[case].values["value"] for d in found.datasets], "bars")
            for case in (COUNTED, ALL)
        )
        panels = (Panel("Operations of a batch", "", "GFLOPs", lines, names=tuple(found.datasets)),)
        return Page(sections, panels if found.datasets else ())


def operations(shape: Architecture, batch: int = BATCH, *, causal: bool = True) -> int:
    """Of the linear layers, at every row of every window; norms and activations are not counted."""
    width, rows = shape.width, batch * shape.window
    each = sum(len(members) * d for members, d in zip(shape.members, shape.widths, strict=True))
    if shape.embedding_mixer:
        each += shape.mixers * 2 * width * width * shape.expansion
    each += width * shape.channels
    along_time = 0
    if causal and shape.temporal_mixer != "none":
        along_time = shape.mixers * 2 * shape.window * width  # for each row of the window, every other one
    return 2 * rows * (each + along_time)


def parameters(shape: Architecture) -> int:
    """Those that are trained."""
    return sum(int(np.prod(size)) for name, size in shape.shapes.items() if ".running" not in name)


def _beside(dataset: str, found: dict[str, float]) -> list[Comparison]:
    if dataset not in printed("cost"):
        return []
    theirs, rival = printed("cost")[dataset], printed("cost_sensitive_hue")[dataset]
    fewer = (0.0, None) if dataset not in {"MSL", "SMD"} else (None, 0.0)
    tests = (
        ("GFLOPs of SensitiveHUE less ours, with the causal layers", rival["GFLOPs"] - found[ALL], (0.0, None)),
        ("thousand parameters of SensitiveHUE less ours", (rival[NUMBER] - found[NUMBER]) / 1e3, fewer),
        ("GFLOPs here over those printed", found[COUNTED] / theirs["GFLOPs"], NEAR),
        ("parameters here over those printed", found[NUMBER] / theirs[NUMBER], NEAR),
    )
    return [Comparison(dataset, words, "measured", value, value, value, claimed) for words, value, claimed in tests]


cost = Cost()
