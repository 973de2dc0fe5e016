"""Every key of the engine, and which documents a run has."""
