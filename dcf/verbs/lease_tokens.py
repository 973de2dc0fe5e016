"""Makes the tokens of leases, for verbs whose caller does not send a token."""

import secrets


def new_token() -> str:
    """Return a new lease token: 128 random bits."""
    return f"lease-{secrets.token_hex(16)}"
