"""The answers of verbs: frozen records, the same for the tool, the command, the client and the page. Loads nothing."""
