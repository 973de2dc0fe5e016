"""Says which record a JSON object in an answer is: the object is passed on as it is, and its schema is the record's."""

from dataclasses import dataclass, fields
from typing import Any

from pydantic import GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema

from dcf.verbs.records.spread import SPREAD


@dataclass(frozen=True, slots=True)
class AsRecord:
    """The annotation of a JSON object that has the fields of a record."""

    record: type[Any]

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema of the record. It is made only when somebody wants a schema."""
        schema = handler(TypeAdapter(self.record).core_schema)
        spread = [item.name for item in fields(self.record) if item.metadata == SPREAD]
        if spread:
            shape = handler.resolve_ref_schema(schema)
            shape["properties"] = {name: part for name, part in shape["properties"].items() if name not in spread}
            shape["additionalProperties"] = True
        return schema
