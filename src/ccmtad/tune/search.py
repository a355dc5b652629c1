"""The search: Optuna asks, the objective answers."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import SettingError, TrainingError
from ..executors import HERE, Crew, quietly
from ..settings import Settings
from .objective import Worth
from .space import PAPER, Space, check, within
from .storage import for_a_crew, kept

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

__all__ = ["Found", "tune"]

Tell = Callable[[int, int, float | None, float], object]

STARTS = 5  # trials before any is given up


@dataclass(frozen=True)
class Found:
    """What a search came to."""

    objective: str
    settings: Mapping[str, Any]  # to be given to `fit`: what was fixed, and the best of what was tried
    value: float  # of these settings
    details: Mapping[str, Any]
    base: float  # of what was fixed alone: the defaults, say
    base_details: Mapping[str, Any]
    trials: int  # done, the ones given up included
    pruned: int  # of those, given up
    tried: Mapping[str, Any] = field(default_factory=dict)  # what was chosen; none where nothing was better

    @property
    def better(self) -> bool:
        """Whether anything was better than what was fixed alone."""
        return bool(self.tried)


def tune(
    objective: Worth,
    *,
    trials: int = 50,
    fixed: Mapping[str, Any] | None = None,
    space: Space = PAPER,
    storage: str | None = None,
    study: str = "ccmtad",
    seed: int = 0,
    identity: str = "",
    crew: Crew = HERE,
    progress: Tell | None = None,
) -> Found:
    """Searches `space` for the settings that the objective likes best, over those that are `fixed`.

    `storage` (a file or the URL of a database) and `study` name what several processes share, and what goes on after
    it was killed, until it holds so many `trials`. `identity` tells the data of one study from another's. `progress`
    gets the trials that are done, those planned, the last one's value (None where it was given up) and the best.
    What is fixed is tried first: where nothing is better, it is what comes back. A `crew` does several trials at a
    time; one of several machines needs a storage that all of them see.
    """
    fixed = dict(fixed or {})
    space = within({name: tried for name, tried in space.items() if name not in fixed}, objective.channels)
    check(space, fixed)
    if trials < 1:
        raise SettingError(f"trials must be at least 1; got {trials}")
    with for_a_crew(storage, crew) as known_as, kept(known_as) as place:
        search = _Search(objective, trials, fixed, space, known_as, study, None if storage or crew != HERE else seed)
        return search.run(place, identity, crew, progress)


@dataclass(frozen=True)
class _Search:
    """What is asked, in a form that another process can be given."""

    objective: Worth
    trials: int
    fixed: Mapping[str, Any]
    space: Space
    storage: str | None
    name: str
    seed: int | None  # two processes with one seed would try the same; so would one that goes on

    def run(self, place: "BaseStorage", identity: str, crew: Crew, progress: Tell | None) -> Found:
        shared = self.study(place)
        _same(shared, self.objective, self.fixed, self.space, identity)
        base, base_details = _base(shared, self.objective, self.fixed)

        def tell(trial: "FrozenTrial") -> None:
            if progress is not None:
                values = [one.value for one in self.complete(shared) if one.value is not None]
                value = trial.value if trial.state.name == "COMPLETE" else None
                progress(len(self.done(shared)), self.trials, value, max([base, *values]))

        left = self.trials - len(self.done(shared))
        if crew == HERE and left > 0:
            self.optimise(shared, left, tell)
        elif left > 0:
            for number in crew.map(partial(_try, self), range(left)):
                if number is not None:
                    tell(shared.get_trials(deepcopy=False)[number])
        finished, complete = self.done(shared), self.complete(shared)
        best = max(complete, key=lambda one: one.value, default=None)  # type: ignore[arg-type,return-value]
        nothing = Found(
            objective=self.objective.name, settings=self.fixed, value=base, details=base_details, base=base,
            base_details=base_details, trials=len(finished), pruned=len(finished) - len(complete),
        )  # fmt: skip
        if best is None or best.value is None or best.value <= base:
            return nothing
        settings, details = {**self.fixed, **best.params}, best.user_attrs.get("details", {})
        return replace(nothing, settings=settings, value=best.value, details=details, tried=best.params)

    def study(self, place: "BaseStorage") -> "Study":
        """What all who search for the same share."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        return optuna.create_study(
            storage=place, study_name=self.name, direction="maximize", load_if_exists=True,
            sampler=optuna.samplers.TPESampler(seed=self.seed),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=STARTS),
        )  # fmt: skip

    def optimise(self, shared: "Study", trials: int, tell: Callable[["FrozenTrial"], None]) -> None:
        """Does so many, or fewer where others have done theirs meanwhile."""
        import optuna

        done = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
        limit = optuna.study.MaxTrialsCallback(self.trials, states=done)
        shared.optimize(self.ask, n_trials=trials, callbacks=[lambda _, trial: tell(trial), limit])

    def ask(self, trial: "Trial") -> float:
        tried = {name: one.suggest(trial, name) for name, one in self.space.items()}
        return _value(trial, self.objective, {**self.fixed, **tried})

    def done(self, shared: "Study") -> "list[FrozenTrial]":
        return [one for one in shared.get_trials(deepcopy=False) if one.state.name in ("COMPLETE", "PRUNED")]

    def complete(self, shared: "Study") -> "list[FrozenTrial]":
        return [one for one in self.done(shared) if one.state.name == "COMPLETE"]


def _try(search: _Search, _: int) -> int | None:
    """One trial, by whoever of a crew is free: its number; None where there are enough."""
    with quietly(), kept(search.storage) as place:
        shared = search.study(place)
        if len(search.done(shared)) >= search.trials:
            return None
        numbers: list[int] = []
        search.optimise(shared, 1, lambda trial: numbers.append(trial.number))
        return numbers[0]


def _value(trial: "Trial", objective: Worth, given: Mapping[str, Any]) -> float:
    import optuna

    value, details = float("-inf"), dict[str, Any]()
    try:
        for step, (value, details) in enumerate(objective.steps(Settings.of(**given))):  # noqa: B007
            trial.report(value, step)
            if trial.should_prune():
                raise optuna.TrialPruned
    except TrainingError as error:  # too fast to learn: no setting to go on with
        raise optuna.TrialPruned(str(error)) from error
    trial.set_user_attr("details", details)
    return value


def _base(study: "Study", objective: Worth, fixed: Mapping[str, Any]) -> tuple[float, dict[str, Any]]:
    """What the fixed settings are worth alone; whoever comes first finds out."""
    known = study.user_attrs.get("base")
    if known is None:
        value, details = float("-inf"), dict[str, Any]()
        for value, details in objective.steps(Settings.of(**fixed)):  # noqa: B007
            pass
        known = [value, details]
        study.set_user_attr("base", known)
    return known[0], known[1]


def _same(study: "Study", objective: Worth, fixed: Mapping[str, Any], space: Space, identity: str) -> None:
    """A study goes on with the same question only: values of others cannot be compared."""
    asked = {
        "objective": objective.name, "fixed": dict(fixed), "data": identity,
        "space": {name: [type(tried).__name__, *map(str, tried.ends)] for name, tried in space.items()},
    }  # fmt: skip
    mark = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
    known = study.user_attrs.get("question")
    if known is None:
        study.set_user_attr("question", mark)
    elif known != mark:
        raise SettingError(
            f"study must be of the data, settings and ranges that it was begun with; got {study.study_name!r}, which "
            "is of others: give another name"
        )
