"""Runs as OpenTelemetry traces: which ids they have, which spans a history contains, and how spans are sent. No Redis.

A run has no process that could keep its trace open: any process may do the next step. So no id is passed on and no
span is kept in memory; ids follow from the run's id, and spans from its history. Any process can export the whole.
"""
