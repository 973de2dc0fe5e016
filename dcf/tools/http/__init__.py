"""The HTTP server around the tools."""
