"""JSONata as AWS evaluates it. Pure, but for the confined child of a risky expression."""
