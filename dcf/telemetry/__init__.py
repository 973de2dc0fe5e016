"""Runs as OpenTelemetry traces: which ids they have, which spans a history tells of, and how spans are sent. No Redis.

A run has no process that could hold its trace open: whoever is there does the next step. So no id is passed on and no
span is kept in memory; ids follow from the run's id, and spans from its history. Any process can export the whole.
"""
