"""An open run: a reviewer finds more work, and adds it while the run is open."""

import dcf

FOUND = {"Read main.py": ["Read parser.py", "Read cache.py"], "Read parser.py": ["Read tokens.py"]}
"""The work that each file leads to. It is not known before the file was read."""

with dcf.connect() as client:
    run = client.open_run("read-the-code").workflow_id
    client.add_units(run, [{"name": "Read main.py"}])
    while (claimed := client.claim_work("reader", workflow_id=run)) is not None:
        more = FOUND.get(claimed.state, [])
        if more:
            client.add_units(run, [{"name": name} for name in more], agent_id="reader")
        print(f"{claimed.state}: {len(more)} more")
        claimed.complete({"led_to": more})
    print(client.close_run(run, summary="All files are read.").run_status)
