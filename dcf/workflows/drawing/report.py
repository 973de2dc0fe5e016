"""A run as one HTML page: its status, its picture, its states, and its events. Pure.

The page is read from a file. It must not fetch data or run scripts, and its content security policy forbids both.
All that comes from runs is untrusted text and escaped.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Final

from dcf.core.leasing.blockers import word_of
from dcf.values.json_text import Json
from dcf.workflows.drawing.statuses import MARKS
from dcf.workflows.drawing.words import printable

_LONGEST: Final = 20_000
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE: Final = """
:root{color-scheme:light dark;--ink:light-dark(#16202a,#e6ecf2);--soft:light-dark(#52616f,#9fadbb);
--line:light-dark(#dde3e9,#26303a);--page:light-dark(#f5f7f9,#0b0f14);--card:light-dark(#fff,#11161c);
--box:light-dark(#eef2f6,#1a222b);--good:light-dark(#1b6e35,#6fd08c);--bad:light-dark(#b3261e,#ff8a80);
--run:light-dark(#0b63b0,#6cb6ff);--warn:light-dark(#7a5900,#e6c15c);--warn-box:light-dark(#fbf1d5,#2e2510)}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;color:var(--ink);
background:var(--page);margin:0 auto;max-width:1280px;padding:2rem}
h1{font-size:1.5rem;line-height:1.3;letter-spacing:-.015em;margin:0;overflow-wrap:anywhere}
h1 span{display:inline-block;font-size:.875rem;letter-spacing:0;padding:.1rem .65rem;border-radius:99px;
background:var(--box);vertical-align:.15em}
h2{font-size:1.05rem;margin:2rem 0 .5rem}
p{margin:.25rem 0}.soft,dt,th{color:var(--soft)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1.25rem;margin:1rem 0}
dd{margin:0;overflow-wrap:anywhere}
table,.picture{background:var(--card);border:1px solid var(--line);border-radius:10px}
table{border-collapse:separate;border-spacing:0;width:100%}
th{text-align:left;font-weight:500;font-size:.8125rem}
td,th{padding:.4rem .9rem;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
tbody tr:last-child td{border-bottom:0}td:empty{padding-block:0}
td.at,td.status,td.word{white-space:nowrap;font-variant-numeric:tabular-nums}td.name{min-width:9rem}
pre{background:var(--box);padding:.6rem .8rem;margin:.25rem 0;white-space:pre-wrap;overflow-wrap:anywhere;
border-radius:6px}
pre,code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-size:13px}code{overflow-wrap:anywhere}
.finding{border:1px solid var(--line);border-left:4px solid var(--line);border-radius:6px;padding:.5rem .9rem;
margin:.5rem 0;background:var(--card);overflow-wrap:anywhere}
.finding.stuck{border-left-color:var(--warn);background:var(--warn-box)}
.succeeded{color:var(--good)}.failed{color:var(--bad)}.running{color:var(--run)}
.cancelled,.paused,.blocked,.partial{color:var(--warn)}
.picture{overflow-x:auto;padding:.75rem}
.picture svg{display:block;margin:0 auto;max-width:100%;height:auto}summary{cursor:pointer;color:var(--soft)}
@media(max-width:800px){body{padding:1rem}dl{grid-template-columns:1fr}dd{margin-bottom:.4rem}
thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
tr{display:flow-root;padding:.5rem .75rem;border-bottom:1px solid var(--line)}tbody tr:last-child{border-bottom:0}
td{display:inline-block;padding:0 .6rem 0 0;border:0}td.name{min-width:0;font-weight:600}
td.more{display:block;font-size:.875rem;color:var(--soft)}}
@media print{:root{color-scheme:light}body{max-width:none;padding:0;font-size:11px;background:none}pre{font-size:9px}
tr,.finding{break-inside:avoid}thead{display:table-header-group}.picture{overflow:visible}
details::details-content{content-visibility:visible;block-size:auto}}
"""
_FACTS: Final = (
    "workflow_name", "created_at", "started_at", "finished_at", "finalized_at", "paused_at", "blocked_by",
    "planner_agent_id", "created_by", "tags", "definition_sha256", "error", "cause",
)  # fmt: skip
_MORE: Final = {"id", "at", "type", "state"}


def html_report(
    head: Mapping[str, Json],
    states: Mapping[str, Mapping[str, Json]],
    events: Sequence[Mapping[str, Json]],
    svg: str,
    left_out: Sequence[str] = (),
    findings: Iterable[Mapping[str, Json]] = (),
) -> str:
    """Return the page. `svg` is the picture of the workflow; `left_out` says what the page does not show.

    Of each of the `findings`, the remedy has a sentence and a command, in the words of who reads the page.
    """
    meta: Mapping[str, Json] = head["meta"]
    title = _text(f"{meta.get('workflow_name') or 'run'}: {head.get('workflow_id')}")
    status = word_of(meta)
    parts = (
        f'<h1>{title} <span class="{_word(status)}">{_status(status)}</span></h1>',
        f'<p class="soft">Exported by dcf {_text(head.get("dcf"))} at {_text(head.get("exported_at"))}.</p>',
        *(f'<p class="soft">{_text(sentence)}</p>' for sentence in left_out),
        _facts(meta),
        _findings(findings),
        f'<h2>Workflow</h2><div class="picture">{svg}</div>' if svg else "",
        "<h2>Input and output</h2>",
        _value("input", meta.get("input")),
        _value("output", meta.get("output")),
        _states(states),
        _events(events),
        f"<h2>Definition</h2>{_value('workflow document', head.get('definition'))}",
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><main>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def _facts(meta: Mapping[str, Json]) -> str:
    rows = (
        f"<dt>{name}</dt><dd>{_text(_plain(meta[name]))}</dd>" for name in _FACTS if meta.get(name) not in (None, [])
    )
    return f"<dl>{''.join(rows)}</dl>"


def _findings(document: Iterable[Mapping[str, Json]]) -> str:
    shown = "".join(
        f'<div class="finding{" stuck" if finding.get("stuck") else ""}"><strong>{_text(finding.get("cause"))}</strong>'
        f" {_text(finding.get('sentence'))}<br>{_remedy(finding.get('remedy') or {})}</div>"
        for finding in document
    )
    return f"<h2>Why it is where it is</h2>{shown}" if shown else ""


def _remedy(remedy: Mapping[str, Json]) -> str:
    command = remedy.get("command")
    text = f" <code>{_text(command)}</code>" if command else ""
    return f'<span class="soft">{_text(remedy.get("sentence"))}</span>{text}'


def _states(states: Mapping[str, Mapping[str, Json]]) -> str:
    rows = "".join(_state(path, doc) for path, doc in states.items())
    head = "<tr><th>state<th>status<th>attempts<th>started<th>ended<th>error, input and output</tr>"
    return f"<h2>States</h2><table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _state(path: str, doc: Mapping[str, Json]) -> str:
    error = doc.get("last_error")
    more = (f'<div class="failed">{_text(error)}</div>' if error else "") + "".join(
        _value(name, doc[name]) for name in ("input", "output") if name in doc
    )
    cells = (
        f'<td class="name">{_text(path)}',
        f'<td class="status {_word(doc.get("status"))}">{_status(doc.get("status"))}',
        f"<td>{_text(doc.get('attempts') or '')}",
        f'<td class="at">{_moment(doc.get("started_at"))}',
        f'<td class="at">{_moment(doc.get("finished_at"))}',
        f'<td class="more">{more}',
    )
    return f"<tr>{''.join(cells)}</tr>\n"


def _events(events: Sequence[Mapping[str, Json]]) -> str:
    rows = "".join(
        f'<tr><td class="at">{_moment(event.get("at"))}<td class="word">{_text(event.get("type"))}'
        f'<td class="name">{_text(event.get("state") or "")}<td class="more">{_text("  ".join(_pairs(event)))}</tr>\n'
        for event in events
    )
    head = "<tr><th>time (UTC)<th>event<th>state<th>data</tr>"
    return f"<h2>What happened</h2><table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _pairs(event: Mapping[str, Json]) -> Iterator[str]:
    return (f"{name}={_plain(value)}" for name, value in event.items() if name not in _MORE and value is not None)


def _value(name: str, value: Json) -> str:
    if value is None:
        return ""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    cut = f"\n… {len(text) - _LONGEST} more characters in the JSON export" if len(text) > _LONGEST else ""
    shown = "\n".join(printable(line, _LONGEST) for line in text[:_LONGEST].split("\n"))
    return f"<details><summary>{name}</summary><pre>{escape(shown + cut)}</pre></details>"


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)


def _moment(at: Json) -> str:
    """Return an instant to the millisecond; the whole of it is its title."""
    return "" if not isinstance(at, str) else f'<time title="{_text(at)}">{_text(at[:23].replace("T", " "))}</time>'


def _status(status: Json) -> str:
    return _text(f"{MARKS.get(str(status), '◐')} {status}")


def _word(status: Json) -> str:
    """Return a status as a class name; nothing but letters."""
    return "".join(character for character in str(status) if character.isascii() and character.isalpha())


def _text(value: Json) -> str:
    return escape(printable(str(value), _LONGEST))
