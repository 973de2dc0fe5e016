"""Machines for AWS Step Functions, in the judgement of somebody else's validator, pinned in `package-lock.json`."""
