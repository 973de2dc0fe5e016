"""The MCP server around the tools: their list, resources, prompts and completions."""
