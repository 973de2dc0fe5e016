"""The methods of the clients, for type checkers and readers, as a client that blocks has them.

Derived from the descriptions of the verbs by `make verbs`; do not edit. `methods.json` has the same for a process.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from dcf.client.arguments import Agents, Askees, JsonObject, Moment, Span
from dcf.client.methods import Iteration, Method
from dcf.client.steps import artifacts, diagnosis, language, leases, notification, schedules, starting, validation, work
from dcf.features.accounts.records import (
    AssignedAccount,
    ClosedAccount,
    LimitKindName,
    ListedAccounts,
    OpenedAccount,
    PutPrices,
    ReportedTurn,
    ReservedTurn,
    ShownAccount,
    StatedBills,
)
from dcf.features.agent_context.records import AgentContext
from dcf.features.artifacts.records import KeptArtifact
from dcf.features.catalogue.records import (
    ComplexityName,
    DefinitionDetails,
    DefinitionKindName,
    DeletedDefinition,
    DetailName,
    ShownDefinition,
)
from dcf.features.diagnosis.records import ExplainedRun
from dcf.features.documents.records import ChangedDocument, ReadDocument
from dcf.features.external.records import EndedTask, LivingTask, SentSignal
from dcf.features.findings.records import (
    DeletedFinding,
    FindingDetails,
    FindingStatusName,
    PromotedIssue,
    SeverityName,
    ShownFinding,
)
from dcf.features.gates.records import DecidedGate, VerdictName, WaitingGate
from dcf.features.growing.records import AddedUnits, ClosedRun, ClosedStatusName, OpenedRun, ReopenedUnit, SealedGroup
from dcf.features.health.records import ReadHealth
from dcf.features.journal.records import AddedEntry, EntryKindName, ReadEntry, ResolvedIssue
from dcf.features.people.records import AnsweredTask, ListedTask
from dcf.features.projects.records import DeletedProject, ListedProject, MadeProject, ReadProject
from dcf.features.questions.records import AnsweredQuestion, AskedQuestion, CorrectedResult, LeftNote
from dcf.features.retention.records import DeletedRun, HeldRun
from dcf.features.schedules.records import DeletedSchedule, OperatedSchedule, ScheduleActionName, ScheduleDetails
from dcf.features.search.records import SearchedAll, SearchedType
from dcf.features.task_log.records import WrittenLine
from dcf.features.usage.records import GivenBudget, ReadSums
from dcf.features.webhooks.records import AgentPlatformName, NewKeyName, RegisteredAgent
from dcf.values.json_text import Json
from dcf.verbs.records.agents import CreatedWorkers, DeletedAgent, RemovedLimits, ResolvedAgent
from dcf.verbs.records.assignment import MyAssignment
from dcf.verbs.records.authoring import WrittenManifests, WrittenStubConfig
from dcf.verbs.records.beginnings import CreatedControlPlane, FinalizedRun, RetriedRun, StartedRun
from dcf.verbs.records.execution import CompletedStates, ReadControlPlane, UpdatedState
from dcf.verbs.records.files import (
    DeletedPath,
    EncodingName,
    ListedPath,
    MadeDirectory,
    MovedPath,
    ReadFile,
    WrittenFile,
)
from dcf.verbs.records.leases import AcquiredLease, ClaimedState, RenewedLease
from dcf.verbs.records.notification import AwaitedEvent, NotifiedAgents, RoleName
from dcf.verbs.records.runs import ListedRun, OperatedRun, ResolvedState, RunStatusName
from dcf.verbs.records.skills import ListedSkills, LoadedSkill, UnloadedSkill, ValidatedManifest

P = ParamSpec("P")
T = TypeVar("T")

def _method(described: Callable[Concatenate[Any, P], T]) -> Method[P, T]: ...
def _iteration(described: Callable[Concatenate[Any, P], Iterator[T]]) -> Iteration[P, T]: ...

class VerbMethods:
    """A method for each verb of dcf."""

    @_method
    def register_agent(
        self,
        agent_id: str,
        url: str | None = None,
        *,
        platform: AgentPlatformName = "webhook",
        lease_ttl_s: Span = 900,
        max_in_progress: int | None = None,
        account: str | None = None,
        new_key: NewKeyName | None = None,
    ) -> RegisteredAgent:
        """Register an agent that is a webhook: dcf posts it its work, signed; it answers at once and ends the work
        later.

        Assign it to Tasks by its agent_id. The answer has the secret that signs. The same call again changes where
        it is. With `max_in_progress` or `account` alone: limit how many states any agent holds at a time, or give
        it its account.
        """
    @_iteration
    def list_registered_agents(self) -> Iterator[RegisteredAgent]:
        """List the agents that were registered: where they are, the ids of their keys, and why one is left alone
        now.
        """
    @_method
    def create_worker_agents(
        self,
        *,
        workflow: Mapping[str, Json] | Path | None = None,
        workflow_id: str | None = None,
        imports_base_dir: str | None = None,
        agent_name_prefix: str | None = None,
        agent_name_suffix: str = ".af",
        default_tags: Sequence[str] | None = None,
        skip_if_exists: bool = True,
    ) -> CreatedWorkers:
        """Create one agent per Task of a workflow after you created its run, and assign them.

        Repeating the call returns the agents that exist, and makes those again that are gone. When one cannot be
        made, those made by this call are deleted again and the answer says so.
        """
    @_method
    def resolve_agent_name_to_id(self, agent_name: str) -> ResolvedAgent:
        """Get the id of an agent whose name you know, where one is asked for."""
    @_method
    def delete_agent(self, *, agent_name: str | None = None, agent_id: str | None = None) -> DeletedAgent:
        """Remove one agent that was made for a run; `finalize` does it for all agents of a run.

        Name it by `agent_name` or `agent_id`. Other agents can be deleted only by an operator.
        """
    @_method
    def remove_tool_return_limits(self, agent_id: str) -> RemovedLimits:
        """Lift the limit on how much text an agent's tools may return, when their answers come cut off."""
    @_method
    def get_my_assignment(
        self, agent_id: str, *, workflow_id: str | None = None, state: str | None = None
    ) -> MyAssignment:
        """Get what is yours to do, whenever you are unsure: states, their inputs, your skills, and the `next`
        calls.
        """
    put_artifact = Method(artifacts.put_artifact)
    get_artifact = Method(artifacts.get_artifact)
    @_iteration
    def list_artifacts(self, workflow_id: str) -> Iterator[KeptArtifact]:
        """List a run's artifacts, oldest first, without their content. Pages are read as they are needed."""
    @_method
    def csv_to_manifests(
        self,
        *,
        skills_csv_path: str = "skills.csv",
        refs_csv_path: str = "skill_tool_refs.csv",
        mcp_tools_csv_path: str = "mcp_tools.csv",
        out_dir: str | None = None,
        catalog_path: str | None = None,
    ) -> WrittenManifests:
        """Write skill manifests and their catalogue from CSV tables of skills, tool references and tools.

        Everything is checked first: with any problem nothing is written, and `problems` lists them all by file,
        line and column. Manifests that an earlier call wrote and the tables no longer have are removed.
        """
    @_method
    def csv_to_stub_config(
        self,
        *,
        mcp_tools_csv_path: str = "mcp_tools.csv",
        mcp_cases_csv_path: str = "mcp_cases.csv",
        out_path: str | None = None,
    ) -> WrittenStubConfig:
        """Write the configuration of the stub MCP server from CSV tables of tools and cases.

        With any problem nothing is written, and `problems` lists them all. A running stub loads the new file
        automatically.
        """
    @_method
    def report_limit(
        self,
        account: str,
        *,
        agent_id: str = "operator",
        until: str | None = None,
        kind: LimitKindName = "limit",
        reason: str | None = None,
        reservation: str | None = None,
        family: str | None = None,
    ) -> ClosedAccount:
        """Report that the provider rejects turns of an account: no turn of any of its agents starts before the
        end.

        A later end extends a closure, an earlier one does not shorten it.
        """
    @_method
    def reserve_turn(
        self,
        account: str,
        reservation: str,
        agent_id: str,
        *,
        for_run: str = "none",
        tokens: int = 0,
        model_name: str | None = None,
    ) -> ReservedTurn:
        """Reserve a turn of a model before it starts: for hosts of agents that share an account.

        A reservation lasts 30 seconds; each report renews it. Repeated, the call finds its reservation.
        """
    @_method
    def report_turn(
        self,
        account: str,
        reservation: str,
        *,
        usage: JsonObject | None = None,
        ended: bool = False,
        accepted: bool = False,
    ) -> ReportedTurn:
        """Report what a turn has used so far, which renews its reservation for 30 seconds, or settles it at the
        end.

        Amounts are totals of the turn, so a report may be repeated, and may come late.
        """
    @_method
    def leave_note(
        self, workflow_id: str, text: str, *, agent_id: str, state: str | None = None, request_id: str | None = None
    ) -> LeftNote:
        """Tell the run's planner what is no result, such as what you found odd. It needs no answer."""
    @_method
    def ask_question(
        self,
        workflow_id: str,
        state: str,
        lease_token: str,
        question: str,
        *,
        choices: Sequence[str] = (),
        ask: Askees = "planner",
        give_back: bool = True,
        timeout_s: int = 86400,
        request_id: str | None = None,
    ) -> AskedQuestion:
        """Ask the planner or people what you cannot decide. The state is released until the answer comes.

        Then `await_workflow_event` brings it again, with `questions`.
        """
    @_method
    def correct_result(
        self,
        workflow_id: str,
        state: str,
        output: Json,
        *,
        lease_token: str | None = None,
        reason: str | None = None,
        request_id: str | None = None,
    ) -> CorrectedResult:
        """Correct the result of a state you completed, until somebody has used it (code result_used)."""
    @_method
    def log_event(
        self, workflow_id: str, state: str, lease_token: str, number: int, message: str, *, fields: Json = ...
    ) -> WrittenLine:
        """Write a line into the history of the run while you hold a state: for programs that tell how their work
        goes.

        Number the lines of a lease 1, 2, 3: a repeated call then writes its line once.
        """
    find_work = Iteration(work.find_work)
    @_method
    def complete_states(
        self,
        workflow_id: str,
        results: Sequence[Mapping[str, Json]],
        *,
        claim_next: int = 0,
        agent_id: str | None = None,
        lease_ttl_s: int = 300,
    ) -> CompletedStates:
        """Complete several states of a run that you hold, in one call: for programs that work on many states at
        once.

        Each result is accepted or refused separately, as `update_workflow_control_plane` would do. With
        `claim_next` you also get as many next states as there are for you, as `work`. Repeating the call is safe.
        """
    @_method
    def read_workflow_control_plane(
        self,
        workflow_id: str,
        *,
        states: Sequence[str] = (),
        include_meta: bool = True,
        include_inputs: bool = False,
        compute_readiness: bool = False,
        summary: bool = False,
        inside: str | None = None,
        cursor: str | None = None,
        limit: int = 1000,
        overview: int | None = None,
    ) -> ReadControlPlane:
        """Read where a run stands: call this to get your state's input, to check readiness, or to watch progress.

        Returns meta (status, output or error of the run), each state's document, input and output. Where
        next_cursor is set there are more states: call again with it as cursor.
        """
    @_method
    def update_workflow_control_plane(
        self,
        workflow_id: str,
        state: str,
        *,
        lease_token: str | None = None,
        new_status: str | None = None,
        output: Json = ...,
        error_name: str | None = None,
        error_message: str | None = None,
        claim_next: bool = False,
        owner_agent_id: str | None = None,
        lease_ttl_s: int | None = None,
        usage: JsonObject | None = None,
        whole_input: bool = False,
        attempts_increment: int | None = None,
        set_started_at: bool = False,
        set_finished_at: bool = False,
        request_id: str | None = None,
        output_ttl_secs: int | None = None,
    ) -> UpdatedState:
        """Write the result of a state you hold: `new_status` succeeded with `output`, or failed with `error_name`.

        pending gives it back, and the attempt counts. Without `new_status` the output is partial. With
        `claim_next` the answer brings your next `work` in this run.
        """
    @_method
    def acquire_state_lease(
        self,
        workflow_id: str,
        state: str,
        owner_agent_id: str,
        *,
        lease_ttl_s: int = 300,
        lease_token: str | None = None,
        require_ready: bool = True,
        require_owner_match: bool = True,
        allow_steal_if_expired: bool = True,
        set_running_on_acquire: bool = True,
        attempts_increment: int = 1,
    ) -> AcquiredLease:
        """Take the lease on a state before you work on it: only one agent gets it.

        `work` in the answer has its input, and the lease_token that later writes need.
        """
    @_method
    def claim_ready_state(
        self,
        workflow_id: str,
        owner_agent_id: str,
        *,
        lease_ttl_s: int = 300,
        lease_token: str | None = None,
        claim_next: int = 1,
        whole_input: bool = False,
    ) -> ClaimedState:
        """Get the next piece of work without waiting: leases a ready state of the run that you may take.

        Code nothing_ready means: wait with `await_workflow_event`, or call again after retry_after_s.
        """
    @_method
    def renew_state_lease(
        self,
        workflow_id: str,
        state: str,
        lease_token: str,
        *,
        owner_agent_id: str | None = None,
        lease_ttl_s: int | None = None,
        reject_if_expired: bool = True,
        touch_only: bool = False,
    ) -> RenewedLease:
        """Keep a lease you hold: call this every third of its length while you work.

        On code lease_lost stop at once.
        """
    release = Method(leases.release)
    @_iteration
    def list_directory(
        self, path: str = ".", *, recursive: bool = False, include_hidden: bool = False
    ) -> Iterator[ListedPath]:
        """List what is in a directory; links are shown and not followed. Pages are read as they are needed."""
    @_method
    def read_file(
        self, path: str, *, offset: int = 0, length: int | None = None, encoding: EncodingName = "utf-8"
    ) -> ReadFile:
        """Read a file or a part of it; a long one continues at next_offset. Text is never cut inside a character."""
    @_method
    def write_file(
        self,
        path: str,
        content: str,
        *,
        append: bool = False,
        encoding: EncodingName = "utf-8",
        create_parents: bool = True,
    ) -> WrittenFile:
        """Write a file: replace it as a whole, or add to its end with `append=True`."""
    @_method
    def create_directory(self, path: str, *, parents: bool = True, exist_ok: bool = True) -> MadeDirectory:
        """Create a directory where files are to be written."""
    @_method
    def delete_path(self, path: str, *, recursive: bool = False) -> DeletedPath:
        """Remove a file, a link itself, or a directory; of a full one only with `recursive=True`."""
    @_method
    def move_path(
        self, source: str, destination: str, *, overwrite: bool = False, create_parents: bool = True
    ) -> MovedPath:
        """Move or rename a file or directory, in one step."""
    @_iteration
    def list_gates(
        self,
        workflow_id: str | None = None,
        state: str | None = None,
        *,
        agent_id: str | None = None,
        group: str | None = None,
        project: str | None = None,
    ) -> Iterator[WaitingGate]:
        """Find outputs that wait for a verdict: yours across runs (`agent_id`), or those of a run.

        With criteria or command, and content_sha256, which `decide_gate` needs; of a run also with the output.
        """
    @_method
    def decide_gate(
        self,
        workflow_id: str,
        state: str,
        gate: str,
        verdict: VerdictName,
        *,
        content_sha256: str,
        agent_id: str | None = None,
        criteria: Sequence[Mapping[str, Json]] = (),
        failed: Sequence[str] | None = None,
        comment: str | None = None,
        exit_code: int | None = None,
        output_tail: str | None = None,
        duration_s: float | None = None,
        group: str | None = None,
        request_id: str | None = None,
    ) -> DecidedGate:
        """Judge an output that waits at a gate. The author of an output cannot review it.

        Where the gate has criteria, the verdict follows from theirs.
        """
    @_method
    def override_gate(
        self,
        workflow_id: str,
        state: str,
        *,
        reason: str,
        gate: str | None = None,
        agent_id: str | None = None,
        request_id: str | None = None,
    ) -> DecidedGate:
        """Let the output of a state pass a gate, whatever the gate says; needs the scope override.

        It holds for this visit of the state, and is in the history with your name and the reason.
        """
    @_method
    def open_run(
        self,
        name: str,
        workflow_id: str | None = None,
        *,
        title: str | None = None,
        input: Json = ...,
        planner_agent_id: str | None = None,
        tags: Sequence[str] = (),
        project: str | None = None,
        definition_ref: str | None = None,
        parent_run: str | None = None,
        parent_unit: str | None = None,
        timeout_s: int | None = None,
        expiry_secs: int | None = None,
        max_attempts: int = 10,
        request_id: str | None = None,
        reason: str | None = None,
    ) -> OpenedRun:
        """Open a run without a workflow: you add units of work to it while it is open (`add_units`), and close it
        at last.

        Repeating a call with the same `request_id` or `workflow_id` returns the same run.
        """
    @_method
    def add_units(
        self,
        workflow_id: str,
        units: Sequence[Json],
        *,
        agent_id: str | None = None,
        lease_ttl_s: int = 300,
        lease_token: str | None = None,
        request_id: str | None = None,
        reason: str | None = None,
    ) -> AddedUnits:
        """Add units of work, and groups of them, to a run that grows: all of them or, if something is wrong, none.

        A unit: {"name", "depends_on"?: [names], "group"?, "parent"?, "title"?, "instructions"?, "input"?,
        "output_schema"?, "skills"?, "gates"?, "agents"?, "areas"?, "claim"?: true to take it at once}. A group:
        {"name", "kind": "group", "depends_on"?, "agents"?: whose keys may add units, too}; what depends on it
        waits for all that is in it, once it is sealed.
        """
    @_method
    def seal_group(
        self,
        workflow_id: str,
        group: str | None = None,
        *,
        only_if_done: bool = False,
        force: bool = False,
        ends: Literal["succeeded", "failed"] | None = None,
        request_id: str | None = None,
        reason: str | None = None,
    ) -> SealedGroup:
        """Say that nothing more comes into a group, or into the run: it ends once all that is in it has ended
        well.
        """
    @_method
    def retry_unit(
        self, workflow_id: str, unit: str, *, request_id: str | None = None, reason: str | None = None
    ) -> ReopenedUnit:
        """Let a failed unit of a run that grows be taken again, as a new attempt of the same unit."""
    @_method
    def rewind_unit(
        self, workflow_id: str, unit: str, *, request_id: str | None = None, reason: str | None = None
    ) -> ReopenedUnit:
        """Reopen a unit of a run that grows, and all that followed it: their holders must stop, and outputs are
        gone.
        """
    @_method
    def close_run(
        self,
        workflow_id: str,
        *,
        status: ClosedStatusName = "succeeded",
        summary: str | None = None,
        achievements: Sequence[str] = (),
        limitations: Sequence[str] = (),
        metrics: JsonObject | None = None,
        output: JsonObject | None = None,
        force: bool = False,
        request_id: str | None = None,
        reason: str | None = None,
    ) -> ClosedRun:
        """End a run that grows, with a summary. Refused while units have not ended well, unless forced.

        It never succeeds while a unit, a group or a blocking issue is open; it can be closed as failed.
        """
    @_method
    def get_context(
        self,
        workflow_id: str | None = None,
        *,
        agent_id: str | None = None,
        session: str | None = None,
        project: str | None = None,
        max_bytes: int = 16000,
    ) -> AgentContext:
        """Ask where you are and what is next, after a restart or when your memory was cut: one call shows all of
        it.
        """
    @_method
    def add_journal_entry(
        self,
        workflow_id: str,
        kind: EntryKindName,
        text: str,
        *,
        agent_id: str,
        details: JsonObject | None = None,
        state: str | None = None,
        blocks: bool = False,
        key: str | None = None,
        lease_token: str | None = None,
    ) -> AddedEntry:
        """Write into the run's journal what must not get lost: decisions, how far you are, what is wrong.

        A milestone renews your lease.
        """
    @_iteration
    def read_journal(
        self,
        workflow_id: str,
        *,
        kind: EntryKindName | None = None,
        agent: str | None = None,
        state: str | None = None,
        open_only: bool = False,
        since: Moment | None = None,
        until: Moment | None = None,
        oldest_first: bool = False,
    ) -> Iterator[ReadEntry]:
        """Read the journal of a run, newest first. Pages are read as they are needed."""
    @_method
    def resolve_issue(
        self,
        workflow_id: str,
        issue: str,
        how: str,
        *,
        agent_id: str | None = None,
        reason: str | None = None,
        request_id: str | None = None,
    ) -> ResolvedIssue:
        """Resolve an issue of the journal, as a person, planner or operator, or as its author if it does not
        block.
        """
    @_method
    def put_definition(
        self,
        kind: DefinitionKindName,
        name: str,
        content: Json,
        *,
        version: str | None = None,
        description: str = "",
        tags: Sequence[str] = (),
        keywords: Sequence[str] = (),
        globs: Sequence[str] = (),
        always_apply: bool = False,
        complexity: ComplexityName | None = None,
        attributes: JsonObject | None = None,
        project: str | None = None,
        session: str | None = None,
        expires_in_s: int = 86400,
        source: str | None = None,
        relabel: bool = False,
        reason: str | None = None,
    ) -> ShownDefinition:
        """Keep a definition that agents work by: a rule, persona, workflow, template. New content is a new
        version.

        `content` is text (Markdown), or any JSON value.
        """
    @_method
    def get_definition(
        self,
        kind: DefinitionKindName,
        name: str,
        *,
        version: str | None = None,
        sha256: str | None = None,
        detail: DetailName = "full",
        fields: Sequence[str] | None = None,
        if_none_match: str | None = None,
        project: str | None = None,
        session: str | None = None,
        redact: bool = True,
    ) -> ShownDefinition:
        """Read a definition: that of the session, else of the project, else for everybody."""
    @_iteration
    def search_definitions(
        self,
        text: str | None = None,
        *,
        kind: DefinitionKindName | None = None,
        tags: Sequence[str] = (),
        keywords: Sequence[str] = (),
        file_types: Sequence[str] = (),
        always_apply: bool | None = None,
        complexity: ComplexityName | None = None,
        project: str | None = None,
        session: str | None = None,
        detail: DetailName = "summary",
    ) -> Iterator[DefinitionDetails]:
        """Find what there is to work by: rules for your files, workflows, personas. The best first, else the
        newest.
        """
    @_method
    def delete_definition(
        self,
        kind: DefinitionKindName,
        name: str,
        *,
        project: str | None = None,
        session: str | None = None,
        reason: str | None = None,
    ) -> DeletedDefinition:
        """Delete a definition with all its versions. Runs that were opened with it keep its hash."""
    @_method
    def add_finding(
        self,
        severity: SeverityName,
        category: str,
        title: str,
        text: str,
        *,
        tags: Sequence[str] = (),
        scope: Literal["project", "global"] | None = None,
        project: str | None = None,
        workflow_id: str | None = None,
        state: str | None = None,
        location: JsonObject | None = None,
        metadata: JsonObject | None = None,
        agent_id: str | None = None,
        key: str | None = None,
    ) -> ShownFinding:
        """Keep what you learned for later runs: call this for what the next agent should know. No output, no log.

        The same finding, or the same key, is kept once. Secrets of known shapes are taken out.
        """
    @_iteration
    def search_findings(
        self,
        text: str | None = None,
        *,
        project: str | None = None,
        include_global: bool = True,
        scope: Literal["project", "global"] | None = None,
        run: str | None = None,
        severity: SeverityName | Sequence[SeverityName] | None = None,
        category: str | None = None,
        tags: Sequence[str] = (),
        every_tag: bool = False,
        status: Literal["active", "deprecated", "superseded", "any"] = "active",
    ) -> Iterator[FindingDetails]:
        """Find what was learned before: call this before you begin. The best come first, without text the newest."""
    @_method
    def get_finding(self, finding_id: str) -> ShownFinding:
        """Read one finding whole, with its later results."""
    @_method
    def update_finding(
        self,
        finding_id: str,
        *,
        status: FindingStatusName | None = None,
        superseded_by: str | None = None,
        severity: SeverityName | None = None,
        category: str | None = None,
        title: str | None = None,
        text: str | None = None,
        tags: Sequence[str] | None = None,
        agent_id: str | None = None,
        reason: str | None = None,
    ) -> ShownFinding:
        """Correct a finding, or say that it is no longer true: deprecated, or `superseded_by` a better one."""
    @_method
    def delete_finding(self, finding_id: str, *, reason: str | None = None) -> DeletedFinding:
        """Delete a finding permanently, such as one with a secret in it. Deprecate a finding that is no longer
        true.
        """
    @_method
    def promote_issue(
        self,
        workflow_id: str,
        issue: str,
        *,
        severity: SeverityName = "medium",
        category: str = "issue",
        title: str | None = None,
        text: str | None = None,
        tags: Sequence[str] = (),
        scope: Literal["project", "global"] = "project",
        agent_id: str | None = None,
    ) -> PromotedIssue:
        """Keep an issue of a run's journal as a finding, so that later runs know of it. Each issue becomes one."""
    @_method
    def search(
        self,
        query: str,
        *,
        types: Sequence[SearchedType] = (),
        workflow_id: str | None = None,
        project: str | None = None,
        limit: int = 10,
    ) -> SearchedAll:
        """Search what is known, indexed files, and what runs wrote, at once: all words, or "a phrase" exactly."""
    @_method
    def await_workflow_event(
        self,
        agent_id: str,
        *,
        timeout_s: float = 20,
        ack_message_id: str | None = None,
        lease: bool = True,
        lease_ttl_s: int = 300,
        lease_token: str | None = None,
        lease_states: Sequence[str] | None = None,
        lease_functions: Mapping[str, Sequence[str]] | None = None,
        request_id: str | None = None,
        whole_input: bool = False,
        unassigned: bool = False,
    ) -> AwaitedEvent:
        """Wait for `work`: it comes leased, with its input and `next` calls; on 'timeout' call again.

        Renew within `sign_within_s` what takes longer. Events without `work` come again until you acknowledge
        them.
        """
    @_method
    def notify_next_worker_agent(
        self,
        workflow_id: str,
        *,
        source_state: str | None = None,
        reason: str | None = None,
        payload: Json = ...,
        message_role: RoleName = "system",
        async_message: bool = True,
        max_steps: int | None = None,
        include_only_ready: bool = True,
    ) -> NotifiedAgents:
        """Wake the next agents: call it without `source_state` to start a run, with it after completing a state.

        Safe to repeat: receivers drop the same event_id.
        """
    notify = Method(notification.notify)
    @_method
    def put_account(
        self,
        account: str,
        *,
        in_flight: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        tokens_per_day: int | None = None,
        cost_per_day: JsonObject | None = None,
    ) -> ShownAccount:
        """Set the limits of an account that agents share: a subscription, an API key or an organisation at a
        provider.

        Limits that are left out stay as they are.
        """
    @_method
    def list_accounts(self) -> ListedAccounts:
        """List the accounts: whether each is closed and until when, its turns in flight, and what it has used
        today.
        """
    @_method
    def read_account(self, account: str) -> ShownAccount:
        """Show an account: its limits, until when it is closed, its turns in flight, its agents, the ledger of
        today.
        """
    @_method
    def open_account(self, account: str, *, reason: str | None = None) -> OpenedAccount:
        """End a closure now: one turn goes first, then their number doubles each second. States that wait are
        announced.
        """
    @_method
    def assign_account(self, agent_id: str, *, account: str | None = None, hosted: bool = False) -> AssignedAccount:
        """Give an agent its account. `dcf host` does so for each agent of its file that names one."""
    @_method
    def put_prices(self, prices: JsonObject) -> PutPrices:
        """Change the table of prices, by which turns cost that report no cost of their own. dcf ships no prices."""
    @_method
    def settle_account(self, account: str, bills: Sequence[Json]) -> StatedBills:
        """Count what the provider's statement says: it replaces what turns reported, also by less, and is final."""
    @_method
    def why(self, workflow_id: str, state: str | None = None) -> ExplainedRun:
        """Explain why a run does not move: call this when it takes longer than expected.

        Each finding has a cause, a sentence, the facts behind it, since when, and what helps, as a command and as
        a call. With no finding nothing holds it up. With `state` it explains that state, also if it waits for
        others.
        """
    events = Iteration(diagnosis.events)
    export = Method(diagnosis.export)
    @_method
    def read_health(self) -> ReadHealth:
        """Read how dcf is, when runs do not move or calls fail: the report of `dcf doctor`.

        Each check has a level (ok, warning, failing), a sentence and a remedy: whether Redis takes writes (a small
        key is written), memory, durability, replicas, clock, agents seen, the agent platform, lists of runs.
        """
    @_method
    def delete(self, workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> DeletedRun:
        """Delete an ended run permanently, with its documents, outputs and history.

        A running run is refused (run_live): cancel it first. A run on hold is refused (on_hold). Repeated, with or
        without a request_id, it finds that the run is gone.
        """
    @_method
    def hold(
        self, workflow_id: str, *, hold: bool = True, reason: str | None = None, request_id: str | None = None
    ) -> HeldRun:
        """Put a run on hold, so that it is not deleted and does not expire, or release it with `hold=False`.

        For records that must be kept, whatever the retention says. It does not stop the run.
        """
    @_method
    def read_usage(
        self,
        workflow_id: str | None = None,
        *,
        agent_id: str | None = None,
        project: str | None = None,
        account: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        tree: bool = False,
        cursor: str | None = None,
    ) -> ReadSums:
        """Read what work used up, of a run, agent, project or account: tokens, money by currency, seconds, as
        reported.

        Of a run also by state, agent and model, with all runs below it, and its budget; of others by day, for 30
        days.
        """
    @_method
    def set_budget(
        self, workflow_id: str, budget: JsonObject | None, *, reason: str | None = None, request_id: str | None = None
    ) -> GivenBudget:
        """Say what a run may use up: tokens of all kinds, money, seconds. Limits left out stay; {} takes all away.

        The completion that reaches it blocks the run: no lease is granted until a higher budget is set, or the run
        is cancelled. With tree it is for the run and all runs below it together, and blocks all of them.
        """
    @_method
    def cancel(self, workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> OperatedRun:
        """End a run at once: call this when its work is no longer wanted.

        Open states become cancelled, unreached ones skipped; holders are told to stop and their late writes are
        refused. `finalize` still closes it afterwards.
        """
    @_method
    def pause(self, workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> OperatedRun:
        """Pause a run: no lease is granted until `resume`; lease holders may renew, finish and release.

        What follows a completed state waits. Timeouts, retry times and Waits continue.
        """
    @_method
    def resume(self, workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> OperatedRun:
        """Resume a paused run: the agents of all ready states are notified."""
    @_method
    def resolve(
        self,
        workflow_id: str,
        state: str,
        *,
        output: Json = ...,
        error: str | None = None,
        cause: str | None = None,
        handled: bool = False,
        force: bool = False,
        skip: bool = False,
        assign: Sequence[str] = (),
        epoch: int | None = None,
        reason: str | None = None,
        request_id: str | None = None,
    ) -> ResolvedState:
        """End one open state by hand, or give it to other agents: use it where its agent cannot finish it.

        One of `output`, `error` and `skip` ends it, as a holder's write would, or ends a Wait. `assign` may stand
        alone or be added. In a Parallel or Map name the state by path; to assign all iterations, by its name.
        """
    @_iteration
    def list(
        self,
        *,
        status: RunStatusName | None = None,
        workflow: str | None = None,
        version: str | None = None,
        agent: str | None = None,
        tag: str | None = None,
        parent: str | None = None,
        project: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        stuck: bool = False,
        blocked: bool = False,
    ) -> Iterator[ListedRun]:
        """Find runs, newest first, that meet all filters; begin with `stuck=True` to see what needs help.

        `counts` has all runs by status. Pages are read as they are needed.
        """
    start = Method(starting.start)
    @_method
    def rerun(
        self,
        workflow_id: str,
        *,
        from_state: str | None = None,
        input: Json = ...,
        agents: Agents | None = None,
        new_workflow_id: str | None = None,
        reason: str | None = None,
        request_id: str | None = None,
    ) -> StartedRun:
        """Repeat a run as a new one, of the same definition: from its beginning, or from a state (`from_state`).

        With `from_state` the states before it are kept with their outputs, and it gets the input that it had.
        Works for open and ended runs; both runs name each other.
        """
    @_method
    def retry(self, workflow_id: str, *, reason: str | None = None, request_id: str | None = None) -> RetriedRun:
        """Continue a run that failed, timed out, was cancelled or is on hold: call this once the cause is
        corrected.

        Only an operator releases a run that is on hold. All that succeeded is kept, iterations and branches too.
        The rest is entered again with the input it had, all its attempts and retries. A finalized run is not
        retried: repeat it with `rerun`.
        """
    @_method
    def signal(
        self,
        workflow_id: str,
        name: str,
        payload: Json = ...,
        *,
        reason: str | None = None,
        request_id: str | None = None,
    ) -> SentSignal:
        """Send a signal into a run, for a Task with the Resource dcf:signal: call this when what it waits for has
        happened.

        The Task that waits for this name ends with the payload as its output. If none waits yet, the signal is
        kept.
        """
    @_method
    def send_task_success(self, task_token: str, output: Json = ..., *, usage: JsonObject | None = None) -> EndedTask:
        """Answer a Task that waits for a callback: call this when what its task token was handed out for is done.

        The state succeeds with this output and the run continues. A token serves once; repeating the same call is
        safe.
        """
    @_method
    def send_task_failure(
        self, task_token: str, *, error: str | None = None, cause: str | None = None, usage: JsonObject | None = None
    ) -> EndedTask:
        """Fail a Task that waits for a callback: call this when what its task token was handed out for cannot be
        done.

        The state's Retry and Catch apply. A retry hands out another token, and this one becomes invalid.
        """
    @_method
    def send_task_heartbeat(self, task_token: str) -> LivingTask:
        """Say that a Task which waits for a callback is still worked on, before its HeartbeatSeconds pass."""
    @_iteration
    def list_human_tasks(
        self,
        workflow_id: str | None = None,
        state: str | None = None,
        *,
        person: str | None = None,
        group: str | None = None,
        project: str | None = None,
        details: bool = False,
    ) -> Iterator[ListedTask]:
        """Find what waits for people, of a run or of a person: tasks, questions, verdicts, issues that block runs.

        Give `workflow_id` and `state` to see a task's details. Pages are read as they are needed.
        """
    @_method
    def answer_human_task(
        self,
        workflow_id: str,
        state: str,
        choice: str | None = None,
        *,
        comment: str | None = None,
        answer: Json = ...,
        agent_id: str | None = None,
        group: str | None = None,
        epoch: int | None = None,
        request_id: str | None = None,
    ) -> AnsweredTask:
        """Answer a task that waits for a person: with approve, reject, or another of its choices. The first answer
        counts.

        Callers that are not asked, or must not answer it, are refused. Never answer for a person who did not say
        so.
        """
    @_method
    def answer_question(
        self,
        workflow_id: str,
        question_id: str,
        answer: str,
        *,
        comment: str | None = None,
        agent_id: str | None = None,
        group: str | None = None,
        request_id: str | None = None,
    ) -> AnsweredQuestion:
        """Answer a worker's question (an event of type question). The first answer counts."""
    language = Method(language.language)
    @_method
    def create_workflow_control_plane(
        self,
        workflow: Mapping[str, Json] | Path,
        input: Json = ...,
        *,
        workflow_id: str | None = None,
        agents: Agents | None = None,
        planner_agent_id: str | None = None,
        project: str | None = None,
        expiry_secs: int | None = None,
        max_attempts: int = 10,
        gates: Sequence[Mapping[str, Json]] | None = None,
    ) -> CreatedControlPlane:
        """Create a run without starting it: `notify_next_worker_agent` then does. `start` is both in one call.

        Validates the workflow, stores its documents, and makes the first state ready. Repeated with its
        `workflow_id` it finds the run; the same `workflow_id` with a different workflow or input is refused with
        code conflict.
        """
    @_method
    def finalize(
        self,
        workflow_id: str,
        *,
        close_open_states: bool = True,
        overall_status: Literal["succeeded", "failed", "partial", "cancelled"] | None = None,
        finalize_note: str | None = None,
        delete_worker_agents: bool = True,
        preserve_planner: bool = True,
    ) -> FinalizedRun:
        """Close a run and write its audit record: call this when the run has ended, or to cancel it.

        Open states become cancelled, unreached ones skipped; afterwards no worker can change anything. A second
        call returns the first result.
        """
    validate = Method(validation.validate)
    @_method
    def put_project(
        self,
        project: str,
        *,
        name: str | None = None,
        paths: Sequence[str | Mapping[str, str]] | None = None,
        forget_paths: Sequence[str | Mapping[str, str]] | None = None,
        git: JsonObject | None = None,
        description: str | None = None,
        features: Sequence[Json] | None = None,
        metadata: JsonObject | None = None,
        max_in_progress: int | None = None,
        budget: JsonObject | None = None,
        revision: int | None = None,
        reason: str | None = None,
    ) -> MadeProject:
        """Make a project known, or add to it: call this once where you begin to work in a directory.

        A repeated call has no effect. Paths are added, git facts replaced; another name, description, feature list
        or metadata replaces what is there only with the revision that `get_project` showed.
        """
    @_method
    def get_project(
        self, project: str | None = None, *, path: str | None = None, machine: str | None = None
    ) -> ReadProject:
        """Read a project by its id, or by a directory that you work in, with how its runs stand."""
    @_iteration
    def list_projects(self, *, project: str | None = None) -> Iterator[ListedProject]:
        """List projects, those that were used last first. Pages are read as they are needed."""
    @_method
    def delete_project(self, project: str, *, reason: str | None = None) -> DeletedProject:
        """Forget a project and its indexed files; its runs, and what else names it, stay. Repeated, it finds it
        gone.
        """
    @_method
    def json_create(
        self,
        redis_key: str = "",
        initial: Json = ...,
        *,
        key_prefix: str = "doc:",
        overwrite: bool = False,
        expires_in_s: int | Literal["never"] | None = None,
        request_id: str | None = None,
    ) -> ChangedDocument:
        """Create a JSON document of your own, for notes or data that no workflow state holds.

        An existing key is refused unless `overwrite=True`. It expires after its last write, by default in 30 days.
        """
    @_method
    def json_read(self, redis_key: str, path: str = "$", *, pretty: bool = False, cursor: int = 0) -> ReadDocument:
        """Read a JSON document, or one value of it; of runs too, lease tokens hidden.

        A value too long for one answer comes in pages: call again with next_cursor as `cursor`.
        """
    @_method
    def json_set(
        self,
        redis_key: str,
        path: str,
        value: Json,
        *,
        as_text: bool = False,
        agent_id: str | None = None,
        expires_in_s: int | Literal["never"] | None = None,
        request_id: str | None = None,
    ) -> ChangedDocument:
        """Set one value of a document; missing parents are created as objects.

        The planner of a run may set $.agents of its cp:wf:RUN:meta; other documents of runs are an operator's.
        """
    @_method
    def json_ensure(
        self, redis_key: str, path: str, default: Json, *, as_text: bool = False, request_id: str | None = None
    ) -> ChangedDocument:
        """Ensure that a value is there: set a default where nothing or null is, else change nothing."""
    @_method
    def json_append(
        self,
        redis_key: str,
        path: str,
        value: Json,
        *,
        spread: bool = False,
        as_text: bool = False,
        request_id: str | None = None,
    ) -> ChangedDocument:
        """Append to an array, which is created where nothing is, or a string to a string."""
    @_method
    def json_merge(
        self, redis_key: str, path: str, patch: Json, *, agent_id: str | None = None, request_id: str | None = None
    ) -> ChangedDocument:
        """Merge an object into a value: its members replace, null removes (JSON Merge Patch, RFC 7386)."""
    @_method
    def json_increment(
        self, redis_key: str, path: str, delta: str | float, *, request_id: str | None = None
    ) -> ChangedDocument:
        """Increment a number by a delta, exactly; nothing there counts as 0, and integers stay integers."""
    @_method
    def json_delete(self, redis_key: str, path: str, *, request_id: str | None = None) -> ChangedDocument:
        """Remove one value of a document; $ deletes the whole document and its key.

        Elements after a removed one move up; where nothing is, nothing changes.
        """
    @_method
    def json_copy(
        self, redis_key: str, from_path: str, to_path: str, *, overwrite: bool = True, request_id: str | None = None
    ) -> ChangedDocument:
        """Copy a value to another path of the same document; missing parents are created as objects."""
    @_method
    def json_move(
        self, redis_key: str, from_path: str, to_path: str, *, overwrite: bool = True, request_id: str | None = None
    ) -> ChangedDocument:
        """Move a value to another path of the same document, in one step. Both paths are those before the move."""
    create_schedule = Method(schedules.create_schedule)
    @_iteration
    def list_schedules(self, *, name: str | None = None, project: str | None = None) -> Iterator[ScheduleDetails]:
        """List schedules, or show one (name): the next time, the outcome of the latest, the reason for not
        starting.
        """
    @_method
    def operate_schedule(
        self, name: str, action: ScheduleActionName, *, reason: str | None = None, request_id: str | None = None
    ) -> OperatedSchedule:
        """Pause or resume a schedule, or start a run of it now (trigger: out of turn, whatever runs, paused or
        not).

        A resumed schedule catches up missed runs by its catch_up. If it stopped, since the API key of its creator
        is gone, its runs are then yours.
        """
    @_method
    def delete_schedule(self, name: str, *, reason: str | None = None) -> DeletedSchedule:
        """Delete a schedule permanently; the runs that it started stay. Repeated, it finds that it is gone."""
    @_method
    def validate_skill_manifest(
        self, skill: str | Mapping[str, Json], *, schema_path: str | None = None
    ) -> ValidatedManifest:
        """Validate a skill manifest before it is used: repeat until exit_code is 0.

        Checks its form and what a form cannot say (a tool that is there twice); `problems` lists all that is
        wrong, each with a JSON Pointer and what to do.
        """
    @_method
    def get_skillset(
        self,
        *,
        manifests_dir: str | None = None,
        schema_path: str | None = None,
        include_previews: bool = True,
        preview_chars: int | None = None,
        cursor: str | None = None,
        limit: int = 1000,
    ) -> ListedSkills:
        """Get the skills that agents can be given: call this before you write a workflow.

        Each item says what the skill does, its tools, and its names; bind a Task to it by one of its aliases.
        """
    @_method
    def get_skillset_from_catalog(
        self,
        *,
        catalog_path: str | None = None,
        schema_path: str | None = None,
        include_previews: bool = True,
        preview_chars: int | None = None,
        cursor: str | None = None,
        limit: int = 1000,
    ) -> ListedSkills:
        """Get the skills that a catalogue names, where only some of all manifests are meant for you."""
    @_method
    def load_skill(
        self,
        skill: str | Mapping[str, Json],
        agent_id: str,
        *,
        workflow_id: str | None = None,
        state: str | None = None,
    ) -> LoadedSkill:
        """Give an agent a skill before it works on a state that needs it: directives, tools and data, all or
        nothing.
        """
    @_method
    def unload_skill(self, manifest_id: str, agent_id: str) -> UnloadedSkill:
        """Take a skill from an agent when its state is done; what another skill uses stays."""
