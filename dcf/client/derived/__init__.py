"""The methods of the clients for verbs, derived from their descriptions by `make verbs`; do not edit."""
