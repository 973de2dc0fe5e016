"""Delivers events to webhooks: looks up what is to be done, signs and sends it, and records that it was accepted.

A receiver that does not answer is left alone for a while, longer each time; all processes keep to that. An event
that failed stays in the outbox and is sent again under the same id. The signed text has the time of Redis: the clock of
this host may be wrong, and receivers refuse old requests. This module makes no decisions about runs.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from dcf.errors import DcfError, PlatformUnavailable
from dcf.features.webhooks.bodies import body_of, headers_of
from dcf.features.webhooks.posting import Answered, Poster
from dcf.features.webhooks.storage import Webhook, Webhooks
from dcf.features.webhooks.tokens import Offer
from dcf.ports import Delivery, Platform, Undelivered
from dcf.values.json_text import Json
from dcf.values.text_pieces import clip
from dcf.values.webhook_signatures import message_id_of

KIND: Final = "webhook"

_ACCEPTED: Final = 200
_REDIRECT: Final = 300
_CLIENT_ERROR: Final = 400
_GONE: Final = 410
_SERVER_ERROR: Final = 500
"""Statuses of HTTP that mean something here. The `http` package is not imported, since every command imports this."""

_LATER: Final = frozenset({408, 421, 425, 429})
"""Answers below 500 that may be others later."""

_REFUSED_S: Final = 30.0
"""Seconds until an event that a receiver refused is sent again; somebody may have corrected it by then."""


class Offering(Protocol):
    """Where work comes from (`features/webhooks/operations.py`)."""

    def of_event(self, agent: Webhook, event: Mapping[str, Json]) -> Offer | None:
        """Return the work that an event is about; None if there is none."""
        ...

    def accept(self, agent: Webhook, offer: Offer) -> None:
        """Record that the agent has taken the work."""
        ...


class WebhookDeliverer:
    """Agents that are URLs."""

    is_remote = True

    def __init__(self, webhooks: Webhooks, offers: Offering, poster: Poster, answers: str) -> None:
        """Deliver; `answers` is the URL below which this server takes task tokens."""
        self._webhooks = webhooks
        self._offers = offers
        self._poster = poster
        self._answers = answers

    def deliver(self, agent_id: str, event_id: str, event: Mapping[str, Json]) -> Delivery:
        """Send the event, with its work if it brings any, unless the receiver is to be left alone."""
        agent = self._webhooks.get(agent_id)
        if agent is None:
            return Delivery(failure=Undelivered.UNKNOWN_AGENT, error=f"There is no webhook '{clip(agent_id)}'.")
        rest = self._webhooks.resting(agent_id)
        if rest is not None:
            return _unavailable(rest.error, rest.for_s)
        offer, message_id = self._offers.of_event(agent, event), message_id_of(agent_id, event_id)
        work, token = (None, None) if offer is None else (offer.work, offer.task_token)
        body = body_of(agent_id, event, work, token, self._answers)
        keys = [(key.key_id, key.secret) for key in agent.keys]
        headers = headers_of(message_id, int(self._webhooks.now()), body, keys, event.get("traceparent"))
        try:
            answered = self._poster.post(agent.url, headers, body)
        except PlatformUnavailable as error:
            return self._rests(agent_id, error.message)
        except DcfError as error:
            return Delivery(failure=Undelivered.REFUSED, error=error.message, retry_after_s=_REFUSED_S)
        return self._outcome(agent, answered, message_id, offer)

    def _outcome(self, agent: Webhook, answered: Answered, message_id: str, offer: Offer | None) -> Delivery:
        status = answered.status
        if _ACCEPTED <= status < _REDIRECT:
            self._webhooks.woke(agent.agent_id)
            if offer is not None:
                self._offers.accept(agent, offer)
            return Delivery(message_id=message_id)
        if status == _GONE:
            error = f"The webhook '{clip(agent.agent_id)}' answers that it is gone (410)."
            return Delivery(failure=Undelivered.UNKNOWN_AGENT, error=error)
        if status in _LATER or status >= _SERVER_ERROR:
            error = f"The webhook '{clip(agent.agent_id)}' answered {status}."
            return self._rests(agent.agent_id, error, _seconds(answered.retry_after, self._webhooks.now()))
        reason = "a redirect, which is not followed" if status < _CLIENT_ERROR else "a refusal"
        error = f"The webhook '{clip(agent.agent_id)}' answered {status}, {reason}."
        return Delivery(failure=Undelivered.REFUSED, error=error, retry_after_s=_REFUSED_S)

    def _rests(self, agent_id: str, error: str, asked_s: float | None = None) -> Delivery:
        return _unavailable(error, self._webhooks.let_rest(agent_id, error, asked_s).for_s)


def webhook_platform(deliverer: WebhookDeliverer) -> Platform:
    """Return webhooks as a platform: its agents are registered, and what they need comes with the work."""
    return Platform(kind=KIND, deliverer=deliverer, has_one_server=False)


def _unavailable(error: str, retry_after_s: float) -> Delivery:
    return Delivery(failure=Undelivered.AGENT_UNAVAILABLE, error=error, retry_after_s=retry_after_s)


def _seconds(retry_after: str | None, now: float) -> float | None:
    """Return what a Retry-After header asks for: seconds, or until a date; None if it asks for nothing readable."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after.strip()[:9])
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - few receivers name a date

    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - now)
    except (ValueError, OverflowError):
        return None
