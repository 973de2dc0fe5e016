"""A handler for each kind of agent: short, and imported only in the child process that runs it.

Each takes the tools through the host, so that no SDK needs to reach their servers, and a lost one is noticed there.
"""
