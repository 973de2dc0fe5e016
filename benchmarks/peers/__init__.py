"""Measures dcf and other systems that carry out steps, in the same interleaved rounds on the same machine.

`python -m benchmarks.peers` (or `make bench-peers`) installs the peers into a directory of its own, runs everything and
writes docs/explanation/benchmark-figures.md and benchmark-ratios.md. It decides nothing for dcf. Its figures are only
true for the machine and the versions named.
"""
