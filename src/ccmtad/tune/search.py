"""The search: Optuna asks, the objective answers."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import SettingError, TrainingError
from ..settings import Settings
from .objective import Worth
from .space import PAPER, Space, check, within
from .storage import kept

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
    progress: Tell | None = None,
) -> Found:
    """Searches `space` for the settings that the objective likes best, over those that are `fixed`.

    `storage` (a file or the URL of a database) and `study` name what several processes share, and what goes on after
    it was killed, until it holds so many `trials`. `identity` tells the data of one study from another's. `progress`
    gets the trials that are done, those planned, the last one's value (None where it was given up) and the best.
    What is fixed is tried first: where nothing is better, it is what comes back.
    """
    fixed = dict(fixed or {})
    space = within({name: tried for name, tried in space.items() if name not in fixed}, objective.channels)
    check(space, fixed)
    if trials < 1:
        raise SettingError(f"trials must be at least 1; got {trials}")
    with kept(storage) as place:
        return _search(objective, trials, fixed, space, place, study, seed, storage is not None, identity, progress)


def _search(
    objective: Worth, trials: int, fixed: Mapping[str, Any], space: Space, place: "BaseStorage", study: str,
    seed: int, shared_by_others: bool, identity: str, progress: Tell | None,
) -> Found:  # fmt: skip
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # Two processes with one seed would try the same; so would one that goes on.
    sampler = optuna.samplers.TPESampler(seed=None if shared_by_others else seed)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=STARTS)
    shared = optuna.create_study(
        storage=place, study_name=study, direction="maximize", sampler=sampler, pruner=pruner, load_if_exists=True
    )
    _same(shared, objective, fixed, space, identity)
    base, base_details = _base(shared, objective, fixed)
    done = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)

    def ask(trial: "Trial") -> float:
        return _value(
            trial, objective, {**fixed, **{name: tried.suggest(trial, name) for name, tried in space.items()}}
        )

    def tell(study: "Study", trial: "FrozenTrial") -> None:
        if progress is not None:
            finished = study.get_trials(deepcopy=False, states=done)
            values = [one.value for one in finished if one.value is not None and one.state == done[0]]
            value = trial.value if trial.state == done[0] else None
            progress(len(finished), trials, value, max([base, *values]))

    left = trials - len(shared.get_trials(deepcopy=False, states=done))
    if left > 0:
        limit = optuna.study.MaxTrialsCallback(trials, states=done)
        shared.optimize(ask, n_trials=left, callbacks=[tell, limit])
    finished = shared.get_trials(deepcopy=False, states=done)
    complete = [one for one in finished if one.state == done[0]]
    best = max(complete, key=lambda one: one.value, default=None)  # type: ignore[arg-type,return-value]
    pruned = len(finished) - len(complete)
    if best is None or best.value is None or best.value <= base:
        return Found(objective.name, fixed, base, base_details, base, base_details, len(finished), pruned)
    details = best.user_attrs.get("details", {})
    settings = {**fixed, **best.params}
    return Found(objective.name, settings, best.value, details, base, base_details, len(finished), pruned, best.params)


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
