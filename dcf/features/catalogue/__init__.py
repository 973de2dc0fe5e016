"""What agents work by: workflows, jobs, personas and rules in versions."""
