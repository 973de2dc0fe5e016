"""The records of a run, their JSON, what a decision reads and writes, answers and refusals. Pure."""
