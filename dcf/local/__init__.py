"""`dcf agents local`: a process on the agent's machine, between the agent and a dcf server, for what needs its disk.

It passes tools, resources and prompts of the server on, and adds hashes of files, commands of gates, and git. It holds
no state: after a crash it is started again and continues, and the server does not depend on it.
"""
