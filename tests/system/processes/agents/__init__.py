"""Agents and servers that tests of processes start."""
