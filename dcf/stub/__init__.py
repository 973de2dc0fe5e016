"""The stub MCP server: its tools answer as a configuration says, so that workflows run without outside services.

Only `server` knows MCP; the other modules hold the configuration, the matching of calls, and rate limits.
"""
