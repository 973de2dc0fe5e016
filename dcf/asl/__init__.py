"""The Amazon States Language: parse a state machine, move its data, decide the next steps. Does no I/O."""
