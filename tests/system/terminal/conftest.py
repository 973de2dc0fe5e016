"""The command line in processes and on terminals, on the Redis of the session."""

from tests.cli.conftest import dcf, dcf_alone, seed, world

__all__ = ["dcf", "dcf_alone", "seed", "world"]
