"""Questions of workers, notes for the planner, and corrections of results."""
