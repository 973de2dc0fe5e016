"""Puts a process together from its settings: the only place that names parts of capabilities."""
