"""The hooks of other RL frameworks. None of these modules imports its framework: each is called by it."""
