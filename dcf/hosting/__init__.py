"""Runs agents that have no server of their own: a function or a model behind an SDK works on the states of an agent id.

The host awaits events, keeps leases, gives a turn its work and its tools, and sends the result. So a model never
polls, never sees a lease, and is not done because its process ended. `protocol`, `prompts`, `child`, `loading`,
`tool_endpoint` and `recipes` import only the standard library, the errors and each other: they also run in environments
that have nothing else of dcf.
"""
