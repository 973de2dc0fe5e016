"""Reads and writes the stored document of a schedule. Pure."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from dcf.features.schedules.model import Schedule, TickRecord
from dcf.features.schedules.timing import Cron, Every, Timing
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec


class _TimingCodec:
    """Writes and reads when a schedule ticks; the members tell which kind of timing it is."""

    write = staticmethod(asdict)

    @staticmethod
    def read(document: Mapping[str, Json]) -> Timing:
        return Cron(**document) if "text" in document else Every(**document)


_SCHEDULE: Final = RecordCodec(
    Schedule,
    "name generation workflow run_input planner_agent_id retention_s jitter_s created_at created_by next_at seen_at "
    "paused_at started skipped failed timing agents tags overlap catch_up stopped trouble waiting starting runs "
    "project records",
    codecs={"timing": _TimingCodec, "records": RecordCodec(TickRecord, left_out="none", strict=True)},
    strict=True,
    added="project tries",
)

write_schedule: Final = _SCHEDULE.write
"""Write the stored document of a schedule."""

read_schedule: Final = _SCHEDULE.read
"""Read what `write_schedule` wrote."""
