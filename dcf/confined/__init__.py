"""Calls of pure functions in child processes, each within limits of memory and time that the operating system keeps."""
