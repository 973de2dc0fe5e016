"""The tools of midex as calls of dcf's."""
