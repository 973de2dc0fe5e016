"""Keeps bytes in an S3-compatible bucket, with obstore: `pip install 'dcf-mcp[s3]'`.

Credentials, region and endpoint are those of the environment (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
`AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`); nothing of them is in a message. An object is there whole or
not at all, so that nothing is renamed.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

from dcf.errors import InvalidArgument, StoreUnavailable

_log = logging.getLogger(__name__)

_TIMEOUT: Final = "30s"
_RETRIED_FOR: Final = timedelta(seconds=30)
_LISTED_AT_ONCE: Final = 1000


class BucketBlobs:
    """The store of one bucket, below the prefix of its URL."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: tuple[Any, Any] | None = None

    def _open(self) -> tuple[Any, Any]:
        """Return the library's calls and its store; imported and opened when it is first used."""
        if self._opened is not None:
            return self._opened
        try:
            import obstore  # noqa: PLC0415 - an optional extra
            from obstore.store import S3Store  # noqa: PLC0415 - the same
        except ImportError:
            raise InvalidArgument(
                "A bucket as artifact store needs the extra s3.", "Install it: pip install 'dcf-mcp[s3]'."
            ) from None
        options: dict[str, Any] = {"timeout": _TIMEOUT}
        if os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true":
            options["allow_http"] = True
        bucket, _, prefix = self._url.removeprefix("s3://").partition("/")
        retries = {"max_retries": 3, "retry_timeout": _RETRIED_FOR}
        store = S3Store(bucket, prefix=prefix.strip("/") or None, client_options=options, retry_config=retries)
        self._opened = obstore, store
        return self._opened

    def write(self, name: str, data: bytes) -> None:
        """Keep bytes under a name."""
        with _told():
            calls, store = self._open()
            calls.put(store, name, data)

    def read(self, name: str) -> bytes | None:
        """Return the bytes under a name; None if there are none."""
        with _told():
            calls, store = self._open()
            try:
                return bytes(calls.get(store, name).bytes())
            except FileNotFoundError:
                return None

    def delete(self, prefix: str) -> None:
        """Delete everything below a name."""
        with _told():
            calls, store = self._open()
            for page in calls.list(store, prefix=f"{prefix}/", chunk_size=_LISTED_AT_ONCE):
                names = [entry["path"] for entry in page]
                if names:
                    calls.delete(store, names)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except (InvalidArgument, StoreUnavailable):
        raise
    except Exception as error:  # noqa: BLE001 - the library's errors may quote URLs and keys
        _log.warning("artifact store: %s", type(error).__name__)
        raise StoreUnavailable(
            "The bucket of the artifact store cannot be used.",
            "Look at AWS_ENDPOINT_URL, AWS_REGION and the credentials, and whether the bucket is there.",
        ) from None
