"""Fitting: the network and its training loop. The only part that needs torch."""
