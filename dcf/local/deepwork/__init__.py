"""DeepWork's tools where the project is on this machine's disk: its jobs, its files, its branch, its quality gate."""
