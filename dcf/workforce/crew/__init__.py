"""The agents of a run: made once each from templates, assigned, found again and deleted."""
