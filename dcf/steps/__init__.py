"""The vocabulary of flows without the compiler: tasks and steps, annotations as types and schemas, input.

Workers, clients and tests use this alone; `dcf.flow` compiles what is written with it.
"""
