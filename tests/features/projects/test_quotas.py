"""Projects count in the quotas of the key that created them, until they are deleted."""

import secrets
from contextlib import closing

import pytest
import redis

from dcf.application.application import Application
from dcf.core.access.quotas import Account, Quotas
from dcf.features.documents.storage import EditedDocument, EditOutcome, Edits
from dcf.features.projects.model import ProjectPut, ProjectWish
from dcf.store.access.authors import authored_by
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.keys import table as keys
from dcf.store.keys.projects import project
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal


class Owner:
    """A key with small quotas that puts projects."""

    def __init__(self, application: Application, quotas: Quotas) -> None:
        self._app = application
        self.account = Account(key_id=secrets.token_hex(6), quotas=quotas)

    def put(self, name: str, by: str | None = None, **metadata: Json) -> ProjectPut | Refusal:
        author = by or f"key:{self.account.key_id}"
        with authored_by(author, self.account):
            return self._app.projects.put(ProjectWish(project_id=name, paths=(), by=author, metadata=metadata))

    def write(self, name: str, document: Json) -> None:
        written = EditedDocument(document=document, receipt={}, life_s=60)
        connections = Connections(open_pool(self._app.redis_url))
        with closing(connections), authored_by(f"key:{self.account.key_id}", self.account):
            Edits(connections).transact(name, name, lambda _: EditOutcome(answer=None, written=written))

    def holds(self) -> tuple[int, int]:
        usage = self._app.usage.of(self.account.key_id)
        return usage.stored_bytes, usage.documents


@pytest.fixture
def owner(application: Application) -> Owner:
    return Owner(application, Quotas(documents=2, stored_bytes=3000))


@pytest.fixture
def names() -> list[str]:
    return [f"quota-{secrets.token_hex(6)}" for _ in range(4)]


def test_projects_count_as_documents_until_they_are_deleted(
    application: Application, owner: Owner, names: list[str]
) -> None:
    large, *more = names
    for _ in range(2):
        assert isinstance(owner.put(large, x="y" * 2000), ProjectPut)
    assert 2000 < owner.holds()[0] < 2500, "the same again is counted once"
    refused = owner.put(more[0], x="y" * 2000)
    assert isinstance(refused, Refusal)
    assert refused.code == "quota_exceeded"
    assert application.projects.those([more[0]]) == []
    assert [isinstance(owner.put(project_id), ProjectPut) for project_id in more] == [True, False, False]
    assert owner.holds()[1] == 2
    for project_id in (large, more[0]):
        application.projects.delete(project_id)
    assert owner.holds() == (0, 0)


def test_a_project_that_is_put_gives_back_documents_that_have_expired(
    application: Application, owner: Owner, names: list[str], raw_redis: redis.Redis
) -> None:
    document, key_id = f"doc:{names[1]}", owner.account.key_id
    owner.write(document, {"text": "x" * 2000})
    raw_redis.delete(document)  # as it expires
    raw_redis.zadd(keys.quota(key_id, "docs"), {document: 1})
    assert isinstance(owner.put(names[0]), ProjectPut)
    assert owner.holds()[1] == 1
    application.projects.delete(names[0])
    assert raw_redis.hget(keys.quota(key_id), "bytes") is None


def test_the_sweep_gives_back_a_project_that_is_gone(
    application: Application, owner: Owner, names: list[str], raw_redis: redis.Redis
) -> None:
    """A process died after it deleted one."""
    owner.put(names[0])
    assert owner.holds()[1] == 1
    raw_redis.delete(project(names[0]))
    application.sweep.look(repair=True)
    assert owner.holds() == (0, 0)
