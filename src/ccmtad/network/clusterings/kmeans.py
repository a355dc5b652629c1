"""K-means of the correlation profiles."""

from . import Clustering, kmeans_labels

__all__ = ["kmeans"]

kmeans = Clustering("kmeans", lambda _, profile, seed: lambda count: kmeans_labels(profile, count, seed))
