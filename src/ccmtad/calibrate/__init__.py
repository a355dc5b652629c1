"""The operating point, from normal rows alone: alpha, the budget, the threshold, and how far they can be trusted."""
