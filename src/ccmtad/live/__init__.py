"""Rows in, notices out. Killed at any moment, it loses nothing."""
