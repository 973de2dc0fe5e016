"""The operations on agents: create those of a run, equip them with skills, tell them their work.

They decide when to call the agent platform and record in the store what they did, so that the next call repairs what a
crash left. They do not know which platform it is.
"""
