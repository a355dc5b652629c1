"""From what stands in a file to a model. Whoever wrote the file is not trusted: every number has its bounds, and every
size is checked against the arrays that are there before anything is made of that size.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .calibrate import feedback
from .calibrate.budget import Support
from .calibrate.calibration import Calibration
from .calibrate.limits import Tails
from .errors import FileError, SettingError
from .frame import LATEST
from .model import Model, check_state, reference_name
from .network.clusters import Clusters
from .network.guess import Guess
from .network.shapes import Architecture
from .prepare.scale import Scaler
from .results import Epoch
from .score import combine, tails
from .score.channels import LIMITS
from .score.combine import LARGEST_LOSS, Combiner
from .score.level import LEVELS
from .score.step import Rise
from .score.tracks import Track, in_use
from .settings import Settings
from .tables import reading
from .wording import got, is_text

__all__ = ["Reading", "epochs"]

LARGEST_WEIGHT = 1e100  # of a guess: sums of clipped rows stay finite
FINEST, LARGEST = 1e-300, 1e300  # sizes that can be divided by, and squared roots of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reading:
    """What stands in a file, on its way to a model."""

    arrays: dict[str, NDArray[Any]]
    facts: dict[str, Any]
    what: str  # it is, in messages

    def model(self) -> Model:
        settings = Settings.of("paper", **self.facts["settings"])  # what is younger than the file, it did without
        self._check(settings.mixers <= len(self.arrays), "weights for every mixer", settings.mixers)
        channels, clusters = self._channels(), self._clusters()
        self._check(len(clusters.label) == len(channels), "a cluster for every channel", len(clusters.label))
        check_state(settings, len(channels))
        fallback, low, span, unit = (
            self._array(name, (len(channels),), np.float64)
            for name in ("fallback", "scaler.low", "scaler.span", "combiner.unit")
        )
        for name, size in (("scaler.span", span), ("combiner.unit", unit)):
            self._check(bool((size >= FINEST).all() and (size <= LARGEST).all()), f"positive units in {name}", size)
        named, period = self.facts["named"], self.facts["period"]
        self._check(isinstance(named, bool), "named as true or false", named)
        model = Model(
            settings=settings,
            channels=channels,
            named=named,
            period=None if period is None else self._number("a period", period, 1e-9, 2 * LATEST),
            fallback=fallback,
            scaler=Scaler(low, span),
            clusters=clusters,
            weights=self._weights(Architecture.of(settings, clusters)),
            combiner=Combiner(unit, combine.find(settings.combine)),
            calibration=self._calibration(settings),
            correlation=self._correlation(len(channels)),
            tails=self._tails(len(channels)),
            guess=self._guess(len(channels)),
            distances=self._distances(settings, len(channels)),
            feedback=self._feedback(),
            reading=self._reading(),
        )
        limits = model.limits[1 : len(LIMITS)]
        self._check(bool((limits > 0.0).all()), "limits above 0", limits)
        return model

    def _weights(self, shape: Architecture) -> dict[str, NDArray[np.float32]]:
        weights = {name: self._array(f"network.{name}", size, np.float32) for name, size in shape.shapes.items()}
        for name, weight in weights.items():
            self._check(not name.endswith("running_var") or bool((weight >= 0).all()), f"no negative {name}", weight)
        return weights

    def _tails(self, channels: int) -> Tails | None:
        if "tails.middle" not in self.arrays:
            return None
        parts = []
        for part in ("middle", "start", "shape", "strength", "least", "most"):
            name = f"tails.{part}"
            shape = (channels,) if part == "middle" else (len(LIMITS) - 1, channels)
            array = self._shaped(name, shape, np.float64)
            free = part in ("middle", "strength")
            self._check(not np.isnan(array).any() and bool((array >= 0).all() or free), f"numbers in {name}", array)
            self._check(not free or bool(np.isfinite(array).all()), f"finite numbers in {name}", array)
            parts.append(array)
        return replace(Tails(*parts), switch=self._switch(channels))

    def _switch(self, channels: int) -> Floats | None:
        """None in older files."""
        if "tails.switch" not in self.arrays:
            return None
        switch = self._shaped("tails.switch", (3, channels), np.float64)
        known = ~np.isnan(switch)
        self._check(bool((known == known[0]).all()), "all three numbers of a channel in tails.switch", switch)
        low, gap, changes = switch[:, known[0]]
        sound = (np.abs(low) <= LARGEST) & (gap >= FINEST) & (gap <= LARGEST) & (changes >= 0.0) & (changes <= LARGEST)
        self._check(bool(sound.all()), "numbers in tails.switch, gaps above 0", switch)
        return switch

    def _guess(self, channels: int) -> Guess | None:
        if "guess.weight" not in self.arrays:
            return None
        weight = self._array("guess.weight", (channels, channels), np.float64)
        bias = self._array("guess.bias", (channels,), np.float64)
        for name, numbers in (("guess.weight", weight), ("guess.bias", bias)):
            self._check(bool((np.abs(numbers) <= LARGEST_WEIGHT).all()), f"possible numbers in {name}", numbers)
        self._check(not np.diag(weight).any(), "channels that are not guessed by themselves", np.diag(weight))
        return Guess(weight, bias)

    def _channels(self) -> tuple[str, ...]:
        names = self.facts["channels"]
        self._check(isinstance(names, list) and all(map(is_text, names)), "a list of channel names", names)
        self._check(len(set(names)) == len(names), "distinct channel names", names)
        return tuple(names)

    def _clusters(self) -> Clusters:
        label = self.arrays["clusters"]
        whole = label.dtype == np.int64 and label.ndim == 1 and len(label) > 0
        self._check(whole, "a cluster for every channel", label)
        known = np.unique(label)
        self._check(np.array_equal(known, np.arange(len(known))), "clusters 0, 1, 2, ..", known)
        return Clusters(label)

    def _calibration(self, settings: Settings) -> Calibration:
        alpha = self._number("an alpha", self.facts["alpha"], FINEST, 1.0)
        threshold = self._number("a threshold", self.facts["threshold"], FINEST, LARGEST)
        told = self.facts.get("scales", [[1, 0.0, threshold]])
        listed = isinstance(told, list) and all(isinstance(one, list) and len(one) == 3 for one in told)
        self._check(listed, "three numbers for each track", told)
        kinds = in_use(settings)
        rows = [kind.rows(settings) for kind in kinds]
        self._check([one[0] for one in told] == rows, f"tracks over {rows} rows", [one[0] for one in told])
        tracks = []
        for i, (kind, averaged, (_, normal, limit)) in enumerate(zip(kinds, rows, told, strict=True)):
            level = self._number("the normal level of a track", normal, *LEVELS)
            above = self._number("the threshold of a track", limit, FINEST, LARGEST)
            reference, tail = self._reference(reference_name(i), level), tails.find(settings.tail)
            tracks.append(Track(averaged, reference, tail, level, above, kind.limited, kind.of_distance))
        losses = self._in_order("losses")
        distances = self._in_order("distances") if settings.distance else None
        self._check((distances is None) <= (not settings.distance), "distances in order of time", distances)
        return Calibration(settings, tuple(tracks), alpha, self._support(), losses, distances, self._rise())

    def _in_order(self, what: str) -> Floats | None:
        """Of the normal rows; None in older files."""
        found = self.arrays.get(f"calibration.{what}")
        if found is not None:
            right = found.ndim == 1 and found.dtype == np.float64 and not bool((found < 0).any())
            self._check(right and not np.isinf(found).any(), f"{what} in order of time", found)
        return found

    def _distances(self, settings: Settings, channels: int) -> Combiner | None:
        """None where no track looks at them."""
        if not settings.distance:
            return None
        unit = self._array("distances.unit", (channels,), np.float64)
        self._check(bool((unit >= FINEST).all() and (unit <= LARGEST).all()), "positive units in distances.unit", unit)
        return Combiner(unit, combine.find(settings.combine))

    def _rise(self) -> Rise:
        """Files from before 0.3 have one limit, whether the level has settled or not."""
        early = self.facts.get("unlike")
        told = (early, self.facts.get("unlike settled", early))
        return Rise(
            *(np.inf if one is None else self._number("the limit of a level", one, FINEST, 1e4) for one in told)
        )

    def _support(self) -> Support | None:
        told = self.facts.get("support")
        if told is None:
            return None
        names = {one.name for one in fields(Support)}
        self._check(isinstance(told, dict) and set(told) == names, "the support of its budget", told)
        endless = ("low", "high", "longest")  # JSON has no infinity
        return Support(
            **{
                name: np.inf if rows is None and name in endless else self._number(name, rows, 0.0, LARGEST)
                for name, rows in told.items()
            }
        )

    def _reference(self, name: str, level: float) -> Floats:
        reference = self.arrays[name]
        right = reference.ndim == 1 and len(reference) > 0 and reference.dtype == np.float64
        self._check(right, f"normal losses in {name}", reference)
        self._check(bool(np.isfinite(reference).all()), f"finite numbers in {name}", reference)
        self._check(bool((np.diff(reference) >= 0).all()), f"losses in order in {name}", reference)
        with np.errstate(over="ignore"):
            sized = reference[0] >= 0.0 and reference[-1] * np.exp(level) <= LARGEST_LOSS
        self._check(bool(sized and reference[-1] <= LARGEST_LOSS), f"possible losses in {name}", reference)
        return reference

    def _correlation(self, channels: int) -> NDArray[np.float32] | None:
        found = self.arrays.get("correlation")
        if found is not None:
            found = self._shaped("correlation", (channels, channels), np.float32)
            self._check(bool((np.abs(found) <= 1).all()), "correlations between -1 and 1", found)
        return found

    def _feedback(self) -> tuple[feedback.Verdict, ...]:
        try:
            return feedback.verdicts(self.facts.get("feedback", []))
        except FileError as error:
            raise FileError(f"{self.what}: {error}") from error

    def _reading(self) -> reading.Reading | None:
        told = self.facts.get("reading")
        try:
            return None if told is None else reading.Reading.of(told)
        except SettingError as error:
            raise FileError(f"{self.what}: {error}") from error

    def _number(self, rule: str, value: object, low: float, high: float) -> float:
        right = type(value) in (int, float) and low <= value <= high  # type: ignore[operator]
        self._check(right, f"{rule} from {low:g} to {high:g}", value)
        return float(value)  # type: ignore[arg-type]

    def _array(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        array = self._shaped(name, shape, dtype)
        self._check(bool(np.isfinite(array).all()), f"finite numbers in {name}", array)
        return array

    def _shaped(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        if name not in self.arrays:
            raise FileError(f"{self.what} must hold {name}; got no such array")
        array = self.arrays[name]
        right = array.shape == shape and array.dtype == dtype
        self._check(right, f"{name} as {np.dtype(dtype)} of shape {shape}", f"{array.dtype} of shape {array.shape}")
        return array

    def _check(self, right: bool, rule: str, value: object) -> None:
        if not right:
            raise FileError(f"{self.what} must hold {rule}; got {got(value)}")


def epochs(told: object) -> tuple[Epoch, ...]:
    """The history of training that stands in a file."""
    names = {one.name: one.type for one in fields(Epoch)}
    if not isinstance(told, list):
        raise TypeError(f"a history of {got(told)}")
    for one in told:
        right = isinstance(one, dict) and one.keys() <= names.keys()
        if not right or not all(_is_number(value, whole=names[name] is int) for name, value in one.items()):
            raise TypeError(f"an epoch of {got(one)}")
    return tuple(Epoch(**one) for one in told)


def _is_number(value: object, whole: bool) -> bool:
    """Of those that an epoch has: none is negative, and none infinite."""
    return type(value) in ((int,) if whole else (int, float)) and 0 <= value <= LARGEST  # type: ignore[operator]
