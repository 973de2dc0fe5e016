"""Who may write a state, until when, and when the clock looks at it. Pure."""
