"""What the clients of other frameworks end up with: their own functions, loaded from checkouts, against a real service.

    python benchmarks/compat_clients.py --checkouts DIR [--only verl,slime] [--faults]

DIR holds checkouts named verl, ROLL, SkyRL, ScaleBox, OpenRLHF, slime, open-instruct, open-r1 and code-judge, and in
nemo-gym-venv a virtual environment with the package `nemo-gym`; SandboxFusion's client is its package, which the tests install.
What is missing is named and left out; nothing of them is part of this project. What a client's file imports beyond its needs
(torch, ray, …) is replaced by stand-ins, so that no GPU stack has to be installed.

Without --faults: a right, a wrong, a failing and a looping program, and the reward that each client computes from the
service's answers; the same in C++ for the clients that send it, where the service has it
(VERIFIER_SANDBOX_PROFILES=python,compiled, or VERIFIER_SANDBOX=bubblewrap and a g++ on this machine). With --faults: the right
program again, against a service without a sandbox, one whose Docker engine has died, one whose engine is gone for ten seconds,
and one that is overloaded; this takes some minutes, since clients retry.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import types
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import requests
from compat_faults import Engine, flood, service, wait_for_code
from compat_stand_ins import load
from sandbox_fusion import RunCodeRequest, SummaryMapping, run_code, summary_run_code_result

RIGHT = "print(int(input()) * 2)"
PROGRAMS = {
    "right": RIGHT,
    "wrong": "print(int(input()) + 3)  # right for 3",
    "failing": "raise ValueError(input())",
    "looping": "while True: pass",
}
CPP = {
    "right": "#include <iostream>\nint main() { int x; std::cin >> x; std::cout << x * 2; }",
    "wrong": "#include <iostream>\nint main() { int x; std::cin >> x; std::cout << x + 3; }",
    "broken": "#include <iostream>\nint main() { std::cout << y; }",
    "failing": "#include <cstdlib>\nint main() { std::abort(); }",
    "looping": "#include <iostream>\nint main() { for (volatile int i = 0;; i++); }",
}
FAULTS = ("no sandbox", "engine dead", "engine back", "overload")
CASES = [("2", "4"), ("3", "6"), ("10", "20")]
SUMMARY = SummaryMapping(
    Success="success", Failed="failed", CompileFailed="compile error", RunFailed="runtime error", RunTimeout="time-out"
)
OPEN_R1_SCRIPT = """
    import json, subprocess
    def score(code, cases):
        good = 0
        for case in cases:
            try:
                done = subprocess.run(["python3", "-c", code], input=case["input"], text=True, capture_output=True, timeout=2)
                good += done.returncode == 0 and done.stdout.strip() == case["output"]
            except subprocess.TimeoutExpired:
                pass
        return good / len(cases)
"""


Client = Callable[[Path, str], Callable[[str], Any]]  # (checkout, url) -> a function from a program to its reward


def verl(checkout: Path, url: str) -> Callable[[str], Any]:
    module = load(checkout / "verl/utils/reward_score/sandbox_fusion/__init__.py", "verl_sandbox_fusion")
    tests = {"inputs": [i for i, _ in CASES], "outputs": [o for _, o in CASES]}

    def reward(program: str) -> Any:
        semaphore = threading.Semaphore(64)
        score, notes = module.compute_score(
            f"{url}/run_code", semaphore, 1024, fenced(program), dict(tests), continuous=True, timeout=4
        )
        return f"{score:g} ({', '.join(sorted({str(n.get('status')) for n in notes}))})"

    return reward


def roll(checkout: Path, url: str) -> Callable[[str], Any]:
    module = load(checkout / "roll/pipeline/rlvr/rewards/code_sandbox_reward_worker.py", "roll_sandbox")
    tests = [{"stdin": i, "expected_stdout": o} for i, o in CASES]

    def reward(program: str) -> Any:
        tester = module.CodeTester(f"{url}/run_code")
        tester.DEFAULT_TIMEOUT = 4
        info = tester.single_code_test(0, "p", fenced(program), "input", tests)
        return f"{info['pass_test_ratio']:g} (tests that count: {info['succeed_test_cases_number']}, valid: {info['validation']})"

    return reward


def label() -> str:
    cases = [{"stdin": i, "expected_stdout": o} for i, o in CASES]
    spec = {"kind": "code", "tests": {"style": "stdin", "cases": cases}, "limits": {"cpu_time_s": 2, "wall_time_s": 4}}
    return json.dumps(spec)


def language_of(program: str) -> str:
    return "cpp" if "#include" in program else "python"


def fenced(program: str) -> str:
    return f"Here:\n```{language_of(program)}\n{program}\n```"


def loops(program: str) -> bool:
    """A client's own time-out is shortened for these, else each costs half a minute."""
    return program in (PROGRAMS["looping"], CPP["looping"])


def skyrl(checkout: Path, url: str) -> Callable[[str], Any]:
    os.environ["CODER1_EXEC"] = "sandboxfusion"
    module = load(checkout / "skyrl-agent/skyrl_agent/tasks/verifiers/coder1/__init__.py", "skyrl_coder1")
    execution = sys.modules["skyrl_coder1.sandboxfusion_exec"]
    # Its URL has the port 8080, whatever one says: everything else of the request is its own.
    execution.requests = types.SimpleNamespace(  # type: ignore[attr-defined]
        post=lambda _, **body: requests.post(f"{url}/run_code", **body), exceptions=requests.exceptions
    )
    execute = module.code_exec
    truth = json.dumps({"inputs": [i for i, _ in CASES], "outputs": [o for _, o in CASES]})

    def reward(program: str) -> Any:
        more = {"timeout": 3} if loops(program) else {}
        module.code_exec = lambda **asked: execute(**asked, sandbox_servers="service", **more)
        return module.compute_score(fenced(program), truth, None)["score"]

    return reward


def scalebox(checkout: Path, url: str) -> Callable[[str], Any]:
    module = load(checkout / "integrations/verl/scalebox.py", "scalebox_verl")
    tests = {"type": "stdin_stdout", "input": [i for i, _ in CASES], "output": [o for _, o in CASES], "fn_name": None}

    def reward(program: str) -> Any:
        more = {"timeout": 3} if loops(program) else {}
        score, (notes,) = module.compute_score(
            "taco", fenced(program), json.dumps(tests), sandbox_fusion_url=f"{url}/common_evaluate_batch", **more
        )
        return f"{score:g} ({notes.get('status') or notes.get('error')})"

    return reward


def sandbox_fusion(checkout: Path, url: str) -> Callable[[str], Any]:
    del checkout

    def reward(program: str) -> Any:
        request = RunCodeRequest(code=program, language=language_of(program), stdin="2", run_timeout=3)
        got = run_code(request, endpoint=url, max_attempts=3, client_timeout=30)
        return f"{summary_run_code_result(got, SUMMARY)} ({got.run_result.stdout if got.run_result else 'never ran'!r})"

    return reward


def openrlhf(checkout: Path, url: str) -> Callable[[str], Any]:
    module = load(checkout / "openrlhf/utils/agent.py", "openrlhf_agent")
    executor = module.SingleTurnAgentExecutor([f"{url}/get_reward", f"{url}/get_reward"])  # two URLs: the second gets nothing
    prompt = "<|im_start|>user\nTwice?<|im_end|>\n<|im_start|>assistant\n"

    def reward(program: str) -> Any:
        query = prompt + fenced(program) + "<|im_end|>\n"
        answers = asyncio.run(executor._fetch_rewards_via_http([query], [prompt], [label()]))
        return answers[0]["rewards"], answers[0]["scores"]

    return reward


def slime(checkout: Path, url: str) -> Callable[[str], Any]:
    module = load(checkout / "slime/rollout/rm_hub/__init__.py", "slime_rm_hub")

    def reward(program: str) -> Any:
        async def ask() -> Any:
            sample = types.SimpleNamespace(prompt="Twice?", response=fenced(program), label=label())
            try:
                return await module.remote_rm(types.SimpleNamespace(rm_url=f"{url}/remote_rm"), sample, max_retries=3)
            finally:
                await module._get_shared_session().close()

        return asyncio.run(ask())

    return reward


def open_instruct(checkout: Path, url: str) -> Callable[[str], Any]:
    module = load(checkout / "open_instruct/ground_truth_utils.py", "open_instruct_ground_truth")
    config = types.SimpleNamespace(
        code_api_url=f"{url}/test_program_stdio",
        code_max_execution_time=2.0,
        code_pass_rate_reward_threshold=0.0,
        code_apply_perf_penalty=True,
    )
    verifier = module.CodeVerifier(config)
    packed = base64.b64encode(zlib.compress(pickle.dumps([{"input": i, "output": o} for i, o in CASES]))).decode()
    return lambda program: verifier([], fenced(program), packed).score


def open_r1(checkout: Path, url: str) -> Callable[[str], Any]:
    module = load(checkout / "src/open_r1/utils/routed_morph.py", "open_r1_morph")
    sandbox = module.RoutedMorphSandbox(url.removeprefix("http://"))

    def reward(program: str) -> Any:
        cases = json.dumps([{"input": i, "output": o} for i, o in CASES])
        script = OPEN_R1_SCRIPT + f"    score({program!r}, json.loads({cases!r}))\n"
        (result,) = sandbox.run_code([script], ["python"], timeout=20, request_timeout=28)
        return result.text if result.text is not None else f"none ({str(result.exception_str)[:60]})"

    return reward


def piston(checkout: Path, url: str) -> Callable[[str], Any]:
    module = load(checkout / "src/open_r1/utils/competitive_programming/piston_client.py", "open_r1_piston")

    def reward(program: str) -> Any:
        async def ask() -> Any:
            client = module.PistonClient(f"{url}/api/v2")
            try:
                data = {"files": [{"name": "main", "content": program}], "stdin": "2", "run_timeout": 2000}
                got = await client.send_execute(data, language=language_of(program), max_retries=2)
                if not got:
                    return "nothing"
                ran = {k: got["run"][k] for k in ("stdout", "code", "status")}
                return ran | {"compile": got["compile"]["code"]} if "compile" in got else ran
            finally:
                await client.session.close()

        return asyncio.run(ask())

    return reward


def code_judge(checkout: Path, url: str) -> Callable[[str], Any]:
    module = load(checkout / "judge_client.py", "code_judge_client")

    def reward(program: str) -> Any:
        submissions = [module.Submission(None, language_of(program), program, i, o) for i, o in CASES]
        results = module._judge_batch(url, submissions, timeout=700)
        return [f"{r.success}{' ' + r.reason if r.reason else ''}" for r in results]

    return reward


def nemo_gym(python: Path, url: str) -> Callable[[str], Any]:
    """Its rollout collection with its agent, in the interpreter that has the package."""

    def reward(program: str) -> Any:
        command = [python, Path(__file__).with_name("compat_nemo_gym.py"), url, program]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
        if done.returncode:
            raise RuntimeError(done.stderr[-500:])
        said = json.loads(done.stdout.rstrip().rpartition("\n")[2])
        return said.get("raises") or f"{said['reward']:g} (aggregated: {said['aggregated']['mean/reward']:g})"

    return reward


CLIENTS: dict[str, tuple[str, Client]] = {
    "verl": ("verl", verl),
    "ROLL": ("ROLL", roll),
    "SkyRL": ("SkyRL", skyrl),
    "SandboxFusion": (".", sandbox_fusion),
    "ScaleBox": ("ScaleBox", scalebox),
    "OpenRLHF": ("OpenRLHF", openrlhf),
    "slime": ("slime", slime),
    "open-instruct": ("open-instruct", open_instruct),
    "open-r1": ("open-r1", open_r1),
    "piston": ("open-r1", piston),
    "code-judge": ("code-judge", code_judge),
    "NeMo Gym": ("nemo-gym-venv/bin/python", nemo_gym),
}


SEND_CPP = frozenset({"ROLL", "SandboxFusion", "ScaleBox", "piston", "code-judge"})


def outcome(reward: Callable[[str], Any], program: str) -> str:
    start = time.monotonic()
    try:
        got = reward(program)
    except Exception as error:  # noqa: BLE001 - whatever a client raises is what its trainer ends up with
        got = f"raises {type(error).__name__}: {str(error)[:90]}"
    return f"{got}  [{time.monotonic() - start:.1f} s]"


def languages_of(url: str) -> set[str]:
    return {runtime["language"] for runtime in requests.get(f"{url}/api/v2/runtimes", timeout=10).json()}


def main() -> None:
    logging.disable(logging.CRITICAL)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--only", default=",".join(CLIENTS))
    parser.add_argument("--faults", nargs="?", const=",".join(FAULTS), help=f"some of {', '.join(FAULTS)}; all of them without")
    options = parser.parse_args()
    names = [n for n in CLIENTS if n in options.only.split(",")]
    present = [n for n in names if (options.checkouts / CLIENTS[n][0]).exists()]
    for name in sorted(set(names) - set(present)):
        print(f"{name}: LEFT OUT, nothing at {options.checkouts / CLIENTS[name][0]}")
    if not options.faults:
        with service() as url:
            wait_for_code(url)
            for name in present:
                reward = CLIENTS[name][1](options.checkouts / CLIENTS[name][0], url)
                for kind, program in PROGRAMS.items():
                    print(f"{name:14} {kind:12} {outcome(reward, program)}", flush=True)
                if name in SEND_CPP and "cpp" not in languages_of(url):
                    print(f"{name:14} C++: LEFT OUT, the service has none", flush=True)
                elif name in SEND_CPP:
                    for kind, program in CPP.items():
                        print(f"{name:14} C++ {kind:8} {outcome(reward, program)}", flush=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        for title in options.faults.split(","):
            engine = Engine(Path(folder) / f"{title.replace(' ', '-')}.sock")
            settings = {"VERIFIER_SANDBOX": "off"} if title == "no sandbox" else {"VERIFIER_SANDBOX": "docker"}
            if title.startswith("engine"):
                settings["DOCKER_HOST"] = f"unix://{engine.path}"
            if title == "overload":
                settings["VERIFIER_SANDBOX_SLOTS"] = "1"
            with engine, service(**settings) as url, flood(url) if title == "overload" else nullcontext():
                if title.startswith("engine"):
                    wait_for_code(url)
                    engine.stop()
                if title == "engine back":
                    threading.Timer(10.0, engine.start).start()
                rewards = {n: CLIENTS[n][1](options.checkouts / CLIENTS[n][0], url) for n in present}
                with ThreadPoolExecutor(len(rewards) or 1) as pool:
                    found = {n: pool.submit(outcome, reward, RIGHT) for n, reward in rewards.items()}
                    for name, future in found.items():
                        print(f"{title:12} {name:14} {future.result()}", flush=True)


if __name__ == "__main__":
    main()
