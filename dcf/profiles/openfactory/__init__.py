"""The tools of OpenFactory as calls of dcf's."""
