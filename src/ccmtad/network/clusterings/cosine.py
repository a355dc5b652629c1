"""Spectral clustering of how alike the channels' values are: a variant that the paper tried."""

import numpy as np

from . import Clustering, cosine_similarity, spectral

__all__ = ["cosine"]

cosine = Clustering(
    "cosine", lambda rows, _, seed: spectral(np.maximum(cosine_similarity(rows.T), 0.0), seed), constant_apart=False
)
