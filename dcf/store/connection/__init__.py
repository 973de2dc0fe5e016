"""The connections to one Redis: packets, faults, and the reserve for a full one."""
