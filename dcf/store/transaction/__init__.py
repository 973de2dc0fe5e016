"""The one transaction on a run: what it reads, decides on, writes and tries again."""
