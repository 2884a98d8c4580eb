"""`trainer-client train`: GRPO end to end from one YAML file. Light to import: torch and TRL are loaded when a run begins."""
