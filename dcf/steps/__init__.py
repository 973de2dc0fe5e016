"""What authors of flows write, without the compiler: tasks, flows and steps, annotations as types and schemas, input.

Workers, clients and tests use this alone; `dcf.flow` compiles what is written with it.
"""
