"""Which channels belong together, the network that reconstructs a row, its training (torch) and its engine (numpy)."""
