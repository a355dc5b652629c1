"""Spectral clustering of how alike the channels' values are."""

import numpy as np

from . import Clustering, cosine_similarity, spectral

__all__ = ["cosine"]

cosine = Clustering("cosine", lambda rows, _, seed: spectral(np.maximum(cosine_similarity(rows.T), 0.0), seed))
