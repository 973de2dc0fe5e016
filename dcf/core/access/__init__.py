"""The caller of a request with its scopes and account, and the authors of stored text. Pure."""
