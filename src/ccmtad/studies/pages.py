"""Figures to files and back, and the pages made of them."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..bench.render import Section, markdown
from ..errors import FileError
from . import known
from .claims import Comparison, sentence, span
from .draw import svg
from .study import Figure, Found, Study

__all__ = ["FIGURES", "read", "save", "written"]

FIGURES = "figures.jsonl.gz"  # beside the pages


def save(found: Mapping[str, Found], folder: Path) -> None:
    """The figures of these studies, beside what is there of others; and every page."""
    folder.mkdir(parents=True, exist_ok=True)
    everything = {**read(folder), **found}
    lines = [line for name in known() if name in everything for line in _lines(name, everything[name])]
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    (folder / FIGURES).write_bytes(gzip.compress(text.encode(), mtime=0))
    for name, page in written(folder).items():
        (folder / name).write_text(page, encoding="utf-8")


def read(folder: Path) -> dict[str, Found]:
    """What is there, by study."""
    path = folder / FIGURES
    if not path.exists():
        return {}
    try:
        lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
        found: dict[str, Found] = {}
        for line in lines:
            before = found.get(line["study"], Found())
            if "case" in line:
                figure = Figure(**line)
                found[line["study"]] = Found((*before.figures, figure), before.comparisons)
            else:
                given = {**line, "claimed": tuple(line["claimed"])}
                del given["study"]
                found[line["study"]] = Found(before.figures, (*before.comparisons, Comparison(**given)))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"figures file must hold one JSON record a line; {str(path)!r} does not: {error}") from error
    return found


def _lines(study: str, found: Found) -> list[dict[str, Any]]:
    return [asdict(one) for one in found.figures] + [{"study": study, **asdict(one)} for one in found.comparisons]


def written(folder: Path) -> dict[str, str]:
    """Every file made of the figures there, by name: a page for each study, its picture, and the list of all."""
    found = read(folder)
    made: dict[str, str] = {}
    for name, study in known().items():
        here = found.get(name, Found())
        page = study.page(here)
        if page.panels and here.figures:
            made[f"{name}.svg"] = svg(page.panels, page.columns)
        picture = f"\n\n![{study.title}]({name}.svg)" if f"{name}.svg" in made else ""
        lead = f"**The paper's claim.** {study.claim}\n\n**Found here.** {sentence(here.comparisons)}{picture}"
        tables = [section for section in page.sections if len(section.header) != 1]  # one column is no figures
        sections = [Section(1, study.title, lead), _how(study, here), *tables, *_compared(here)]
        made[f"{name}.md"] = markdown(sections)
    made["index.md"] = markdown([_index(found)])
    return made


def _compared(found: Found) -> list[Section]:
    if not found.comparisons:
        return []
    by = {"authors": "authors' evaluation", "label-free": "label-free", "measured": "measured"}
    rows = tuple(
        (
            one.words,
            one.dataset,
            by[one.by],
            f"{one.value:.3f}",
            span(one.low, one.high),
            span(*one.claimed),
            one.verdict,
        )
        for one in found.comparisons
    )
    text = (
        "Each difference with its 90 % interval over resampled entities (over seeds, where there are fewer than "
        "five; where it is another, that is said above). The claim holds where the whole interval lies in what is "
        "claimed, and does not where none of it does."
    )
    return [
        Section(2, "What the claim was tested by", text, ("", "dataset", "by", "value", "90 %", "claimed", ""), rows)
    ]


def _how(study: Study, found: Found) -> Section:
    taken = ", ".join(
        f"{max(figure.entities for figure in found.of(dataset).values())} of {dataset}" for dataset in found.datasets
    )
    entities = f"\n\nEntities: {taken}." if taken else ""
    return Section(2, "How", f"{study.how}{entities}\n\nAgain: `ccmtad study {study.name}`.")


def _index(found: Mapping[str, Found]) -> Section:
    rows = tuple(
        (f"[{study.title}]({name}.md)", study.claim, sentence(found.get(name, Found()).comparisons))
        for name, study in known().items()
    )
    text = (
        "Every study of the paper, run again on the data at hand. The base is the authors' settings for each entity "
        "(the paper preset for the simulated plant); F1 is of protocol 3. **By the authors' evaluation** epoch, "
        "alpha and threshold are chosen on the test labels, as their code does; **label-free** takes the epoch of "
        "the lowest validation loss and the threshold of the budget. Each verdict is computed from the figures, "
        "which lie beside these pages."
    )
    return Section(1, "The paper's studies", text, ("study", "the paper's claim", "found here"), rows)
