"""`ccmtad tune`: search for settings."""

import hashlib
import json as jsons
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ..settings import Settings
from ..tables import Reading
from . import show
from .options import Address, Json, On, Quiet, check_out, reads

if TYPE_CHECKING:
    from ..tune import Found
    from ..tune.objective import Worth

__all__ = ["tune"]


@reads
def tune(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...", help="Files of normal operation: one, or some of a fleet.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="TOML file of settings to write.", show_default=False)],
    trials: Annotated[int, typer.Option(min=1, help="Settings to try, in all.")] = 50,
    tried: Annotated[
        list[str] | None,
        typer.Option("--try", help="NAME=A,B,.. or NAME=LOW..HIGH instead of the paper's ranges; repeatable."),
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Acceptable false alarms: '1/10000 rows', '1/week'.")] = None,
    preset: Annotated[str | None, typer.Option(help="Settings to start from: default, or paper.")] = None,
    settings: Annotated[Path | None, typer.Option(help="TOML file of settings.", show_default=False)] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE that is not searched; repeatable, over the file's.")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(help="Journal file or postgresql://HOST/NAME, to share the study and to go on after a stop."),
    ] = None,
    study: Annotated[str, typer.Option(help="Name of the study in there.")] = "ccmtad",
    on: On = "joblib",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Trials at a time: 1 if absent, and with ray one for each core.")
    ] = None,
    address: Address = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of everything random.")] = None,
    oracle: Annotated[
        bool, typer.Option("--oracle", help="The paper's way: the best F1 on the labels of --test. No fair comparison.")
    ] = False,
    test: Annotated[Path | None, typer.Option(help="With --oracle: file with labels.", show_default=False)] = None,
    label: Annotated[str | None, typer.Option(help="With --oracle: label column of --test, 0 and 1.")] = None,
    *,
    how: Reading,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Search for settings that find most injected faults in held-back normal rows, within the budget of false events.

    Example: `ccmtad tune normal.csv -o best.toml --trials 30`, then `ccmtad fit normal.csv --settings best.toml ..`
    """
    from .. import suited
    from ..bench.flags import crew_of
    from ..tune import PAPER, Objective, space
    from ..tune import tune as search

    show.notes(quiet)
    given = {"budget": budget, "preset": preset, "seed": seed}
    table: dict[str, Any] = {} if settings is None else Settings.table(settings)
    fixed = {**table, **Settings.read(setting or ()), **{n: v for n, v in given.items() if v is not None}}
    ranges = space.read(tried) if tried else PAPER
    Settings.of(**fixed)
    check_out("out", out, *data)
    crew = crew_of({"on": on, "workers": workers, "address": address})
    objective: Worth
    if oracle:
        objective = _oracle(data, test, label, how)
    elif test is not None or label is not None:
        raise InputError("test and label must come with oracle: nothing else sees a label; got one of them without it")
    else:
        objective = Objective([suited.for_a_fit(path, how).frame for path in data], Settings.of(**fixed).seed)
    show.notes(quiet=True)  # every trial would repeat what one fit says

    def tell(done: int, planned: int, value: float | None, best: float) -> None:
        if not quiet and not json:
            told = "given up" if value is None else f"{value:.3f}"
            show.err.print(f"[dim]{done:>{len(str(planned))}}/{planned}[/] {told}, best {best:.3f}", soft_wrap=True)

    read = [*data, *([test] if test is not None else [])]
    found = search(
        objective, trials=trials, fixed=fixed, space=ranges, storage=storage, study=study,
        seed=Settings.of(**fixed).seed, identity=_identity(read), crew=crew, progress=tell,
    )  # fmt: skip
    from ..files import write

    write(_toml(found).encode(), out)
    if json:
        show.as_json({"out": str(out), **vars(found), "better": found.better})
    elif not quiet:
        _print(found, out)


def _oracle(data: list[Path], test: Path | None, label: str | None, how: Reading) -> "Worth":
    from ..bench.datasets import Pair
    from ..tune import Oracle

    if test is None or label is None:
        raise InputError("oracle must come with test and label, a file and the column of its labels; got it without")
    if len(data) != 1:
        raise InputError(f"data must be one file where the search is an oracle's; got {len(data)}")
    pair = Pair(data[0], test, label, how)
    return Oracle(pair.read(pair.name))


def _identity(paths: list[Path]) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in paths)).hexdigest()


def _toml(found: "Found") -> str:
    """Settings as `fit --settings` takes them."""
    lines = [f"# {found.objective}: {found.value:.4f}, and {found.base:.4f} without what was tried"]
    lines += [f"{name} = {jsons.dumps(value)}" for name, value in found.settings.items() if value is not None]
    return "\n".join(lines) + "\n"


def _print(found: "Found", out: Path) -> None:
    pruned = f", {found.pruned:,} of them given up" * bool(found.pruned)
    show.out.print(f"{found.trials:,} settings tried{pruned}; measured by {found.objective}.")
    table = show.plain_table("", "value", "found", "false events", right=("value", "found", "false events"))
    rows = [("what was given alone", found.base, found.base_details)]
    if found.better:
        rows.append(("best", found.value, found.details))
    for name, value, details in rows:
        told = ("", "")
        if "faults" in details:
            told = (
                f"{details['found']:,} of {details['faults']:,}",
                f"{details['false']:,} ({details['allowed']:.2g} allowed)",
            )
        table.add_row(name, f"{value:.3f}", *told)
    show.out.print(table)
    if found.better:
        shown = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in found.tried.items()}
        chosen = ", ".join(f"{name} {value}" for name, value in shown.items())
        show.out.print(f"Best: {show.safe(chosen)}.", soft_wrap=True)
    else:
        show.out.print("Nothing that was tried is better than what was given alone: that is what was written.")
    show.out.print(f"Wrote {show.safe(out)}.", soft_wrap=True)
