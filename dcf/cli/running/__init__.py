"""The command `dcf run`, and how it shows what happens."""
