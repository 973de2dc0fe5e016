"""Where the items of a Map come from, and how they are read. Pure."""
