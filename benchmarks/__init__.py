"""Measures dcf on the embedded server.

Absolute times mean little on a shared machine. So there are round trips and commands, counted by the server itself
(INFO stats), CPU of a step, and ratios within the same run; a PING of redis-py is timed right before an operation as a
note of the machine. `benchmarks.peers` compares with other systems in the same rounds.
"""
