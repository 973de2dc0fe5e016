"""The Python client: every verb of dcf as a method with typed answers, over a server or directly on Redis.

`dcf.connect` and `dcf.connect_async` open one; docs/python.md has all of it on one page.
"""

from dcf.client.clients import AsyncClient, Client
from dcf.client.connecting import connect, connect_async
from dcf.client.serving import Serving

__all__ = ["AsyncClient", "Client", "Serving", "connect", "connect_async"]
