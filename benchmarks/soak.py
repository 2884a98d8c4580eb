"""A soak: many mixed submissions through a service's /score, a share of them hostile, each with a known verdict.

    python benchmarks/soak.py [--count 20000] [--concurrency 4] [--seed 1] [--out soak-report]

A service is started with slots of its own and stopped at the end. Every verdict is compared with what it must be, and
no reward may be null. After a warm-up, and again at the end, with nobody asking, the service is measured: resident memory,
descriptors, threads, child processes, sandboxes and temporary files must be what they were. Writes `report.md`, `soak.json`
and `soak.svg` to the folder, and exits with 1 if anything was wrong. What the submissions are stands in `soak_cases.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import httpx
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from soak_cases import Group, groups

SANDBOX_LABEL = "io.verifier.sandbox"
SETTLE_S = 90.0
STILL_TIMES = 5  # measures, two seconds apart
MEMORY_SLACK = 1.15  # and as many MiB more:
MEMORY_SLACK_MB = 24.0
WRONG_SHOWN = 20


@dataclass(frozen=True)
class Measure:
    """What the service holds; memory in MiB, of the HTTP process and of its children other than sandboxes."""

    at_s: float
    rss_mb: float
    children_mb: float
    descriptors: int
    threads: int
    processes: int
    sandboxes: int
    temporary_files: int


@dataclass
class Result:
    """What came of the soak."""

    done: int = 0
    hostile: int = 0
    unscored: int = 0
    wrong: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    tampering: int = 0
    seconds: float = 0.0
    samples: list[Measure] = field(default_factory=list)
    progress: list[tuple[float, int]] = field(default_factory=list)


class Service:
    """The service under test."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, folder: Path) -> None:
        self.process, self.url, self.folder = process, url, folder
        self.began = time.monotonic()

    def measure(self) -> Measure:
        tree = [self.process.pid, *_descendants(self.process.pid)]
        inside = [pid for pid in tree if "runner.main" not in _text(pid, "cmdline")]  # boxes of bubblewrap are sandboxes
        listed = ["docker", "ps", "--quiet", "--filter", f"label={SANDBOX_LABEL}.pid={self.process.pid}"]
        try:
            containers = len(subprocess.run(listed, capture_output=True, text=True, check=False).stdout.split())
        except FileNotFoundError:
            containers = 0
        return Measure(
            time.monotonic() - self.began,
            _resident_mb(inside[0]),
            sum(_resident_mb(pid) for pid in inside[1:]),
            len(os.listdir(f"/proc/{self.process.pid}/fd")),  # noqa: PTH208 - names alone are wanted
            len(os.listdir(f"/proc/{self.process.pid}/task")),  # noqa: PTH208
            len(inside),
            containers or sum("bwrap" in _text(pid, "comm") for pid in tree),
            sum(1 for _ in self.folder.rglob("*")),
        )

    def settled(self) -> Measure:
        """Measured when nothing moves any more: containers on their way out are gone, spares are there."""
        deadline = time.monotonic() + SETTLE_S
        seen: list[tuple[int, int, int]] = []
        while True:
            now = self.measure()
            seen.append((now.sandboxes, now.descriptors, now.processes))
            if (len(seen) >= STILL_TIMES and len(set(seen[-STILL_TIMES:])) == 1) or time.monotonic() > deadline:
                return now
            time.sleep(2.0)


def _text(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""


def _resident_mb(pid: int) -> float:
    fields = _text(pid, "statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if len(fields) > 1 else 0.0


def _descendants(pid: int) -> list[int]:
    children = [
        int(child) for task in Path(f"/proc/{pid}/task").glob("*") for child in _text(pid, f"task/{task.name}/children").split()
    ]
    return children + [grandchild for child in children for grandchild in _descendants(child)]


@contextmanager
def service(slots: int, sandbox: str) -> Iterator[Service]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "VERIFIER_PORT": str(port),
        "VERIFIER_SANDBOX": sandbox,
        "VERIFIER_SANDBOX_SLOTS": str(slots),
        "VERIFIER_LOG_LEVEL": "warning",
        "VERIFIER_CACHE_MB": "1",  # full before the warm-up is over, so that memory that grows is no cache
    }
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        command = [sys.executable, "-m", "verifier_service", "serve"]
        process = subprocess.Popen(command, env=os.environ | settings | {"TMPDIR": folder}, start_new_session=True)
        made = Service(process, f"http://127.0.0.1:{port}", Path(folder))
        try:
            _wait_ready(made)
            yield made
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(90)


def _wait_ready(made: Service) -> None:
    for _ in range(900):
        if made.process.poll() is not None:
            raise SystemExit(f"the service ended with {made.process.returncode}")
        try:
            if httpx.get(f"{made.url}/readyz", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise SystemExit("the service did not become ready in three minutes")


def judge(group: Group, answer: dict[str, Any], result: Result) -> None:
    """Compare a group's answer with what it must be."""
    (answered,) = answer["groups"]
    for submission, reward, verdicts in zip(group.submissions, answered["rewards"], answered["verdicts"], strict=True):
        result.done += 1
        result.hostile += submission.hostile
        result.kinds[submission.name] += 1
        result.unscored += reward is None
        result.tampering += any(verdict.get("tamper") for verdict in verdicts)
        result.outcomes.update(verdict.get("outcome") or f"unscored: {verdict['reason']}" for verdict in verdicts)
        if reward is None or abs(reward - submission.reward) > 1e-9:
            what = f"{submission.name}: {reward} in place of {submission.reward}"
            result.wrong.append(f"{what}; {json.dumps(verdicts)[:600]}; {submission.completion!r}")


async def soak(made: Service, work: list[Group], arguments: argparse.Namespace, result: Result, advance: Any) -> None:
    """Send the groups, so many requests at one time, and judge the answers; ends early when the minutes are over."""
    waiting = iter(work)
    start = time.monotonic()

    async def ask(http: httpx.AsyncClient) -> None:
        for group in waiting:
            if time.monotonic() - start > 60 * arguments.minutes:
                return
            body = {
                "groups": [{"verifiers": group.verifiers, "completions": [s.completion for s in group.submissions]}],
                "deadline_s": 590,
            }
            reply = await http.post("/score", json=body)
            if reply.status_code != 200:
                result.wrong.append(f"HTTP {reply.status_code}: {reply.text[:500]}")
                continue
            judge(group, reply.json(), result)
            advance(len(group.submissions))

    async def watch() -> None:
        while True:
            await asyncio.sleep(2.0)
            result.samples.append(await asyncio.to_thread(made.measure))
            result.progress.append((time.monotonic() - start, result.done))

    async with httpx.AsyncClient(base_url=made.url, timeout=600) as http:
        watching = asyncio.create_task(watch())
        await asyncio.gather(*(ask(http) for _ in range(arguments.concurrency)))
        watching.cancel()
    result.seconds = time.monotonic() - start


def leaks(before: Measure, after: Measure) -> list[str]:
    """What there is more of than there was; nothing may be."""
    found = []
    for name in ("rss_mb", "children_mb"):
        had, has = getattr(before, name), getattr(after, name)
        if has > MEMORY_SLACK * had + MEMORY_SLACK_MB:
            found.append(f"{name}: {had:.0f} became {has:.0f} MiB")
    for name, slack in (("descriptors", 4), ("threads", 4), ("processes", 0), ("sandboxes", 0), ("temporary_files", 0)):
        if getattr(after, name) > getattr(before, name) + slack:
            found.append(f"{name}: {getattr(before, name)} became {getattr(after, name)}")
    return found


def plot(result: Result, path: Path) -> None:
    """Memory and submissions over time, as an SVG of two lines."""
    width, height, edge = 720, 240, 40
    series = [
        ("memory of the service, MiB", "#0b6e4f", [(s.at_s, s.rss_mb + s.children_mb) for s in result.samples]),
        ("submissions", "#c1440e", [(at_s, float(done)) for at_s, done in result.progress]),
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{2 * height}" font-family="sans-serif" font-size="12">'
    ]
    parts.append(f'<rect width="{width}" height="{2 * height}" fill="white"/>')
    for index, (name, colour, points) in enumerate(series):
        if not points:
            continue
        first, last, most = points[0][0], points[-1][0], max(value for _, value in points) or 1.0
        span = (last - first) or 1.0
        line = " ".join(
            f"{edge + (x - first) / span * (width - 2 * edge):.1f},"
            f"{(index + 1) * height - edge - y / most * (height - 2 * edge):.1f}"
            for x, y in points
        )
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<text x="{edge}" y="{index * height + 20}">{name}: at most {most:.0f}, over {span:.0f} s</text>')
    path.write_text("\n".join([*parts, "</svg>\n"]))


def report(result: Result, before: Measure, after: Measure, arguments: argparse.Namespace, found: list[str]) -> str:
    lines = [
        "# Soak",
        "",
        f"{result.done} submissions ({result.hostile} hostile), seed {arguments.seed}, "
        f"{arguments.concurrency} requests at one time, {arguments.slots} slots ({arguments.sandbox}): "
        f"{result.seconds:.0f} s, {result.done / result.seconds:.1f} a second.",
        "",
        f"- wrong verdicts: {len(result.wrong)}, unscored: {result.unscored}, verdicts with tamper signs: {result.tampering}",
        f"- leaks: {'; '.join(found) or 'none'}",
        "",
        "| | after the warm-up | at the end |",
        "| --- | --- | --- |",
    ]
    names = [part.name for part in fields(Measure) if part.name != "at_s"]
    lines += [f"| {name.replace('_', ' ')} | {getattr(before, name):.5g} | {getattr(after, name):.5g} |" for name in names]
    lines += ["", "| outcome | verdicts |", "| --- | --- |", *(f"| {name} | {n} |" for name, n in result.outcomes.most_common())]
    lines += ["", "| submission | |", "| --- | --- |", *(f"| {name} | {n} |" for name, n in result.kinds.most_common())]
    lines += ["", *(f"    {line[:2000]}" for line in result.wrong[:WRONG_SHOWN])]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="submissions after the warm-up")
    parser.add_argument(
        "--warm-up", type=int, default=0, help="submissions before the first measure; 0: a twentieth, at least 200"
    )
    parser.add_argument("--minutes", type=float, default=24 * 60.0, help="end after so many, done or not")
    parser.add_argument("--concurrency", type=int, default=4, help="requests at one time")
    parser.add_argument("--group", type=int, default=8, help="completions of a group; a request is one group")
    parser.add_argument("--hostile", type=float, default=0.1, help="share of hostile submissions")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--sandbox", default="auto", help="auto, docker or bubblewrap")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("soak-report"), help="folder of the report")
    arguments = parser.parse_args()
    warm_up = arguments.warm_up or max(200, arguments.count // 20)
    work = list(groups(warm_up + arguments.count, arguments.seed, arguments.group, arguments.hostile))
    warm, rest = work[: warm_up // arguments.group], work[warm_up // arguments.group :]
    result, warming = Result(), Result()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with service(arguments.slots, arguments.sandbox) as made, Progress(*columns) as bar:
        task = bar.add_task("warm-up", total=sum(len(group.submissions) for group in warm))
        asyncio.run(soak(made, warm, arguments, warming, lambda n: bar.advance(task, n)))
        before = made.settled()
        task = bar.add_task("soak", total=sum(len(group.submissions) for group in rest))
        asyncio.run(soak(made, rest, arguments, result, lambda n: bar.advance(task, n)))
        after = made.settled()
    result.wrong = warming.wrong + result.wrong
    found = leaks(before, after)
    arguments.out.mkdir(parents=True, exist_ok=True)
    text = report(result, before, after, arguments, found)
    (arguments.out / "report.md").write_text(text)
    (arguments.out / "soak.json").write_text(
        json.dumps(vars(result) | {"before": before, "after": after}, default=asdict, indent=1)
    )
    plot(result, arguments.out / "soak.svg")
    print(text)
    raise SystemExit(1 if result.wrong or found else 0)


if __name__ == "__main__":
    main()
