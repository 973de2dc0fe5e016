"""Usage limits of the providers of models: a state whose turn met a limit is parked until the limit ends."""
