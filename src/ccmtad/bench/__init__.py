"""Honest comparison: simple baselines under the same scorer, and judgement against the truth."""
