"""The verbs on agents: making those of a run, equipping them with skills, telling them what is theirs to do.

They decide when the agent platform is called and keep what they did in the store, so that a crash between leaves
something that the next call repairs. Which platform it is they do not know.
"""
