"""`trainer-client`: train, plan, presets, demo. Where a package is missing, it says how to get it."""

from __future__ import annotations

import sys

MISSING = (
    "trainer-client lacks the module {name}. In a clone: `make trainer-env`, then .venv-trainer/bin/trainer-client; "
    "or, in an environment of your own: pip install -e '/path/to/the/clone[trainer]'"
)
OURS = ("trainer_client", "verifier_protocol")


def main() -> None:
    try:
        from trainer_client.train.commands import app

        app()  # a command imports what is heavy when it is called
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in OURS:
            raise
        sys.exit(MISSING.format(name=error.name))


if __name__ == "__main__":
    main()
