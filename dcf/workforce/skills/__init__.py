"""Loads and unloads skills of agents, all or nothing, and records what each agent has."""
