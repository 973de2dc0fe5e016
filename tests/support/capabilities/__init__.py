"""Processes with other capabilities than those of dcf."""
