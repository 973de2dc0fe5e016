"""Agents on a Letta server: made, equipped and woken through its REST API. The only place that knows `letta_client`.

Written against Letta 0.16.8 (self-hosted) and letta-client 1.12; what is said about the server was measured there.
Nothing here decides about a run: who is made and told is the caller's business, and a message is only a hint.
"""

from dcf.adapters.letta.deliveries import Deliveries, LocalDeliveries
from dcf.adapters.letta.options import LettaOptions
from dcf.adapters.letta.platform import LettaPlatform

__all__ = ["Deliveries", "LettaOptions", "LettaPlatform", "LocalDeliveries"]
