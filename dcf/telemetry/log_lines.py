"""The log as JSON, one object on each line, for collectors that index logs by fields.

A line that is written during work on a run has `run`, `state`, `agent` and `trace_id`.
"""

import json
import logging
from datetime import UTC, datetime

from dcf.telemetry.surroundings import told


class JsonLines(logging.Formatter):
    """Formats each log record as a line of JSON."""

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
