"""The tools of DeepWork as calls of dcf's."""
