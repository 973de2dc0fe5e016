"""Agents on a Letta server: creates, equips and wakes them over its REST API. The only package with `letta_client`.

Written for Letta 0.16.8 (self-hosted) and letta-client 1.12; statements about the server were measured there. Nothing
here decides about a run: the caller chooses which agents to create and tell, and a message is only a hint.
"""

from dcf.adapters.letta.deliveries import Deliveries, LocalDeliveries
from dcf.adapters.letta.options import LettaOptions
from dcf.adapters.letta.platform import LettaPlatform

__all__ = ["Deliveries", "LettaOptions", "LettaPlatform", "LocalDeliveries"]
