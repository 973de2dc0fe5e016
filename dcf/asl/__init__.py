"""The Amazon States Language, pure: parse a machine, move data, decide what comes next."""
