"""Pure decisions of the control plane: values in, values out; no I/O, no clock, no randomness."""
