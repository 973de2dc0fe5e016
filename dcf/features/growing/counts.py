"""How far a run that grows is: what is open in it, in each group and below each parent; what is sealed. Data only.

It is one document of the run, read and watched by whatever adds, ends or reopens units. So a group that is sealed while
a unit is added, or a unit that is completed while it is reopened, is decided one way or the other.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from dcf.core.documents.parts import Part, every_name, last
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record, replace


@record(frozen=True, slots=True, kw_only=True)
class GroupCount:
    """Of one group: whether units may still be added, and how many of those directly in it have not ended well."""

    sealed: bool = False
    open: int = 0

    @property
    def is_done(self) -> bool:
        """True if nothing more can come and nothing is open."""
        return self.sealed and not self.open


@record(frozen=True, slots=True, kw_only=True)
class Growth:
    """Counts of a run that grows: of all that was added, and of what has not ended well.

    `run` counts what is in no group. `children` are the open units below each parent that has any.
    """

    units: int = 0
    bytes: int = 0
    run: GroupCount = GroupCount()
    groups: Mapping[str, GroupCount] = field(default_factory=dict)
    children: Mapping[str, int] = field(default_factory=dict)

    def of(self, group: str | None) -> GroupCount:
        """Return the counts of a group, or of what is in none."""
        return self.run if group is None else self.groups.get(group, GroupCount())

    def is_sealed(self, group: str | None) -> bool:
        """Return True if nothing may be added there."""
        return self.run.sealed or self.of(group).sealed

    def with_count(self, group: str | None, count: GroupCount) -> "Growth":
        """Return the counts with this one in place of a group's."""
        return replace(self, run=count) if group is None else replace(self, groups={**self.groups, group: count})

    def opened(self, group: str | None, parent: str | None, by: int = 1) -> "Growth":
        """Return the counts after a unit there was added or reopened, or, with -1, has ended well."""
        count = self.of(group)
        growth = self.with_count(group, replace(count, open=max(0, count.open + by)))
        if parent is None:
            return growth
        left = max(0, self.children.get(parent, 0) + by)
        others = {name: count for name, count in self.children.items() if name != parent}
        return replace(growth, children=others | ({parent: left} if left else {}))

    def sealed(self, group: str | None) -> "Growth":
        """Return the counts once a group is sealed; None: the whole run, and all groups with it."""
        if group is not None:
            return self.with_count(group, replace(self.of(group), sealed=True))
        groups = {name: replace(count, sealed=True) for name, count in self.groups.items()}
        return replace(self, run=replace(self.run, sealed=True), groups=groups)


NO_GROWTH = Growth()

GROWTH: Final = Part[tuple[str, ...], Growth, Growth](name="growth", both=every_name, after=last, together=last)
"""The counts of a run that grows, as each step leaves them. They are watched."""


_COUNT: Final = RecordCodec(GroupCount, "open sealed")
_GROWTH: Final = RecordCodec(Growth, codecs={"run": _COUNT, "groups": _COUNT})

write_growth: Final = _GROWTH.write
"""Write the run's document."""

read_growth: Final = _GROWTH.read
"""Read the run's document; the counts of a missing or damaged document are 0."""
