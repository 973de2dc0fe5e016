"""The MCP surface: thin tools over the control plane. Nothing else imports `mcp`."""
