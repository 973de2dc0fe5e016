"""The Redis that dcf starts itself."""
