"""K-means of the correlation profiles: a variant that the paper tried."""

from . import Clustering, kmeans_labels

__all__ = ["kmeans"]

kmeans = Clustering(
    "kmeans", lambda _, profile, seed: lambda count: kmeans_labels(profile, count, seed), constant_apart=False
)
