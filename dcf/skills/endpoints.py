"""Checks the URLs that a skill makes the platform call: only listed ones, and never cloud metadata services.

A URL that two parsers could read differently (user names, odd spellings of an IP address, backslashes) is refused.
"""

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from dcf.errors import Forbidden, InvalidArgument
from dcf.values.records import record
from dcf.values.text_pieces import clip

_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = re.compile(r"(?=.{1,253}\Z)(?!-)[a-z0-9-]{1,63}(\.(?!-)[a-z0-9-]{1,63})*\Z")
_NUMERIC: Final = re.compile(r"(0x[0-9a-f]+|[0-9]+)(\.(0x[0-9a-f]+|[0-9]+))*\Z")
_CHARACTERS: Final = re.compile(r"[!#$%&'()*+,./0-9:;=?@A-Z\[\]_a-z~-]+\Z")
_METADATA_HOSTS: Final = frozenset({"metadata", "metadata.google.internal", "instance-data", "metadata.azure.internal"})
_METADATA_NETWORKS: Final = tuple(
    map(
        ipaddress.ip_network,
        ("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "100.100.100.200/32", "192.0.0.192/32"),
    )
)
_EMBEDDING: Final = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96")))
"""Addresses that end with one of IPv4: of a NAT64 gateway, compatible ones, and translated ones."""

_LIST_IT: Final = "Ask an operator to put the server into registry.json, or to list the URL in DCF_SKILL_ENDPOINTS."


@record(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A parsed URL, unambiguous."""

    scheme: str
    host: str
    port: int
    path: str

    def covers(self, other: "Endpoint") -> bool:
        """Return True if `other` is this address or below it."""
        below = self.path.rstrip("/")
        same = (self.scheme, self.host, self.port) == (other.scheme, other.host, other.port)
        return same and (other.path == below or other.path.startswith(f"{below}/"))


def read_endpoint(url: str) -> Endpoint:
    """Parse an http(s) URL; raise InvalidArgument, or Forbidden for a metadata service."""
    endpoint = _read(url)
    if endpoint is None:
        hint = "Write http:// or https://, a host name or plain IP address, an optional port, and a path."
        raise InvalidArgument(f"{_shown(url)} is not a usable endpoint.", hint)
    if _is_metadata(endpoint.host):
        raise Forbidden(f"The endpoint's host '{clip(endpoint.host)}' is never allowed.", _LIST_IT)
    return endpoint


def _read(url: str) -> Endpoint | None:
    if not _CHARACTERS.match(url) or "#" in url:
        return None
    try:
        parts = urlsplit(url)
        scheme, host, port = parts.scheme, _plain_host(parts.hostname or ""), parts.port
    except ValueError:
        return None
    if scheme not in _PORTS or host is None or "@" in parts.netloc or "/.." in parts.path:
        return None
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    return Endpoint(scheme=scheme, host=host, port=port or _PORTS[scheme], path=path or "/")


def check_endpoint(url: str, allowed: tuple[str, ...]) -> str:
    """Return the URL if one of `allowed` covers it; raise Forbidden or InvalidArgument."""
    endpoint = read_endpoint(url)
    if not any(read_endpoint(url).covers(endpoint) for url in allowed):
        shown = f"{endpoint.scheme}://{endpoint.host}:{endpoint.port}"
        raise Forbidden(f"The endpoint {clip(shown)} is not on the list of allowed ones.", _LIST_IT)
    return url


def _plain_host(host: str) -> str | None:
    if "%" in host:
        return None
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host if _HOST.match(host) and not _NUMERIC.match(host) else None


def is_never_allowed(address: str) -> bool:
    """Return True for an IP address that nothing is ever sent to: of a metadata service, a group, or of no host."""
    real = _real(address)
    return real.is_unspecified or real.is_multicast or any(real in network for network in _METADATA_NETWORKS)


def is_public(address: str) -> bool:
    """Return True for an IP address of the open internet: not of this machine, nor of a private network."""
    return _real(address).is_global and not is_never_allowed(address)


def _real(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the address that packets go to: IPv6 can hold one of IPv4."""
    address_read = ipaddress.ip_address(address)
    if isinstance(address_read, ipaddress.IPv4Address):
        return address_read
    return address_read.ipv4_mapped or address_read.sixtofour or _embedded(address_read) or address_read


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    is_embedded = any(address in network for network in _EMBEDDING)
    return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF) if is_embedded else None


def _is_metadata(host: str) -> bool:
    try:
        return is_never_allowed(host)
    except ValueError:
        return host in _METADATA_HOSTS


def _shown(url: str) -> str:
    """Return the URL for a message, without a password it may contain; not what is no URL, which may be a secret."""
    if not url.startswith(("http://", "https://")):
        return "What begins neither with http:// nor with https://"
    return f"'{clip(url)}'" if "@" not in url else "'a URL with a user name'"
