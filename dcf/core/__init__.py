"""The decisions of the control plane, as pure functions: no I/O, no clock, no randomness."""
