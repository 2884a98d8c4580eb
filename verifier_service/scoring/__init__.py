"""From groups to verdicts: admission, fan-out, deadlines, dedupe, cache; order kept, failures contained."""
