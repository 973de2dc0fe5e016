"""The Redis keys of artifacts. Those of a run are kinds of `store/keys/kinds.py`, and live and go with the run.

| key | type | writer | lifetime |
|---|---|---|---|
| `dp:wf:<id>:artifacts` | hash | putting an artifact: the record of each by its id; under "" how many there are, and bytes | the run's retention |
| `dp:wf:<id>:shelf` | sorted set | the same, in the same transaction: ids by when they were put | the run's retention |
| `dp:wf:<id>:uploads` | hash | the same: artifacts of which parts are missing | the run's retention |
| `dp:wf:<id>:content` | hash | the same: bytes that are kept in Redis, by name | the run's retention |
| `cp:idx:blobs` | sorted set | before bytes go to the artifact store: what they are kept under (run, creation time), by the latest write | until the run and then the bytes are gone |
| `cp:idx:uploads` | sorted set | before an upload begins: uploads by when they are dropped | until they are whole or dropped |
| `cp:idx:quota:artifacts:<owner>` | hash | putting an artifact: bytes of an API key by run; under "" all of them | while it holds anything |
| `cp:idx:quota:arriving:<owner>` | sorted set | the same: what was counted a moment ago, with its sender and size, by when | until a later put, or a sweep, finds whether it was kept |
"""

from typing import Final

BLOBS: Final = "cp:idx:blobs"
UPLOADS: Final = "cp:idx:uploads"


def upload_entry(workflow_id: str, artifact_id: str, upload_id: str) -> str:
    """Return the entry of an upload in the index of uploads."""
    return f"{workflow_id}/{artifact_id}/{upload_id}"


def arriving(owner: str) -> str:
    """Return the key of the bytes that were counted for an owner, and whose record may not stand yet."""
    return f"cp:idx:quota:arriving:{owner}"
