"""The paper's: spectral clustering of how alike correlation profiles are."""

from . import Clustering, cosine_similarity, spectral

__all__ = ["profile"]

profile = Clustering("profile", lambda _, profile, seed: spectral(cosine_similarity(profile), seed))
