"""A run from its creation to its end: kickoff, pause, hold, retry, finalization, retention. Pure."""
