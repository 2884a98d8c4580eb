"""Groups for `verifier-service score` from a file of model solutions of word problems: `gsm8k_groups.py FILE`.

A line of the file has a `ground_truth` that ends in "A: answer", and several model solutions, each an object with
`solution` (it ends in the same way) and `is_correct`.
"""

import json
import sys
from pathlib import Path

OPTIONS = {"extract": ["final_answer"]}


def main(path: str) -> None:
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        record = json.loads(line)
        models = [value for value in record.values() if isinstance(value, dict) and "solution" in value]
        group = {
            "id": f"solutions-{number}",
            "completions": [model["solution"] for model in models],
            "labels": [bool(model["is_correct"]) for model in models],
            "verifiers": [{"kind": "math", "gold": record["ground_truth"].rsplit("A:", 1)[-1].strip(), "options": OPTIONS}],
        }
        sys.stdout.write(json.dumps(group) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
