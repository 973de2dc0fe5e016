"""The programs that are measured: for each system a worker and a driver that submits work to it.

They run in the environment of their system, not in the project's: they may import only that system, redis and each
other.
"""
