"""`ccmtad backtest`: the events of a file at several budgets, to choose one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ..settings import Budget as Allowance
from ..tables import Reading
from ..wording import moment
from . import show
from .detect import told
from .options import AllowMissing, Data, Json, ModelFile, Quiet, data_for, reads

if TYPE_CHECKING:
    from ..detector import Detector
    from ..results import Detection, Event

__all__ = ["backtest"]

IN_ROWS = ("1/1000 rows", "1/10000 rows", "1/100000 rows")
IN_TIME = ("1/day", "1/week", "1/month")
MOST = 40  # events listed


@reads
def backtest(
    model: ModelFile,
    data: Data,
    budget: Annotated[
        list[str] | None, typer.Option(help="Budget to try, repeatable; several usual ones if absent.")
    ] = None,
    *,
    how: Reading,
    allow_missing: AllowMissing = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find events at several false-alarm budgets side by side. Choose one for `detect --budget` and `watch --budget`.

    Exit code 3 says that there are events at one of them, 0 that there are none.

    Example: `ccmtad backtest plant.ccm lastmonth.csv --budget 1/day --budget 1/week`
    """
    from ..detector import Detector

    show.notes(quiet)
    detector = Detector.load(model)
    budgets = sorted(dict.fromkeys(budget or _usual(detector)), key=lambda one: _rows(one, detector.model_.period))
    silent = quiet or json
    with show.working("Reading", silent, total=None):
        frame = data_for(
            detector,
            data,
            how,
            allow_missing,
        )
    show.notes(quiet=True)  # that a budget is extrapolated stands in the table
    with show.working("Judging", silent) as tell:
        found = detector.backtest(frame, budgets, progress=lambda share: tell(share, ""))
    if json:
        answers = [{"budget": name, "supported": _supported(one), **told(one)} for name, one in found.items()]
        show.as_json({"model": str(model), "data": str(data), "budgets": answers})
    elif not quiet:
        _print(found, _own(detector))
    show.finish(any(one.events for one in found.values()))


def _usual(detector: "Detector") -> list[str]:
    period = detector.model_.period
    own = [_own(detector)] if _own(detector) else []
    if period is None:
        return [*IN_ROWS, *own]
    # A budget of an alarm every few rows says nothing, nor does one that no data of this kind could ever show.
    sensible = [
        name for name, seconds in zip(IN_TIME, (86_400, 604_800, 2_592_000), strict=True) if seconds > 50 * period
    ]
    return [*(sensible or IN_ROWS), *own]


def _own(detector: "Detector") -> str:
    """The budget the model was fitted with; none where its threshold was given."""
    settings = detector.model_.settings
    return settings.budget if settings.threshold == "auto" else ""


def _rows(budget: str, period: float | None) -> float:
    return Allowance.parse(budget).rows_per_alarm(period)


def _supported(one: "Detection") -> bool | None:
    support = one.learnt.support
    return None if support is None else support.enough


def _print(found: "dict[str, Detection]", own: str) -> None:
    table = show.plain_table(
        "budget", "threshold", "events", "rows in alarm", "", right=("threshold", "events", "rows in alarm")
    )
    for name, one in found.items():
        aside = "[yellow]extrapolated[/]" if _supported(one) is False else ""
        fitted = " [dim](fitted)[/]" if name == own else ""
        table.add_row(
            f"{show.safe(name)}{fitted}",
            f"{one.threshold:.3g}",
            f"{len(one.events):,}",
            f"{one.alarm.mean():.2%}",
            aside,
        )
    show.out.print(table)
    groups = _together(found)
    if groups:
        severe = sorted(groups, key=lambda group: -group.severest)[:MOST]
        show.out.print(
            "\nSeverity at each budget (of anomalies the largest error, in usual ones); · is no event. "
            "Events that overlap share a line."
        )
        events = show.plain_table("start", "end", *map(show.safe, found), "most blamed channels", right=tuple(found))
        for group in sorted(severe, key=lambda group: group.first):
            cells = ["·" if one is None else f"{one.severity:.3g}" for one in (group.by.get(name) for name in found)]
            events.add_row(*group.bounds(), *cells, show.safe(", ".join(group.worst.channels[:3])))
        show.out.print(events)
        if len(groups) > MOST:
            show.out.print(f"({len(groups) - MOST:,} less severe events are left out; --json lists all.)")
    if any(_supported(one) is False for one in found.values()):
        show.out.print(
            "\nExtrapolated: fitting saw too few normal rows to vouch for so rare an alarm within a factor of three."
        )


@dataclass
class _Group:
    """Events of several budgets that overlap: one happening."""

    first: int
    last: float
    by: "dict[str, Event]"

    @property
    def worst(self) -> "Event":
        return max(self.by.values(), key=lambda one: one.severity)

    @property
    def severest(self) -> float:
        return self.worst.severity

    def bounds(self) -> tuple[str, str]:
        start = min(self.by.values(), key=lambda one: one.start)
        ends = [one for one in self.by.values() if one.end is not None]
        if len(ends) < len(self.by):
            return moment(start.start, start.start_time, start.zone), "still open"
        end = max(ends, key=lambda one: one.end or 0)
        return moment(start.start, start.start_time, start.zone), moment(end.end or 0, end.end_time, end.zone)


def _together(found: "dict[str, Detection]") -> list[_Group]:
    spans = sorted(
        (one.start, float("inf") if one.end is None else one.end, name, i)
        for name, detection in found.items()
        for i, one in enumerate(detection.events)
    )
    groups: list[_Group] = []
    for first, last, name, i in spans:
        one = found[name].events[i]
        if groups and first <= groups[-1].last:
            group = groups[-1]
            group.last = max(group.last, last)
            if name not in group.by or group.by[name].severity < one.severity:
                group.by[name] = one
        else:
            groups.append(_Group(first, last, {name: one}))
    return groups
