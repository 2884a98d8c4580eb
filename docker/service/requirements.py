"""Prints what the service needs, one requirement a line, from pyproject.toml: its dependencies and the extra `service`."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["project"]
sys.stdout.write("\n".join([*project["dependencies"], *project["optional-dependencies"]["service"]]) + "\n")
