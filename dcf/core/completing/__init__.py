"""The writes of holders, and how states end without one: what follows, and what is written for it. Pure."""
