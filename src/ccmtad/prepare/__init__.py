"""From a table to windows, in the order a row goes: timeline, missing, scale, smooth, windows. Each has its array form
and, where a stream needs one, its live form in one file.
"""
