"""One search over what is known and what runs have written."""
