"""Finds secrets by the shapes that their makers give them, and replaces each by its kind. Pure.

Only known shapes count: a long name, a hash or a UUID is no secret, and stays. A secret without a known shape, such as
a password, is not found: this makes accidents rarer, but does not prevent them.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from dcf.values.json_text import Json
from dcf.values.records import record

_EDGE: Final = r"(?<![A-Za-z0-9_-])"
_END: Final = r"(?![A-Za-z0-9_-])"

SHAPES: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(shape)
    for name, shape in {
        "private_key": r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?!-----BEGIN )[\s\S]){0,16384}?(?:-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        "dcf_key": rf"{_EDGE}dcf_[0-9a-f]{{12}}_[A-Za-z0-9_-]{{43}}{_END}",
        "dcf_lease": rf"{_EDGE}lease-[0-9a-f]{{32}}{_END}",
        "url_password": r"(?<=://)[^\s/:@]{0,64}:[^\s/@]{1,256}(?=@)",
        "aws_access_key": rf"{_EDGE}(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{{16}}{_END}",
        "aws_secret_key": r"(?i:aws_secret_access_key)[\"']?\s{0,5}[=:]\s{0,5}[\"']?"
        r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])",
        "github_token": rf"{_EDGE}(?:gh[pousr]_[A-Za-z0-9]{{36,251}}|"
        rf"github_pat_[A-Za-z0-9]{{22}}_[A-Za-z0-9]{{59}}){_END}",
        "gitlab_token": rf"{_EDGE}glpat-[A-Za-z0-9_-]{{20,60}}{_END}",
        "anthropic_key": rf"{_EDGE}sk-ant-(?:api|admin|oat)[0-9]{{2}}-[A-Za-z0-9_-]{{60,200}}{_END}",
        "openai_key": rf"{_EDGE}sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{{40,200}}|"
        rf"[A-Za-z0-9]{{20}}T3BlbkFJ[A-Za-z0-9]{{20}}|[A-Za-z0-9]{{48}}){_END}",
        "slack_token": rf"{_EDGE}(?:xox[abeoprs]-[A-Za-z0-9-]{{10,250}}|xapp-[0-9]-[A-Za-z0-9-]{{20,250}}){_END}",
        "slack_webhook": r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,200}",
        "google_key": rf"{_EDGE}AIza[A-Za-z0-9_-]{{35}}{_END}",
        "stripe_key": rf"{_EDGE}[sr]k_(?:live|test)_[A-Za-z0-9]{{16,247}}{_END}",
        "npm_token": rf"{_EDGE}npm_[A-Za-z0-9]{{36}}{_END}",
        "pypi_token": rf"{_EDGE}pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{{50,400}}{_END}",
        "jwt": rf"{_EDGE}eyJ[A-Za-z0-9_-]{{10,4096}}\.eyJ[A-Za-z0-9_-]{{10,8192}}\.[A-Za-z0-9_-]{{20,2048}}{_END}",
    }.items()
}
"""The shapes by kind, in the order in which they are looked for."""

PERSONAL: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(shape)
    for name, shape in {
        "email": r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@"
        r"(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b",
        "payment_card": rf"{_EDGE}(?:(?:4\d{{3}}|5[1-5]\d{{2}}|2[2-7]\d{{2}}|6011|65\d{{2}})(?:[ -]?\d{{4}}){{3}}|"
        rf"3[47]\d{{2}}[ -]?\d{{6}}[ -]?\d{{5}}){_END}",
        "social_security_number": rf"{_EDGE}\d{{3}}-\d{{2}}-\d{{4}}{_END}",
        "phone": rf"(?<![A-Za-z0-9_+-])\+[1-9]\d{{0,2}}(?:[ .-]?\(?\d{{2,4}}\)?){{2,4}}{_END}|"
        rf"(?<![A-Za-z0-9_])\(\d{{3}}\) ?\d{{3}}[ .-]\d{{4}}{_END}|{_EDGE}\d{{3}}([.-])\d{{3}}\1\d{{4}}{_END}",
    }.items()
}
"""Shapes of personal data, which are searched only on request."""


@record(frozen=True, slots=True, kw_only=True)
class Redacted:
    """A value without its secrets, and how many of each kind were taken out."""

    value: Json
    counts: Mapping[str, int] = field(default_factory=dict)


def redact(value: Json, shapes: Mapping[str, re.Pattern[str]] = SHAPES) -> Redacted:
    """Return a JSON value with `[redacted KIND]` in place of each secret, in texts and in names of members."""
    counts: Counter[str] = Counter()
    return Redacted(value=_without(value, shapes, counts), counts=dict(sorted(counts.items())))


def _without(value: Json, shapes: Mapping[str, re.Pattern[str]], counts: "Counter[str]") -> Json:
    if isinstance(value, str):
        return _text_without(value, shapes, counts)
    if isinstance(value, list):
        return [_without(item, shapes, counts) for item in value]
    if isinstance(value, dict):
        return {_text_without(name, shapes, counts): _without(member, shapes, counts) for name, member in value.items()}
    return value


def _text_without(text: str, shapes: Mapping[str, re.Pattern[str]], counts: "Counter[str]") -> str:
    for kind, shape in shapes.items():
        text, count = shape.subn(f"[redacted {kind}]", text)
        if count:
            counts[kind] += count
    return text
