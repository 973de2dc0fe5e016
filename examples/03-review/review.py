"""Both agents without models: the first draft has no source, so the critic sends it back."""

from article import article

import dcf
from dcf.errors import Refused

DRAFTS = [
    {"text": "Leases expire.", "source": ""},
    {"text": "Leases expire.", "source": "docs/concepts/leases.md"},
]


def submit(client: dcf.Client, run: str, token: str, draft: dict[str, str]) -> str:
    """Send a draft as the writer, and return the code of the answer."""
    try:
        client.update_workflow_control_plane(run, "Write", lease_token=token, new_status="succeeded", output=draft)
    except Refused as refused:
        return refused.code
    return "ok"


def review(client: dcf.Client, run: str) -> bool:
    """Review what waits as the critic, and return whether it passed."""
    (waiting,) = client.list_gates(workflow_id=run, state="Write", agent_id="critic")
    assert isinstance(waiting.output, dict)
    failed = [] if waiting.output["source"] else list(waiting.criteria)
    decided = client.decide_gate(
        run,
        "Write",
        waiting.name,
        "fail" if failed else "pass",
        content_sha256=waiting.content_sha256,
        agent_id="critic",
        failed=failed,
    )
    print(f"critic: {decided.verdict} {failed or ''}".rstrip())
    return not failed


with dcf.connect() as client:
    run = client.start(article, article.input("leases"), agents="writer").workflow_id
    claimed = client.claim_work("writer", workflow_id=run)
    assert claimed is not None
    for draft in DRAFTS:
        print(f"writer: {submit(client, run, claimed.work['lease_token'], draft)}")
        if review(client, run):
            break
    print(client.result(run))
