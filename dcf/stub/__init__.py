"""The stub MCP server: tools that answer what a configuration says, so that workflows run without outside services.

`server` alone knows MCP; the rest is the configuration, what a call matches, and how often.
"""
