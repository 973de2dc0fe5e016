"""A certificate authority of a test's own, and TLS with its certificates in front of a server."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import trustme
from anyio.from_thread import start_blocking_portal


@dataclass(frozen=True, slots=True)
class Authority:
    """`certificate` is what clients trust it by."""

    directory: Path
    certifier: trustme.CA

    @property
    def certificate(self) -> Path:
        return self.directory / "ca.pem"

    def issue(self, name: str) -> tuple[Path, Path]:
        """Make a certificate for 127.0.0.1, and its key."""
        certificate, key = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        issued = self.certifier.issue_cert("127.0.0.1", common_name=name)
        issued.cert_chain_pems[0].write_to_path(certificate)
        issued.private_key_pem.write_to_path(key)
        return certificate, key


def new_authority(directory: Path) -> Authority:
    directory.mkdir(mode=0o700)
    authority = Authority(directory, trustme.CA(organization_name=f"authority {directory.name}"))
    authority.certifier.cert_pem.write_to_path(authority.certificate)
    return authority


@contextmanager
def tls_in_front(authority: Authority, plain: int, *, asks_clients: bool = False) -> Iterator[int]:
    """Speak TLS on a loopback port for a server on another: no Redis that the tests install can do it.

    With `asks_clients` a client needs a certificate of the same authority.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.certificate)
    context.load_cert_chain(*authority.issue("server"))
    context.verify_mode = ssl.CERT_REQUIRED if asks_clients else ssl.CERT_NONE
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(_serving(context, plain)) as port:
        yield port


@asynccontextmanager
async def _serving(context: ssl.SSLContext, plain: int) -> AsyncIterator[int]:
    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", plain)
        await asyncio.gather(_copy(reader, back), _copy(there, writer))

    async with await asyncio.start_server(pass_on, "127.0.0.1", 0, ssl=context) as server:
        yield server.sockets[0].getsockname()[1]


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while some := await reader.read(65536):
            writer.write(some)
            await writer.drain()
    writer.close()


def tls_url(port: int, **files: Path) -> str:
    return f"rediss://127.0.0.1:{port}/0?{urlencode(files)}"
