"""The tools of Mission Control as calls of dcf's."""
