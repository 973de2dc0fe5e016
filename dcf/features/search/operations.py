"""One search over what is known, files of projects, and what runs wrote. Reads only; `ranking.py` ranks."""

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import RunQuery
from dcf.core.text.query import TextQuery, read_query
from dcf.errors import UnknownRun
from dcf.features.artifacts.model import MOST_ARTIFACTS
from dcf.features.catalogue.operations import DefinitionCatalogue
from dcf.features.catalogue.search import DefinitionQuery
from dcf.features.findings.changing import FindingFilters, FindingsQuery
from dcf.features.findings.operations import Knowledge
from dcf.features.journal.operations import Journal
from dcf.features.journal.query import LONGEST_PAGE, JournalQuery
from dcf.features.project_files.operations import ProjectFiles
from dcf.features.search.ranking import (
    FILES,
    Corpus,
    SearchHit,
    SearchRequest,
    artifact_hit,
    entry_hit,
    file_hit,
    output_hit,
    ranked,
    share,
    snippet,
    unit_hit,
)
from dcf.features.search.storage import RunTexts
from dcf.runs.views.lists import RunList
from dcf.values.json_text import Json
from dcf.values.records import record

MOST_RUNS: Final = 20
"""Runs whose journals, artifacts and outputs are looked through: the newest that the filters leave."""

_PAGES: Final = 10
"""Pages of the journal that are looked through where one run is meant; of each of several runs it is one page."""

_ARTIFACTS: Final = 100
"""Artifacts of each of several runs that are looked at: the newest. Of one run it is all."""


@record(frozen=True, slots=True, kw_only=True)
class SearchResults:
    """The results, best first; of what is looked through how far that went: how many runs, and whether that was all."""

    hits: tuple[SearchHit, ...] = ()
    covered: dict[str, Json] = field(default_factory=dict)


_IN_RUNS: Final = frozenset({Corpus.JOURNAL, Corpus.ARTIFACT, Corpus.OUTPUT})
"""What is looked for in the newest runs."""


class Searching:
    """Searches."""

    def __init__(
        self,
        run_list: RunList,
        journal: Journal,
        knowledge: Knowledge,
        catalogue: DefinitionCatalogue,
        project_files: ProjectFiles,
        texts: RunTexts,
    ) -> None:
        self._run_list = run_list
        self._journal = journal
        self._knowledge = knowledge
        self._catalogue = catalogue
        self._project_files = project_files
        self._texts = texts

    def search(self, request: SearchRequest) -> SearchResults:
        """Return the best results. No text is an error; a text without a word has no results."""
        query = read_query(request.text)
        if query.expression is None:
            return SearchResults()
        hits: list[SearchHit] = []
        if Corpus.DEFINITION in request.corpora and request.run is None:
            hits += self._definitions(request, query)
        if Corpus.FINDING in request.corpora:
            hits += self._findings(request, query)
        kinds = [kind for corpus, kind in FILES.items() if corpus in request.corpora]
        if kinds and request.run is None:
            files = self._project_files.search(query, request.project, kinds, request.limit)
            hits += [file_hit(file, query) for file in files]
        covered: dict[str, Json] = {}
        runs, is_all = self._runs(request) if {*_IN_RUNS, Corpus.UNIT} & set(request.corpora) else ([], True)
        if _IN_RUNS & set(request.corpora):
            covered = {"runs": len(runs), "all_runs": is_all}
            if Corpus.JOURNAL in request.corpora:
                pages = _PAGES if request.run is not None else 1
                whole = [self._entries(run, query, pages, hits) for run in runs]
                covered["whole_journals"] = all(whole)
            if Corpus.ARTIFACT in request.corpora:
                artifacts = self._texts.artifacts(runs, _ARTIFACTS if request.run is None else MOST_ARTIFACTS)
                hits += [
                    hit for run, artifact in artifacts.texts if (hit := artifact_hit(run, artifact, query)) is not None
                ]
                covered["all_artifacts"] = artifacts.is_complete
            if Corpus.OUTPUT in request.corpora:
                outputs = self._texts.outputs(runs)
                hits += [hit for output in outputs.texts if (hit := output_hit(output, query)) is not None]
                covered["whole_outputs"] = outputs.is_complete
        if Corpus.UNIT in request.corpora:
            units = self._texts.units(self._open_runs(request, runs))
            hits += [hit for run, unit in units.texts if (hit := unit_hit(run, unit, query)) is not None]
            covered["all_units"] = units.is_complete
        return SearchResults(hits=tuple(ranked(hits, request.limit)), covered=covered)

    def _runs(self, request: SearchRequest) -> tuple[list[str], bool]:
        if request.run is not None:
            return [request.run], True
        page = self._run_list.list_runs(RunQuery(limit=MOST_RUNS, project=request.project))
        return [row.workflow_id for row in page.rows], page.next_cursor is None

    def _open_runs(self, request: SearchRequest, newest: Sequence[str]) -> list[str]:
        """Return the runs whose units are looked through: the newest, and the newest of those that are not over."""
        if request.run is not None:
            return [request.run]
        run_query = RunQuery(limit=MOST_RUNS, project=request.project, status=RunStatus.RUNNING)
        live = [row.workflow_id for row in self._run_list.list_runs(run_query).rows]
        return list(dict.fromkeys((*live, *newest)))

    def _entries(self, run: str, query: TextQuery, pages: int, hits: list[SearchHit]) -> bool:
        """Add what the newest entries of a journal have of the query; return whether those were all of its entries."""
        cursor = None
        for _ in range(pages):
            try:
                page = self._journal.read_journal(run, JournalQuery(limit=LONGEST_PAGE, cursor=cursor))
            except UnknownRun:
                return True  # it was deleted meanwhile
            hits += [hit for entry in page.entries if (hit := entry_hit(run, entry, query)) is not None]
            cursor = page.next_cursor
            if cursor is None:
                return True
        return False

    def _findings(self, request: SearchRequest, query: TextQuery) -> Iterator[SearchHit]:
        filters = FindingFilters(project=request.project, run=request.run)
        page = self._knowledge.search(FindingsQuery(limit=request.limit, text=request.text, filters=filters))
        for finding, score in page.hits:
            yield SearchHit(
                type=Corpus.FINDING,
                entity_id=finding.finding_id,
                title=finding.title,
                snippet=snippet(finding.text, query),
                score=share(score, query),
                at=finding.created_at,
                where={} if finding.run is None else {"workflow_id": finding.run},
            )

    def _definitions(self, request: SearchRequest, query: TextQuery) -> Iterator[SearchHit]:
        definition_query = DefinitionQuery(
            limit=request.limit, text=request.text, project=request.project, with_kept=request.with_kept
        )
        for definition, score in self._catalogue.search(definition_query).hits:
            yield SearchHit(
                type=Corpus.DEFINITION,
                entity_id=definition.entry_id,
                title=definition.name,
                snippet=snippet(definition.description, query),
                score=share(score, query),
                at=definition.newest.at,
                where={"kind": str(definition.kind), "name": definition.name},
            )
