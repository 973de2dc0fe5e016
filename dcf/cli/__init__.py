"""The command line: parses arguments, calls the packages below, and prints."""
