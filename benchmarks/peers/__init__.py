"""Measures dcf beside other systems that carry out steps, in the same interleaved rounds on the same machine.

`python -m benchmarks.peers` (or `make bench-peers`) installs the peers into a directory of its own, runs everything and
writes docs/benchmarks.md. It decides nothing for dcf; what it says is only true for the machine and the versions named.
"""
