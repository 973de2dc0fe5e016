"""Measures dcf on the embedded server: every figure as a ratio to redis-py's PING of the same run.

Absolute times mean little on a shared machine, so a PING is timed right before each operation and medians are compared.
Round trips and commands are counted by the server itself (INFO stats).
"""
