"""The tools of four neighbouring systems, under their own names and in their own shapes, on dcf's runs.

Each profile is one module: it turns a call into calls of dcf's tools, and their answers into the shape that its clients
know. It keeps no state, makes no decisions, and must not know Redis or MCP: `tools/mcp/profile_calls.py` gives it the
tools of the caller, with the caller's scopes and limits, and sends its answers.
"""
