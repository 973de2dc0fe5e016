"""Single JSON documents, from Python."""

import json
from typing import Any

import pytest

from dcf.client import Client
from dcf.errors import Refused
from dcf.features.documents.messages import wish_of
from dcf.values.json_paths import parse_path
from tests.support.tables import rows


def whole(client: Client, key: str) -> Any:
    return json.loads(client.json_read(key).value_json or "")


def test_a_text_stays_a_text_and_a_value_a_value(client: Client, run_id: str) -> None:
    key = f"doc:{run_id}"
    made = client.json_create(key, {"items": []})
    assert (made.redis_key, made.changed, made.doc_json) == (key, True, '{"items":[]}')
    client.json_set(key, "$.text", "123")
    client.json_set(key, "$.plain", '{"a": 1}', as_text=True)
    client.json_set(key, "$.nothing", None)
    client.json_append(key, "$.items", ["a", "b"], spread=True)
    client.json_ensure(key, "$.text", "other")
    assert client.json_increment(key, "$.count", "2").value_json == "2"
    assert whole(client, key) == {
        "items": ["a", "b"],
        "text": "123",
        "plain": '{"a": 1}',
        "nothing": None,
        "count": 2,
    }
    client.json_merge(key, "$", {"plain": None, "nothing": None, "items": None})
    client.json_copy(key, "$.text", "$.copy")
    client.json_move(key, "$.text", "$.moved")
    assert whole(client, key) == {"count": 2, "copy": "123", "moved": "123"}
    assert client.json_delete(key, "$").changed


def test_a_document_is_made_without_a_key_and_a_repeated_request_is_applied_once(client: Client, run_id: str) -> None:
    key = client.json_create(request_id=run_id).redis_key
    assert (client.json_create(request_id=run_id).redis_key, whole(client, key)) == (key, {})
    first = client.json_increment(key, "$.count", 1, request_id=f"{run_id}-2")
    assert client.json_increment(key, "$.count", 1, request_id=f"{run_id}-2").repeated
    assert (first.repeated, whole(client, key)) == (False, {"count": 1})
    with pytest.raises(Refused) as refused:
        client.json_create(key)
    assert refused.value.code == "already_exists"


@rows(
    ("operation", "asked", "digest"),
    [
        ("json_delete", {"path": "$.b"}, "b7e5289eec70d9bd"),
        ("json_copy", {"from_path": "$.b", "to_path": "$.c", "overwrite": False}, "2a5f8281585fe866"),
    ],
)
def test_a_request_is_known_again_by_servers_of_other_versions(
    operation: str, asked: dict[str, Any], digest: str
) -> None:
    """The digest is kept with what a request was answered."""
    assert wish_of(operation, "doc:a", parse_path("$.b"), None, request_id=None, asked=asked).digest == digest
