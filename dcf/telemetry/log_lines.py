"""The log as JSON, one object on each line, for who collects logs by their fields.

`run`, `state`, `agent` and `trace_id` are told where a line is written while a run is worked on.
"""

import json
import logging
from datetime import UTC, datetime

from dcf.telemetry.surroundings import told


class JsonLines(logging.Formatter):
    """Makes a line of JSON of what is logged."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; an exception is one of its fields."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **told(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, allow_nan=False)
