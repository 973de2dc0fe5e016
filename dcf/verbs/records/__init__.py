"""The answers of verbs: frozen records, the same for tool, command, client and page. They import no engine."""
