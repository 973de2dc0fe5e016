"""Flows: a workflow as one Python function, which is read, never run, and becomes a plain state machine in JSONata.

`steps` is what authors import, `compiling` makes the document. Everything here is pure, but for reading the source file
of a flow. Whoever wants a flow from a file imports that file first (`dcf.cli.flow_files`): names in the source of a flow
stand for the objects of its module, and this package never imports one.
"""
