"""Reads a Map's items: from one file, from the files that a manifest names, or from the listing of a prefix. Pure.

Works on a port, `Files`, so that a server's directories and a simulation's texts give the same items. Nothing here
opens a file itself. The terms are those of Amazon S3: a bucket, a key in it, a prefix of keys.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Final, Protocol, TextIO

from dcf.asl.items.reading import read_items, read_json, reader_failure, records, taken
from dcf.asl.steps import NeedItems
from dcf.errors import StateError
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip

_LIST: Final = "s3:listObjectsV2"
_GET: Final = ("s3:getObject", "s3")


@record(frozen=True, slots=True, kw_only=True)
class Listed:
    """One file in a listing; `modified` is in seconds since the epoch."""

    key: str
    size: int
    modified: int
    etag: str

    def as_item(self) -> dict[str, Json]:
        """Return the Map item that AWS makes of a listed object."""
        return {
            "Etag": f'"{self.etag}"',
            "Key": self.key,
            "LastModified": self.modified,
            "Size": self.size,
            "StorageClass": "STANDARD",
        }


class Files(Protocol):
    """The port to files; every failure raises a `reader_failure`."""

    def open(self, bucket: str | None, key: str) -> AbstractContextManager[TextIO]:
        """Open a file for reading from its beginning, with its line ends unchanged."""

    def listing(self, bucket: str | None, prefix: str) -> Iterator[Listed]:
        """List the files whose key begins with the prefix, sorted by key."""


def bring(need_items: NeedItems, files: Files) -> Json:
    """Read the items that an ItemReader names; raise StateError States.ItemReaderFailed."""
    arguments: Mapping[str, Json] = need_items.arguments if isinstance(need_items.arguments, dict) else {}
    bucket, config = _text(arguments, "Bucket"), need_items.config
    if need_items.resource.endswith(_LIST):
        return taken(_listed(files, bucket, _text(arguments, "Prefix") or "", config), config)
    if not need_items.resource.endswith(_GET):
        raise reader_failure(f"'{clip(need_items.resource)}' is not a place to read from: use s3:getObject or {_LIST}.")
    key = _text(arguments, "Key")
    if key is None:
        raise reader_failure("The ItemReader names no file: Key is missing.")
    if config.get("InputType") == "MANIFEST" or "ManifestType" in config:
        return taken(_of_manifest(files, bucket, key, config), config)
    with files.open(bucket, key) as file:
        return read_items(file, config, name_of(bucket, key))


def missing(bucket: str | None, key: str) -> StateError:
    """Return the error for a file that is missing or may not be read."""
    return reader_failure(f"There is no file '{clip(name_of(bucket, key))}'.")


def name_of(bucket: str | None, key: str) -> str:
    """Return the name of a file as the definition writes it."""
    return key if bucket is None else f"{bucket}/{key}"


def _text(arguments: Mapping[str, Json], name: str) -> str | None:
    argument = arguments.get(name)
    if argument is not None and not isinstance(argument, str):
        raise reader_failure(f"{name} must be a string.")
    return argument


def _listed(files: Files, bucket: str | None, prefix: str, config: Mapping[str, Json]) -> Iterator[Json]:
    flatten = config.get("Transformation") == "LOAD_AND_FLATTEN"
    for entry in files.listing(bucket, prefix):
        if flatten:
            yield from _within(files, bucket, entry.key, config)
        else:
            yield entry.as_item()


def _within(files: Files, bucket: str | None, key: str, config: Mapping[str, Json]) -> Iterator[Json]:
    with files.open(bucket, key) as file:
        yield from records(file, config, name_of(bucket, key))


def _of_manifest(files: Files, bucket: str | None, key: str, config: Mapping[str, Json]) -> Iterator[Json]:
    """Read all files that a manifest names, one after another, as one sequence of items."""
    if config.get("ManifestType") == "ATHENA_DATA":
        plain = {name: value for name, value in config.items() if name != "ManifestType"}
        for place in _athena_places(files, bucket, key):
            yield from _within(files, *place, plain)
        return
    with files.open(bucket, key) as file:
        manifest = read_json(file, name_of(bucket, key))
    columns = _inventory_columns(manifest, key)
    owner = str(manifest.get("destinationBucket", "")).rpartition(":")[2] or bucket
    for entry in manifest["files"]:
        if not isinstance(entry, dict) or not isinstance(entry.get("key"), str):
            raise _no_manifest(key)
        yield from _within(files, owner, entry["key"], columns)


def _inventory_columns(manifest: Json, key: str) -> dict[str, Json]:
    """Return how to read the files of an Amazon S3 inventory: tables without a header row."""
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), list):
        raise _no_manifest(key)
    if manifest.get("fileFormat", "CSV") != "CSV":
        raise reader_failure(f"Inventories of type {clip(str(manifest['fileFormat']))} cannot be read: use CSV.")
    schema = manifest.get("fileSchema")
    if not isinstance(schema, str):
        raise _no_manifest(key)
    headers = [column.strip() for column in schema.split(",")]
    return {"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": headers}


def _athena_places(files: Files, bucket: str | None, key: str) -> Iterator[tuple[str, str]]:
    """List the files that Amazon Athena wrote: one `s3://bucket/key` per line."""
    named = {"InputType": "CSV", "CSVHeaderLocation": "GIVEN", "CSVHeaders": ["uri"]}
    for row in _within(files, bucket, key, named):
        owner, _, path = row["uri"].removeprefix("s3://").partition("/")
        if not row["uri"].startswith("s3://") or not owner or not path:
            raise _no_manifest(key)
        yield owner, path


def _no_manifest(key: str) -> StateError:
    return reader_failure(f"The file '{clip(key)}' is not a manifest.")
