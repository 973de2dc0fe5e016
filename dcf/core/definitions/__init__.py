"""A workflow as parsed, and what must be read before a state of it is left. Pure."""
