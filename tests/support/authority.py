"""A certificate authority of a test's own, made by openssl, and TLS with its certificates in front of a server."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from anyio.from_thread import start_blocking_portal

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


@dataclass(frozen=True, slots=True)
class Authority:
    """`certificate` is what clients trust it by."""

    directory: Path

    @property
    def certificate(self) -> Path:
        return self.directory / "ca.pem"

    def issue(self, name: str) -> tuple[Path, Path]:
        """Make a certificate for 127.0.0.1, and its key."""
        certificate, key = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        signer = ("-CA", str(self.certificate), "-CAkey", str(self.directory / "ca.key"))
        place = ("-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE")
        _openssl("-subj", f"/CN={name}", *signer, *place, "-keyout", str(key), "-out", str(certificate))
        return certificate, key


def new_authority(directory: Path) -> Authority:
    directory.mkdir(mode=0o700)
    found = Authority(directory)
    where = ("-keyout", str(directory / "ca.key"), "-out", str(found.certificate))
    _openssl("-subj", f"/CN=authority {directory.name}", "-addext", "keyUsage=critical,keyCertSign", *where)
    return found


@contextmanager
def tls_in_front(authority: Authority, plain: int, *, asks_clients: bool = False) -> Iterator[int]:
    """Speak TLS on a loopback port for a server on another: no Redis that the tests install can do it by itself.

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


def _openssl(*arguments: str) -> None:
    command = ["openssl", "req", "-x509", *_KEY, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
