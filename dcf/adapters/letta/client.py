"""Opens `letta_client`, and translates its errors into dcf's.

Requests that change something are never sent twice. The client's own retries after a timeout ran one message three
times (measured), so only reads are retried. No text of the library or the server reaches a caller.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import letta_client
from letta_client import Letta

from dcf.adapters.letta.options import LettaOptions
from dcf.errors import AgentUnknown, DcfError, InvalidArgument, PlatformUnavailable

_log = logging.getLogger(__name__)

_IDLE_S = 2.0
"""Idle seconds after which a connection is not used again; Letta's HTTP server closes it after 5."""
_READ_RETRIES = 1
_LONGEST_PAUSE_S = 300.0

Failure = Callable[[], DcfError]


class LettaClient:
    """Two views of one client: `read` may repeat a request once, `write` sends it once and waits longer."""

    def __init__(self, options: LettaOptions) -> None:
        limits = httpx.Limits(max_connections=50, max_keepalive_connections=20, keepalive_expiry=_IDLE_S)
        read_timeout = httpx.Timeout(options.read_timeout_s, connect=options.connect_timeout_s)
        write_timeout = httpx.Timeout(options.write_timeout_s, connect=options.connect_timeout_s)
        self.read = Letta(
            base_url=options.base_url,
            api_key=options.api_key or "none",
            timeout=read_timeout,
            max_retries=_READ_RETRIES,
            http_client=letta_client.DefaultHttpxClient(limits=limits, timeout=read_timeout),
        )
        self.write = self.read.with_options(max_retries=0, timeout=write_timeout)

    def close(self) -> None:
        """Close the connections."""
        self.read.close()


@contextmanager
def asking(*, unknown: Failure | None = None, refused: Failure | None = None) -> Iterator[None]:
    """Raise every failure of a request as an error of dcf.

    `unknown` makes the error for an id that does not exist or has the wrong form; `refused` the one for a request that
    Letta understood and refused.
    """
    try:
        yield
    except letta_client.APIStatusError as error:
        raise _of_status(error, unknown, refused) from None
    except letta_client.APITimeoutError:
        raise PlatformUnavailable("Letta did not answer in time.", retry_after_s=10) from None
    except letta_client.APIConnectionError:
        raise PlatformUnavailable("Letta cannot be reached at LETTA_BASE_URL.") from None
    except (letta_client.LettaError, httpx.HTTPError, ValueError, TypeError, AttributeError):
        # The client builds its objects from any answer. If the server is not Letta, that ends in one of the last
        # three errors.
        _log.warning("an answer of Letta could not be read", exc_info=True)
        raise PlatformUnavailable("Letta gave an answer that cannot be understood.", retry_after_s=30) from None


def agent_unknown(agent_id: str) -> AgentUnknown:
    """Return the error for an agent that does not exist."""
    return AgentUnknown(f"Letta has no agent '{agent_id[:80]}'.")


def check_text(text: str, noun: str) -> str:
    """Raise InvalidArgument for text that Letta's database cannot store; Letta would answer with a 500."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidArgument(f"The {noun} has a character that is no text (NUL or half a surrogate pair).")
    return text


def _of_status(error: letta_client.APIStatusError, unknown: Failure | None, refused: Failure | None) -> DcfError:
    status = error.status_code
    if status in {401, 403, 429} or status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return _not_now(error.response)
    if unknown is not None and status in {404, 422}:
        return unknown()
    if refused is not None:
        return refused()
    if status == httpx.codes.CONFLICT:
        return PlatformUnavailable("Letta is changing the same thing for somebody else.", retry_after_s=1)
    return InvalidArgument(f"Letta refuses the request (HTTP {status}).")


def _not_now(response: httpx.Response) -> PlatformUnavailable:
    status = response.status_code
    if status in {401, 403}:
        return PlatformUnavailable("Letta refuses the key: check LETTA_API_KEY.", retry_after_s=60)
    if status == httpx.codes.TOO_MANY_REQUESTS:
        pause = _retry_after(response)
        return PlatformUnavailable("Letta, or the model behind it, asks to be called less often.", retry_after_s=pause)
    return PlatformUnavailable(f"Letta failed with an error of its own (HTTP {status}).")


def _retry_after(response: httpx.Response) -> float:
    try:
        return min(max(float(response.headers["retry-after"]), 1.0), _LONGEST_PAUSE_S)
    except (KeyError, ValueError):
        return 10.0
