"""Leases: the right of one worker to write a state until a time, and the timers of open states. Pure."""
