"""The verbs of a run, its notifications and clock, and the views of where it stands. No Redis command is known here."""
