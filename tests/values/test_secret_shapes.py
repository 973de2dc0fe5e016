"""Secrets of known shapes are taken out and counted; what only looks long stays."""

import random
import string

from dcf.values.secret_shapes import PERSONAL, SHAPES, redact
from tests.support.tables import rows

LETTERS = string.ascii_letters + string.digits


def drawn(length: int, alphabet: str = LETTERS) -> str:
    return "".join(random.Random(length).choices(alphabet, k=length))


SECRETS = {
    "aws_access_key": "AKIA" + drawn(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "aws_secret_key": f"AWS_SECRET_ACCESS_KEY={drawn(40)}",
    "github_token": "ghp_" + drawn(36),
    "gitlab_token": "glpat-" + drawn(20),
    "anthropic_key": "sk-ant-api03-" + drawn(93),
    "openai_key": "sk-proj-" + drawn(74),
    "slack_token": "xoxb-123456789012-" + drawn(24),
    "slack_webhook": "https://hooks.slack.com/services/T00000000/B00000000/" + drawn(24),
    "google_key": "AIza" + drawn(35),
    "stripe_key": "sk_live_" + drawn(24),
    "npm_token": "npm_" + drawn(36),
    "pypi_token": "pypi-AgEIcHlwaS5vcmc" + drawn(70),
    "jwt": f"eyJ{drawn(20)}.eyJ{drawn(40)}.{drawn(43)}",
    "dcf_lease": "lease-" + drawn(32, "0123456789abcdef"),
    "url_password": f"redis://dcf:{drawn(16)}@h",
    "dcf_key": f"dcf_{drawn(12, '0123456789abcdef')}_{drawn(43)}",
    "private_key": f"-----BEGIN RSA PRIVATE KEY-----\n{drawn(200)}\n-----END RSA PRIVATE KEY-----",
}
"""One of each kind, made up."""


def test_there_is_an_example_of_every_shape() -> None:
    assert set(SECRETS) == set(SHAPES)


@rows("kind", SECRETS)
def test_a_secret_of_a_known_shape_is_taken_out_and_counted(kind: str) -> None:
    value = {"text": f"it says: {SECRETS[kind]}, twice: '{SECRETS[kind]}'", "list": [1, None, True]}
    redacted = redact(value)
    assert redacted.counts == {kind: 2}
    assert SECRETS[kind][-12:] not in str(redacted.value)
    assert redacted.value["list"] == [1, None, True]
    assert redacted.value["text"].count("[redacted ") == 2


@rows(
    "text",
    [
        "create_workflow_control_plane_for_everybody",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "AbstractSingletonProxyFactoryBeanConfigurationProvider",
        "sk-learn and sketch-based-indexes-of-text",
        "ghp_short xoxb- AKIA eyJ.eyJ.x",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "dcf/store/text_index/scripts.py:123",
        "see https://example.org:8080/a@b and lease-holders",
    ],
)
def test_redaction_eats_identifiers(text: str) -> None:
    """It does not: ordinary long identifiers stay as they are."""
    assert redact(text).value == text
    assert redact(text).counts == {}


def test_what_is_a_persons_is_taken_out_where_that_is_asked_for() -> None:
    text = "ask ada@example.org"
    assert redact(text).value == text
    assert redact(text, {**SHAPES, **PERSONAL}).counts == {"email": 1}


@rows(
    ("kind", "text"),
    [
        ("phone", "+1 (555) 123-4567"),
        ("phone", "+49 30 1234 5678"),
        ("phone", "(555) 123-4567"),
        ("phone", "555-123-4567"),
        ("social_security_number", "123-45-6789"),
        ("payment_card", "4111 1111 1111 1111"),
        ("payment_card", "5500-0000-0000-0004"),
        ("payment_card", "378282246310005"),
    ],
)
def test_numbers_of_persons_are_taken_out_by_their_kinds(kind: str, text: str) -> None:
    redacted = redact(f"It is {text}.", PERSONAL)
    assert (redacted.value, redacted.counts) == (f"It is [redacted {kind}].", {kind: 1})


@rows(
    "text",
    [
        "2026-11-29T19:30:44.396000Z",
        "1795978922897000",
        "version 3.11.7, build 20261129-1930",
        "180a910a-4613-4706-ab3a-5919f4517606",
        "RFC 9110, section 15.5.1",
        "10.0.0.12:8337",
        "a + 12 34 56",
    ],
)
def test_times_versions_and_identifiers_are_no_numbers_of_persons(text: str) -> None:
    assert redact(text, PERSONAL).value == text


def test_the_names_of_members_are_looked_at_too() -> None:
    assert redact({SECRETS["github_token"]: 1}).value == {"[redacted github_token]": 1}
