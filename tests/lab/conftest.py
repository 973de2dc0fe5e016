"""The lab quickens the process that it works in; what other tests find afterwards is as it was."""

from collections.abc import Iterator

import pytest

from dcf.features.accounts import model, storage
from dcf.runs.notifying import notifications
from dcf.store.cluster import connections as cluster
from dcf.store.events import inbox
from dcf.store.transaction import attempts, prefetched

_QUICKENED = (
    (notifications, "STALLED_S"),
    (inbox, "VISIBILITY_S"),
    (prefetched, "_PACE"),
    (attempts, "_WAIT_MS"),
    (cluster, "_CONFIRM_MS"),
    (model, "DAY"),
    (storage, "PROTOCOL"),
)


@pytest.fixture(scope="module", autouse=True)
def _as_it_was() -> Iterator[None]:
    """Set back what `lab.server_time.quicken` changes."""
    before = [(module, name, getattr(module, name)) for module, name in _QUICKENED]
    yield
    for module, name, value in before:
        setattr(module, name, value)
