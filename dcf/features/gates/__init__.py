"""An output counts only after the verdicts of its gates."""
