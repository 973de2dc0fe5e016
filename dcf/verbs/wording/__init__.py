"""Words hints and next steps in the language of each interface: as tools, commands, Python, labels of buttons."""
