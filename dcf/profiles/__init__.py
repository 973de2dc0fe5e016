"""The tools of four neighbouring systems, under their own names and in their own shapes, on dcf's runs.

Each profile is one module: it turns a call into calls of dcf's tools, and their answers into the shape that its
clients know. It keeps nothing, decides nothing by itself, and knows neither Redis nor MCP: `tools/mcp/profile_calls.py`
gives it the tools of the caller, with the caller's scopes and limits, and sends its answers.
"""
