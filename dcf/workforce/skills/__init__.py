"""Skills on agents: loaded and unloaded all or nothing, and the record of what each agent holds."""
