"""Spectral clustering of the correlations themselves."""

from . import Clustering, spectral

__all__ = ["correlation"]

correlation = Clustering("correlation", lambda _, profile, seed: spectral(profile, seed))
