"""What work used up, and the budgets of runs."""
