"""The JSON of records, derived from the types of their fields. Standard library only; nothing here knows a record."""
