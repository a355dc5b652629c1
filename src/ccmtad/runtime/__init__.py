"""Detecting: inference from plain arrays, without torch or scikit-learn."""
