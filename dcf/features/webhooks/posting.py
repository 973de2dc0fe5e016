"""One POST to a receiver: to an address that was looked at, in a bounded time; redirects and bodies are not followed.

A caller that names a URL could make dcf call hosts that only dcf can reach. So every address of the host is looked at
when the connection is made, and the connection goes to one of just these: the addresses of a name may change between
two looks. Proxies of the environment are not used, since they would look the name up again.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

from dcf.errors import Forbidden, PlatformUnavailable
from dcf.skills.endpoints import Endpoint, is_never_allowed, is_public, read_endpoint
from dcf.values.records import record
from dcf.values.text_pieces import clip

if TYPE_CHECKING:
    import ssl

CONNECT_S: Final = 5.0
"""Seconds that the connection may take, to whichever address of the host."""
TOTAL_S: Final = 10.0
"""Seconds that all of it may take; a receiver answers at once and works afterwards."""

Lookup: TypeAlias = Callable[[str, int], Sequence[str]]
"""Returns the IP addresses of a host."""

_LIST_IT: Final = "Give it an https URL with a public address, or ask an operator to list it in DCF_WEBHOOK_ENDPOINTS."


@record(frozen=True, slots=True, kw_only=True)
class Answered:
    """The response of the receiver; its body is not read. `retry_after` is the header of that name."""

    status: int
    retry_after: str | None = None


def look_up(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host, in the order in which they are to be tried."""
    addresses_found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]).partition("%")[0] for *_, address in addresses_found))


class Poster:
    """Sends to receivers. `listed` are URLs that an operator trusts: below them, http and private addresses may be."""

    def __init__(
        self,
        listed: tuple[str, ...] = (),
        *,
        lookup: Lookup = look_up,
        tls: "ssl.SSLContext | None" = None,
        connect_s: float = CONNECT_S,
        total_s: float = TOTAL_S,
    ) -> None:
        self._listed = listed
        self._lookup = lookup
        self._given_tls = tls
        self._connect_s = connect_s
        self._total_s = total_s

    @cached_property
    def _tls(self) -> "ssl.SSLContext":
        import ssl  # noqa: PLC0415 - every command imports this module, and few post

        return self._given_tls or ssl.create_default_context()

    def check(self, url: str) -> Endpoint:
        """Return the parsed URL; raise InvalidArgument or Forbidden if dcf must never send to it."""
        endpoint = read_endpoint(url)
        if self._is_listed(endpoint):
            return endpoint
        if endpoint.scheme != "https":
            raise Forbidden(f"{shown(endpoint)} is not https.", _LIST_IT)
        if _is_address(endpoint.host) and not is_public(endpoint.host):
            raise Forbidden(f"{shown(endpoint)} is not a public address.", _LIST_IT)
        return endpoint

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answered:
        """Send and return the answer. Raise PlatformUnavailable if there is none, Forbidden for what is not allowed."""
        import http.client  # noqa: PLC0415 - as above
        import ssl  # noqa: PLC0415

        endpoint = self.check(url)
        try:
            with self._connected(endpoint) as connection:
                return _exchange(endpoint, connection, url, headers, body)
        except TimeoutError:
            raise PlatformUnavailable(f"{shown(endpoint)} did not answer in time.") from None
        except ssl.SSLCertVerificationError:
            raise PlatformUnavailable(f"The certificate of {shown(endpoint)} is not valid.") from None
        except ConnectionRefusedError:
            raise PlatformUnavailable(f"{shown(endpoint)} refuses connections.") from None
        except socket.gaierror:
            raise PlatformUnavailable(f"The host name of {shown(endpoint)} has no address.") from None
        except (OSError, http.client.HTTPException):
            raise PlatformUnavailable(f"{shown(endpoint)} broke the connection off, or answers in no HTTP.") from None

    def addresses(self, endpoint: Endpoint) -> Sequence[str]:
        """Return the addresses of its host; raise Forbidden if a single one of them is not allowed."""
        addresses_found = self._lookup(endpoint.host, endpoint.port)
        is_listed = self._is_listed(endpoint)
        for address in addresses_found:
            if is_never_allowed(address):
                raise Forbidden(f"{shown(endpoint)} leads to an address that is never allowed.", _LIST_IT)
            if not is_listed and not is_public(address):
                raise Forbidden(f"{shown(endpoint)} leads to an address of a private network.", _LIST_IT)
        return addresses_found

    def _is_listed(self, endpoint: Endpoint) -> bool:
        return any(read_endpoint(url).covers(endpoint) for url in self._listed)

    @contextmanager
    def _connected(self, endpoint: Endpoint) -> Iterator[socket.socket]:
        connection = _connect(self.addresses(endpoint), endpoint.port, self._connect_s)
        if endpoint.scheme == "http":
            with connection, _ends_after(connection, self._total_s):
                yield connection
            return
        tls = self._tls.wrap_socket(connection, server_hostname=endpoint.host, do_handshake_on_connect=False)
        with tls, _ends_after(tls, self._total_s):
            tls.do_handshake()
            yield tls


def shown(endpoint: Endpoint) -> str:
    """Return where a URL leads, for messages: its path may hold a secret."""
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return clip(f"{endpoint.scheme}://{host}:{endpoint.port}")


def _connect(addresses: Sequence[str], port: int, connect_s: float) -> socket.socket:
    """Connect to the first of these addresses that answers. The time is limited for all of them together."""
    failed: OSError = socket.gaierror("no address")
    until = time.monotonic() + connect_s
    for address in addresses:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        try:
            return socket.create_connection((address, port), left)
        except OSError as error:
            failed = error
    raise failed


def _exchange(
    endpoint: Endpoint, connection: socket.socket, url: str, headers: Mapping[str, str], body: bytes
) -> Answered:
    import http.client  # noqa: PLC0415 - as above

    client = http.client.HTTPConnection(endpoint.host, endpoint.port)
    client.sock = connection  # so that it does not open another
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    client.request("POST", target, body, {"Host": parts.netloc, "Connection": "close", **headers})
    response = client.getresponse()
    return Answered(status=response.status, retry_after=response.getheader("Retry-After"))


@contextmanager
def _ends_after(connection: socket.socket, seconds: float) -> Iterator[None]:
    """Cut the connection off after this time: each byte that comes would restart a timeout of the socket.

    A connection that was cut off raises TimeoutError, whatever its reader makes of it.
    """
    import http.client  # noqa: PLC0415 - as above

    ended = threading.Event()

    def cut() -> None:
        ended.set()
        with suppress(OSError):  # it was closed just now
            socket.socket.shutdown(connection, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if not ended.is_set():
            raise
    finally:
        timer.cancel()
    if ended.is_set():
        raise TimeoutError


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdecimal()
