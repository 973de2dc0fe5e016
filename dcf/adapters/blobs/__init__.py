"""Stores of the bytes of artifacts that are too long for Redis: a directory, or an S3-compatible bucket.

`open_blob_store` reads DCF_ARTIFACT_STORE. A store is imported when one is opened.
"""

from pathlib import Path

from dcf.errors import InvalidArgument
from dcf.ports import BlobStore

_DIRECTORY = "dir:"
_BUCKET = "s3://"


def open_blob_store(where: str | None) -> BlobStore | None:
    """Open the store of a setting: `dir:/srv/artifacts` or `s3://bucket/prefix`. Return None if it is not set."""
    if where is None:
        return None
    if where.startswith(_DIRECTORY):
        from dcf.adapters.blobs.directory import DirectoryBlobs  # noqa: PLC0415 - only where it is used

        return DirectoryBlobs(Path(where.removeprefix(_DIRECTORY)))
    if where.startswith(_BUCKET):
        from dcf.adapters.blobs.bucket import BucketBlobs  # noqa: PLC0415 - an optional extra

        return BucketBlobs(where)
    raise InvalidArgument(
        "DCF_ARTIFACT_STORE names no store.", "Set it to dir:/srv/artifacts or s3://bucket/prefix, or leave it unset."
    )
