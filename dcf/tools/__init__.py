"""The MCP tools: thin functions over the control plane. No other package imports `mcp`."""
