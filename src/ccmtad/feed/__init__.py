"""Rows from a followed file or a pipe, through a stream, to notices. Killed at any moment, it loses nothing."""
