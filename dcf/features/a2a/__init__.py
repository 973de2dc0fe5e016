"""Agents of the Agent2Agent protocol start runs and read them."""
