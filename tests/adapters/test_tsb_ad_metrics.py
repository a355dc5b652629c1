"""VUS is what TSB-AD's own code computes."""

import numpy as np
import pytest

from ccmtad.bench.metrics.volume import volumes

from .environment import needs

needs("TSB_AD")

from TSB_AD.evaluation.metrics import get_metrics  # noqa: E402


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")  # of its other metrics
@pytest.mark.parametrize("window", [5, 100])
def test_our_volumes_are_tsb_ads(window: int) -> None:
    random = np.random.default_rng(0)
    label = np.zeros(1_000, dtype=np.int64)
    label[300:340] = label[700:705] = 1
    score = random.random(1_000) + 0.5 * label
    theirs, ours = get_metrics(score, label, slidingWindow=window), volumes(score, label > 0, window)
    np.testing.assert_allclose([ours.pr, ours.roc], [theirs["VUS-PR"], theirs["VUS-ROC"]], rtol=1e-9)
