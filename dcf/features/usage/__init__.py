"""The usage of work, and the budgets of runs."""
