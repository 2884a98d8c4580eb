"""`trainer-client`: train, plan, presets, demo. Needs the extra `trainer`; says so where it is missing."""

from __future__ import annotations

import sys

MISSING = "trainer-client needs the trainer's packages: pip install 'reward-verifier[trainer]' (no module named {name})"


def main() -> None:
    try:
        from trainer_client.train.commands import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in ("trainer_client", "verifier_protocol"):
            raise
        sys.exit(MISSING.format(name=error.name))
    app()


if __name__ == "__main__":
    main()
