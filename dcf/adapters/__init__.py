"""Ways to reach an agent behind the `AgentPlatform` port."""
