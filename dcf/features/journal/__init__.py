"""What agents and people write down about a run, and issues that block it."""
