"""Parses, checks and compiles Parallel and Map: the states that contain machines. Pure.

The parser of the inner machines is passed in: the parser of machines calls this module, so it cannot be imported
here.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from dcf.asl.expressions.templates import Template
from dcf.asl.machine import Machine, Map, Parallel
from dcf.asl.states import Batcher, ItemReader, Writer
from dcf.asl.syntax.failures import read_catchers, read_retriers
from dcf.asl.syntax.fields import DefinitionFields
from dcf.asl.syntax.flow import read_flow
from dcf.values.text_pieces import clip

if TYPE_CHECKING:
    from dcf.values.json_text import Json

WORK: Final = frozenset({"Type", "Comment", "QueryLanguage", "Next", "End", "Assign", "Retry", "Catch"})
WORK_JSONPATH: Final = frozenset({"InputPath", "OutputPath", "ResultPath", "ResultSelector"})
WORK_JSONATA: Final = frozenset({"Output"})
PARALLEL: Final = frozenset({"Branches"})
MAP: Final = frozenset(
    {
        "ItemProcessor",
        "Iterator",
        "ItemSelector",
        "MaxConcurrency",
        "ToleratedFailureCount",
        "ToleratedFailurePercentage",
        "ItemReader",
        "ItemBatcher",
        "ResultWriter",
        "Label",
    }
)

_DISTRIBUTED_ONLY: Final = ("ItemReader", "ItemBatcher", "ResultWriter", "Label")
_READER_CONFIG: Final = frozenset(
    {
        "InputType",
        "CSVHeaderLocation",
        "CSVHeaders",
        "CSVDelimiter",
        "MaxItems",
        "MaxItemsPath",
        "ManifestType",
        "Transformation",
        "ItemsPointer",
    }
)
_INPUT_TYPES: Final = ("CSV", "JSON", "JSONL", "PARQUET", "MANIFEST")
_DELIMITERS: Final = ("COMMA", "PIPE", "SEMICOLON", "SPACE", "TAB")
_LABEL_LIMIT: Final = 40
_LABEL_REFUSED: Final = frozenset('?*<>{}[]:;,\\|^~$#%&`"')


def read_parallel(
    fields: DefinitionFields, nest: Callable[[DefinitionFields], Machine], following: str | None
) -> Parallel:
    """Compile a Parallel state."""
    written: list[Json] = fields.value("Branches", list, "an array of machines") or []
    if fields.document.get("Branches", []) == []:
        message = "Branches needs at least one machine."
        fields.note(None, "missing_field", message, "Add a branch with StartAt and States.")
    owners = [f"{fields.owner}, branch {at}" for at in range(len(written))]
    opened = [fields.members(f"/Branches/{at}", branch, owners[at]) for at, branch in enumerate(written)]
    return Parallel(
        flow=read_flow(fields, works=True),
        next=following,
        retriers=read_retriers(fields),
        catchers=read_catchers(fields),
        branches=tuple(nest(branch) for branch in opened if branch is not None),
    )


def read_map(fields: DefinitionFields, nest: Callable[[DefinitionFields], Machine], following: str | None) -> Map:
    """Compile a Map state."""
    processor, distributed = _processor(fields, nest)
    if not distributed:
        _refuse_inline(fields)
    return Map(
        flow=read_flow(_without_template(fields), works=True),
        next=following,
        retriers=read_retriers(fields),
        catchers=read_catchers(fields),
        processor=processor,
        distributed=distributed,
        items=_items(fields),
        selector=_selector(fields),
        concurrency=fields.number("MaxConcurrency", 0),
        tolerated_count=fields.number("ToleratedFailureCount", 0),
        tolerated_percentage=fields.number("ToleratedFailurePercentage", 0, 100, fraction=True),
        reader=_reader(fields.part("ItemReader")),
        batcher=_batcher(fields.part("ItemBatcher")),
        writer=_writer(fields.part("ResultWriter")),
        label=_label(fields),
    )


def _without_template(fields: DefinitionFields) -> DefinitionFields:
    """Hide the deprecated Parameters of a Map: they are its ItemSelector, not part of its data flow."""
    document = {name: value for name, value in fields.document.items() if name not in ("Parameters", "Arguments")}
    return DefinitionFields(
        document=document,
        pointer=fields.pointer,
        owner=fields.owner,
        findings=fields.findings,
        jsonata=fields.jsonata,
    )


def _processor(fields: DefinitionFields, nest: Callable[[DefinitionFields], Machine]) -> tuple[Machine, bool]:
    fields.exclusive("ItemProcessor", "Iterator")
    name = "Iterator" if "Iterator" in fields.document else "ItemProcessor"
    part = fields.part(name)
    if part is None:
        if name not in fields.document:
            fields.note(None, "missing_field", "ItemProcessor is missing.", "Add the machine that runs for every item.")
        return Machine(start_at="", states={}), False
    distributed = _mode(part)
    return nest(part), distributed


def _mode(processor: DefinitionFields) -> bool:
    config = processor.part("ProcessorConfig")
    if config is None:
        return False
    config.allow({"Mode", "ExecutionType"})
    distributed = config.choice("Mode", ("INLINE", "DISTRIBUTED")) == "DISTRIBUTED"
    config.choice("ExecutionType", ("STANDARD", "EXPRESS"))
    if distributed and "ExecutionType" not in config.document:
        config.note(None, "missing_field", "ExecutionType is missing.", "Use STANDARD or EXPRESS with DISTRIBUTED.")
    if not distributed and "ExecutionType" in config.document:
        message = "ExecutionType belongs to the mode DISTRIBUTED only."
        config.note("ExecutionType", "conflicting_fields", message, "Remove it.")
    return distributed


def _refuse_inline(fields: DefinitionFields) -> None:
    for name in _DISTRIBUTED_ONLY:
        if name in fields.document:
            message = f"{name} belongs to a Map of mode DISTRIBUTED only."
            fields.note(name, "conflicting_fields", message, "Set ItemProcessor.ProcessorConfig.Mode to DISTRIBUTED.")


def _items(fields: DefinitionFields) -> Template | None:
    if not fields.jsonata:
        return fields.reference("ItemsPath") if "ItemsPath" in fields.document else None
    written = fields.document.get("Items", [])
    if isinstance(written, list | dict) or fields.is_expression("Items"):
        return fields.query("Items")
    fields.note("Items", "wrong_type", "Items must be an array or an expression.", "Write {% $states.input.items %}.")
    return None


def _selector(fields: DefinitionFields) -> Template | None:
    if fields.jsonata:
        return fields.query("ItemSelector")
    fields.exclusive("ItemSelector", "Parameters")
    return fields.template("ItemSelector" if "ItemSelector" in fields.document else "Parameters")


def _reader(reader: DefinitionFields | None) -> ItemReader | None:
    if reader is None:
        return None
    mine, others = _arguments(reader)
    reader.allow({"Resource", "ReaderConfig", mine}, {others})
    config = reader.part("ReaderConfig")
    return ItemReader(
        resource=reader.required_text("Resource", "Name where the items come from."),
        arguments=reader.query(mine) if reader.jsonata else reader.template(mine),
        config={} if config is None else config.document,
        max_items=None if config is None else _reader_config(config),
    )


def _arguments(fields: DefinitionFields) -> tuple[str, str]:
    """Return the name of the field with the arguments, and its name in the other query language."""
    return ("Arguments", "Parameters") if fields.jsonata else ("Parameters", "Arguments")


def _reader_config(config: DefinitionFields) -> Template | None:
    config.allow(_READER_CONFIG - ({"MaxItemsPath"} if config.jsonata else set()), {"MaxItemsPath"})
    kind = config.choice("InputType", _INPUT_TYPES)
    config.choice("ManifestType", ("ATHENA_DATA", "S3_INVENTORY"))
    flattens = config.choice("Transformation", ("NONE", "LOAD_AND_FLATTEN")) == "LOAD_AND_FLATTEN"
    if flattens and "InputType" not in config.document:
        config.note(None, "missing_field", "InputType is missing.", "Say what the files of the listing are.")
    _check_table(config)
    pointer = config.text("ItemsPointer")
    if pointer is not None and pointer[:1] not in ("", "/"):
        message = f"ItemsPointer '{clip(pointer)}' is not a JSON Pointer."
        config.note("ItemsPointer", "invalid_value", message, "Write it as /orders/items.")
    if pointer is not None and kind not in (None, "JSON"):
        message = "ItemsPointer and this InputType exclude each other."
        config.note("ItemsPointer", "conflicting_fields", message, "Use it with JSON, or remove it.")
    return config.number("MaxItems", 0)


def _check_table(config: DefinitionFields) -> None:
    config.choice("CSVDelimiter", _DELIMITERS)
    location = config.choice("CSVHeaderLocation", ("FIRST_ROW", "GIVEN"))
    headers = config.value("CSVHeaders", list, "an array of strings")
    if headers is not None and not all(isinstance(header, str) for header in headers):
        config.note("CSVHeaders", "wrong_type", "CSVHeaders must be strings.", "Name every column.")
    if location == "GIVEN" and "CSVHeaders" not in config.document:
        config.note(None, "missing_field", "CSVHeaders is missing.", "Name the columns, or use FIRST_ROW.")


def _batcher(batcher: DefinitionFields | None) -> Batcher | None:
    if batcher is None:
        return None
    limits = ("MaxItemsPerBatch", "MaxInputBytesPerBatch")
    by_path = tuple(f"{name}Path" for name in limits)
    twins = () if batcher.jsonata else by_path
    batcher.allow({*limits, *twins, "BatchInput"}, by_path)
    if not any(name in batcher.document for name in (*limits, *twins)):
        message = "the batch needs a limit."
        batcher.note(None, "missing_field", message, f"Give one of: {', '.join((*limits, *twins))}.")
    return Batcher(
        max_items=batcher.number("MaxItemsPerBatch", 1),
        max_bytes=batcher.number("MaxInputBytesPerBatch", 1, 262_144),
        shared=batcher.query("BatchInput") if batcher.jsonata else batcher.template("BatchInput"),
    )


def _writer(writer: DefinitionFields | None) -> Writer | None:
    if writer is None:
        return None
    mine, others = _arguments(writer)
    writer.allow({"Resource", "WriterConfig", mine}, {others})
    if "Resource" not in writer.document and "WriterConfig" not in writer.document:
        message = "Resource or WriterConfig is missing."
        writer.note(None, "missing_field", message, "Name where the results go.")
    config = writer.part("WriterConfig")
    if config is not None:
        config.allow({"Transformation", "OutputType"})
        config.choice("Transformation", ("NONE", "COMPACT", "FLATTEN"))
        config.choice("OutputType", ("JSON", "JSONL"))
    return Writer(
        resource=writer.text("Resource"),
        arguments=writer.query(mine) if writer.jsonata else writer.template(mine),
        config=writer.query("WriterConfig") if writer.jsonata else writer.template("WriterConfig"),
    )


def _label(fields: DefinitionFields) -> str | None:
    label = fields.text("Label")
    if label is not None and (
        not 0 < len(label) <= _LABEL_LIMIT
        or any(character in _LABEL_REFUSED or character.isspace() or not character.isprintable() for character in label)
    ):
        message = f"Label '{clip(label)}' must have 1 to {_LABEL_LIMIT} characters without blanks or wildcards."
        fields.note("Label", "invalid_value", message, "Use letters, digits, hyphens and underscores.")
    return label
