"""What runs owe to agents, and how it is delivered."""
