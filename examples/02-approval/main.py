"""Runs the flow of approval.py here: serves its functions, starts a run, and answers as alice."""

from approval import approval

import dcf

with dcf.connect() as client, client.serve(approval, "writer"):
    run = client.start(approval, approval.input("storage"), agents="writer")
    for event in client.events(run.workflow_id, follow=True):
        if (event.type, event.state) == ("StateEntered", "Approve"):
            (task,) = client.list_human_tasks(workflow_id=run.workflow_id)
            print(f"{task.title} alice: approve")
            client.answer_human_task(run.workflow_id, "Approve", "approve", agent_id="alice")
    print(client.result(run.workflow_id))
