"""The network, as a user's detector trains it."""

from collections.abc import Callable

from ...fit import TrainingSeries
from ...frame import Frame
from ...network.weights import Trained, Weights
from ...results import Epoch
from ..watching import Baseline
from . import Fitted, Losses, Method, losses_of

__all__ = ["ccmtad"]


class Network(Method):
    """The weights of the lowest validation loss, as `Detector.fit` keeps them."""

    name = "ccmtad"
    means = "the network, as a user's detector trains it"
    order = 0
    seeded = True

    def fit(self, series: TrainingSeries, test: Frame, every_epoch: bool = False) -> Fitted:
        new = series.series(test)
        epochs: list[Losses] = []

        def keep(_: Epoch, weights: Callable[[], Weights]) -> None:
            epochs.append(losses_of(series.engine(weights()), series, new, len(test)))

        trained = series.train(keep if every_epoch else None)
        return Fitted.of(_watching(series, trained), test, tuple(epochs))

    def watching(self, series: TrainingSeries) -> Baseline:
        return _watching(series, series.train())


def _watching(series: TrainingSeries, trained: Trained) -> Baseline:
    model = series.model(trained)
    return Baseline(model, model.engine)


ccmtad = Network()
