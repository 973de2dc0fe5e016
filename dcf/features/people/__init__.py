"""Tasks that people answer."""
