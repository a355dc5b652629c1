"""Alpha: the p-value below which evidence is positive, from normal losses alone."""

import warnings

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingExtraError

__all__ = ["choose", "mixture_bound"]

Floats = NDArray[np.float64]

USUAL_ALPHA = 0.05
FARTHEST = 1e50  # times the 99 % quantile: squares of it can be added
FEWEST_FOR_MIXTURE = 2_000  # losses from which the Gaussian-mixture bound is trusted


def choose(losses: Floats) -> float:
    """0.05, or less where the paper's bound says so and there are enough losses to fit its mixture."""
    return USUAL_ALPHA if len(losses) < FEWEST_FOR_MIXTURE else min(USUAL_ALPHA, mixture_bound(losses))


def mixture_bound(losses: Floats, most: int = 4, sample: int = 20_000) -> float:
    """The paper's alpha_max: share of losses above mean + deviation of the Gaussian component nearest zero."""
    try:
        from sklearn.mixture import GaussianMixture
    except ImportError as error:
        raise MissingExtraError(
            "finding alpha needs scikit-learn: pip install 'ccmtad[train]', or give alpha"
        ) from error

    points = losses[:: -(-len(losses) // sample), None]
    if np.ptp(points) == 0:
        return 1.0
    # Losses can be tiny, and the mixture's variance floor is absolute; one huge loss must not flatten the others.
    with np.errstate(over="ignore"):
        points = np.minimum(points / max(float(np.quantile(points, 0.99)), float(np.finfo(float).tiny)), FARTHEST)
    most = min(most, len(np.unique(points)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ties, which are common, make scikit-learn doubt its own clusters
        fits = [GaussianMixture(k, random_state=0, reg_covar=1e-9).fit(points) for k in range(1, most + 1)]
    mixture = min(fits, key=lambda fit: fit.bic(points))
    nearest = int(np.argmin(np.abs(mixture.means_[:, 0])))
    bound = mixture.means_[nearest, 0] + np.sqrt(mixture.covariances_[nearest, 0, 0])
    return max(float(np.mean(points > bound)), 1.0 / len(losses))
