"""What was learned in runs and outlives them."""
