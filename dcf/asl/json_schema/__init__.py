"""JSON Schema as OutputSchema uses it: read, and checked in counted steps. Pure."""
