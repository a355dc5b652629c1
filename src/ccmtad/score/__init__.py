"""From errors to alarms, in the order a row goes: combine, tracks (average, level, evidence, accumulate), alarm,
health, events. Each part declares its fields of the record that `step` works on, and has its array form beside its
live form. Numbers in, numbers out: no settings, files, clock or printing.
"""
