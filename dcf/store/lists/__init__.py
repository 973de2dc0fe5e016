"""The indexes across runs in Redis, and the checks of them."""
