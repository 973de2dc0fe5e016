"""Limits of what users write: workflows, runs, journals, gates, catalogues, schedules, artifacts."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from dcf.asl import pausing
from dcf.asl.json_schema import check as schema_check
from dcf.asl.json_schema import syntax as schema_syntax
from dcf.asl.syntax import briefs, parsing
from dcf.core.documents import parents, signals, usage
from dcf.core.leasing import blockers
from dcf.core.text import tokens
from dcf.features.artifacts import model as artifacts
from dcf.features.catalogue import model as catalogue
from dcf.features.findings import model as findings
from dcf.features.gates import model as gates
from dcf.features.gates import syntax as gate_syntax
from dcf.features.gates import verdicts
from dcf.features.growing import model as units
from dcf.features.journal import model as journal
from dcf.features.projects import model as projects
from dcf.features.questions import model as questions
from dcf.features.schedules import model as schedules
from dcf.features.schedules import timing
from dcf.features.usage import scripts as usage_scripts
from dcf.features.work import limits as work_limits
from dcf.settings.process import Settings
from dcf.tools.verbs import notification
from dcf.values import json_text
from deploy.reference.settings import amount, number, size

FIXED: Final = "fixed"
DEFAULTS: Final = Settings.model_fields


class Limit(NamedTuple):
    """A row of the page: what is limited, how far, by which variable, and what happens beyond."""

    what: str
    limit: str
    set_by: str
    beyond: str


def fixed(subject: str, limit: int | str, beyond: str) -> Limit:
    """Return a limit that no setting changes."""
    return Limit(subject, limit if isinstance(limit, str) else number(limit), FIXED, beyond)


def setting(subject: str, field: str, beyond: str, *, more: str = "") -> Limit:
    """Return a limit that a setting has; `more` follows its default."""
    return Limit(subject, amount(field, DEFAULTS[field].default) + more, f"`DCF_{field.upper()}`", beyond)


SECTIONS: Final[Mapping[str, tuple[Limit, ...]]] = {
    "Workflows": (
        setting("a workflow document", "max_document_bytes", "`too_large`"),
        fixed("states of a workflow, nested ones included", parsing.MAX_STATES, "`invalid_definition`"),
        fixed(
            "levels of nesting in a workflow document",
            f"{json_text.MAX_WORKFLOW_DEPTH}: 30 Parallel states in each other",
            "`invalid_argument`",
        ),
        fixed("levels of nesting in JSON", json_text.MAX_DEPTH, "`invalid_argument`"),
        fixed(
            "an OutputSchema, or the schema of a question to people",
            size(schema_syntax.MAX_SCHEMA),
            "`invalid_definition`",
        ),
        fixed("comparisons of an output with its OutputSchema", schema_check.MAX_CHECKS, "`output_invalid`"),
        fixed("steps of matching the patterns of an OutputSchema", schema_check.MAX_MATCHING, "`output_invalid`"),
        fixed(
            "problems of an output that one answer lists",
            schema_check.MAX_MISFITS,
            "the others are listed once these are corrected",
        ),
        fixed("characters of the Instructions of a Task", briefs.MAX_INSTRUCTIONS, "`invalid_definition`"),
        fixed("expressions in the Instructions of a Task", briefs.MAX_EXPRESSIONS, "`invalid_definition`"),
    ),
    "Runs": (
        setting("an input or output of a state", "max_output_bytes", "`too_large`; the setting can only lower it"),
        fixed(
            "events of states in a row without a Task or a Wait of some time, two for each",
            pausing.MAX_EVENTS,
            "the run fails with `States.Runtime`",
        ),
        fixed("levels of child runs below a run", parents.MOST_DEPTH, "the state fails with `DCF.ChildRefused`"),
        fixed("signals that a run keeps for later states", signals.MOST_KEPT, "`signals_full`"),
        fixed("bytes of the payloads of kept signals", size(signals.MOST_KEPT_BYTES), "`signals_full`"),
        fixed("the payload of a notification", size(notification.MAX_PAYLOAD), "`too_large`"),
        fixed("tokens of one report of usage", usage.MOST_TOKENS, "`invalid_argument`"),
        fixed("models of one report of usage", usage.MOST_MODELS, "`invalid_argument`"),
        fixed(
            "models of a run whose usage is kept apart", usage_scripts.MODELS, "further ones are summed up as one model"
        ),
        Limit(
            "states that an agent, or a project, may be allowed to hold at a time",
            number(work_limits.MOST_IN_PROGRESS),
            "`max_in_progress`",
            "`invalid_argument`",
        ),
    ),
    "Open runs": (
        fixed(
            "units and groups of an open run",
            f"{number(units.MOST_UNITS)}; groups {units.MOST_GROUPS}; in one call {units.MOST_AT_ONCE}",
            "`too_many_units`",
        ),
        fixed(
            "units that wait for one unit or group",
            f"{number(units.MOST_FOLLOWERS)}, each for at most {units.MOST_DEPENDENCIES}",
            "`too_many_units`",
        ),
    ),
    "Notes, questions and journals": (
        fixed("notes of a run", questions.MOST_NOTES, "`too_many`"),
        fixed(
            "questions that a run keeps",
            questions.MOST_KEPT,
            "the oldest without a waiting worker is deleted; `too_many` where all have one",
        ),
        fixed("questions about a state in one visit", questions.MOST_OF_VISIT, "`too_many`"),
        fixed("entries of a journal", f"{number(journal.MOST_ENTRIES)}, {size(journal.MOST_BYTES)}", "`too_many`"),
        fixed(
            "characters of one entry of a journal",
            f"{number(journal.LONGEST_ENTRY_TEXT)}, details of {size(journal.MOST_DETAILS)}",
            "`invalid_argument`",
        ),
        fixed("issues that block a run at the same time", blockers.MOST_BLOCKERS, "`too_many`"),
    ),
    "Gates": (
        fixed("gates of a Task, and of a run", gate_syntax.MOST_GATES, "`invalid_definition`, `invalid_argument`"),
        fixed(
            "criteria of a gate",
            f"{gate_syntax.MOST_CRITERIA}, each of {gate_syntax.LONGEST_CRITERION} characters",
            "`invalid_definition`",
        ),
        fixed("outputs that are submitted to gates in one visit", gates.MOST_SUBMISSIONS, "`too_many`"),
        fixed("verdicts that are kept of a state", gates.MOST_VERDICTS, "the oldest is deleted; the history has all"),
        fixed("verdicts of a gate that are unavailable", gates.MOST_UNAVAILABLE, "people are asked"),
        fixed("characters of the end of a command's output in a verdict", verdicts.LONGEST_TAIL, "`invalid_argument`"),
    ),
    "Findings and the catalogue": (
        fixed("findings", findings.MOST_FINDINGS, "`too_many_findings`"),
        fixed(
            "definitions in the catalogue, and older versions of them", catalogue.MOST_DEFINITIONS, "`catalogue_full`"
        ),
        fixed("versions of one definition whose content is kept", catalogue.MOST_VERSIONS, "the oldest is deleted"),
        fixed("different words by which a text is found", tokens.MOST_WORDS, "later words are not searched"),
    ),
    "Schedules and projects": (
        fixed("schedules", schedules.MOST_SCHEDULES, "`quota_exceeded`"),
        fixed("schedules that one key created", schedules.MOST_OF_ONE, "`quota_exceeded`"),
        fixed("seconds between two starts of a schedule, at least", timing.LEAST_EVERY_S, "`invalid_argument`"),
        fixed("the input that a schedule gives its runs", size(schedules.MOST_INPUT), "`too_large`"),
        fixed(
            "missed starts of a schedule that are caught up, and starts that wait",
            timing.MOST_TICKS,
            "the others are skipped, and the history of the schedule says so",
        ),
        fixed("starts in the history of a schedule", schedules.MOST_RECORDS, "the oldest are deleted"),
        fixed("projects", projects.MOST_PROJECTS, "`quota_exceeded`"),
        fixed("projects that one key created", projects.MOST_OF_ONE, "`quota_exceeded`"),
        fixed("paths of a project", projects.MOST_PATHS, "`invalid_argument`"),
        fixed("the description of a project, with all its fields", size(projects.MOST_BYTES), "`too_large`"),
    ),
    "Artifacts": (
        setting("an artifact", "artifact_max_bytes", "`too_large`"),
        setting("bytes of the artifacts of a run", "artifact_run_bytes", "`too_large`"),
        fixed("artifacts of a run", artifacts.MOST_ARTIFACTS, "`too_many`"),
        fixed("parts of an artifact", artifacts.MOST_PARTS, "`invalid_argument`"),
        setting(
            "an artifact that is kept in Redis",
            "artifact_inline_bytes",
            "it goes to `DCF_ARTIFACT_STORE`; without a store, `no_artifact_store`",
        ),
        fixed(
            "seconds after its last part that an unfinished upload is kept", artifacts.UPLOAD_LIFE_S, "it is deleted"
        ),
        fixed("the metadata of an artifact", size(artifacts.MOST_METADATA), "`too_large`"),
    ),
}
