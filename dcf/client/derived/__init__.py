"""The methods of the clients as `make verbs` derives them: data for a process, signatures for type checkers."""
