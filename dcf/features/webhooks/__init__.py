"""The webhook platform: an agent is a URL, an event a signed POST. Its receiver answers at once, and works later."""
