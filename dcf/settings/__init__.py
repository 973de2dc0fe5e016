"""Every setting of a process."""
