"""dcf: a choreography control plane for AI agents on Redis."""

__version__ = "0.1.0"
