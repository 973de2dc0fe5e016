"""Calls of tools: at a server, in this process, and repeated where they may be."""
