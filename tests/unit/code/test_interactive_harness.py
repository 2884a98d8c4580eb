"""Both harnesses of an interactive test, as local processes: what crosses the two pipes, and what is reported of it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from verifier_service.verifiers.code.harness import bundle

USUAL = {"output_bytes": 1 << 20, "idle_s": 30.0}
ECHO = "import sys\nfor line in sys.stdin:\n    print('you said', line, end='', flush=True)\n"


@dataclass(frozen=True)
class Talk:
    """What the judge reported, and how both processes ended; a status of -9 was our doing."""

    frames: list[dict[str, Any]]
    submission: tuple[int, str]
    judge: tuple[int, str]

    def of(self, kind: str) -> dict[str, Any] | None:
        return next((frame for frame in self.frames if frame["kind"] == kind), None)

    @property
    def listens(self) -> bool:
        return self.of("listens") is not None

    @property
    def end(self) -> dict[str, Any]:
        found = self.of("ended")
        assert found is not None, self
        return found


Talking = Callable[..., Talk]


@pytest.fixture(scope="module")
def talk() -> Iterator[Talking]:
    program = [sys.executable, "-I", "-X", "utf8", str(Path(__file__).with_name("interactive_pair.py"))]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(message: dict[str, Any]) -> None:
            assert process.stdin is not None
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()

        def run(source: str, interactor: str, *, wall_s: float = 20.0, grace_s: float = 5.0, **more: Any) -> Talk:
            task = {"style": "interactive", "interactor": interactor, "stdin": "", "expected": "", **more}
            ask({"source": source, "task": {**USUAL, **task}, "wall_s": wall_s, "grace_s": grace_s})
            assert process.stdout is not None
            answer = json.loads(process.stdout.readline())
            return Talk(answer["frames"], tuple(answer["submission"]), tuple(answer["judge"]))

        ask({"submission": bundle.interactive_submission_harness(), "judge": bundle.judge_harness()})
        yield run
        process.stdin.close()
        process.wait(10)


def test_each_reads_what_the_other_prints(talk: Talking) -> None:
    found = talk("print(int(input()) + 1)", "import sys\nprint(41)\nsys.exit(input() != '42')")
    assert (found.end["accepted"], found.listens, found.submission, found.judge[0]) == (True, True, (0, ""), 0)
    assert found.end["tail"] == "42\n"


@pytest.mark.parametrize(
    "end", ["import sys; sys.exit(1)", "raise SystemExit('no')", "raise SystemExit(256 + 3)", "assert False", "1 / 0"]
)
def test_any_other_end_than_exit_status_0_rejects(talk: Talking, end: str) -> None:
    found = talk("print(1)", f"input()\n{end}")
    assert (found.end["accepted"], found.judge[0]) == (False, 1)


@pytest.mark.parametrize("end", ["", "raise SystemExit", "raise SystemExit(0)", "import sys; sys.exit(False)"])
def test_the_ways_to_exit_with_status_0_accept(talk: Talking, end: str) -> None:
    assert talk("print(1)", f"input()\n{end}").end["accepted"] is True


def test_the_interactors_arguments_name_files_that_it_may_read_more_than_once(talk: Talking) -> None:
    interactor = (
        "import sys\n_, given, expected = sys.argv\n"
        "for _ in range(2):\n    assert open(given, encoding='utf-8').read() == 'größe 7\\n'\n"
        "assert [line for line in open(expected)] == ['49\\n', 'end']\nassert input() == 'ok'\n"
    )
    found = talk("print('ok')", interactor, stdin="größe 7\n", expected="49\nend")
    assert found.end["accepted"], found


def test_large_inputs_reach_the_interactor_whole(talk: Talking) -> None:
    found = talk(
        "print('ok')", "import sys\nassert len(open(sys.argv[1]).read()) == 3_000_000\ninput()", stdin="12345\n" * 500_000
    )
    assert found.end["accepted"], found


def test_an_interactor_need_not_flush_before_it_reads(talk: Talking) -> None:
    found = talk(ECHO, "import sys\nprint('a', end='\\n')\nsys.exit(sys.stdin.readline() != 'you said a\\n')")
    assert found.end["accepted"], found


FORGETS = "import sys\nprint('hello')\nsys.stdin.readline()"
GREETS = "assert input() == 'hello'\nprint('bye')"


def test_a_submission_must_flush_as_on_every_judge(talk: Talking) -> None:
    found = talk(FORGETS, GREETS, wall_s=1.0)
    assert (found.end["accepted"], found.end["at_the_end"], found.end["received"]) == (False, True, 0)
    assert found.end["waited_s"] > 0.5
    assert found.submission[0] == -9
    assert talk(FORGETS.replace("hello'", "hello', flush=True"), GREETS).end["accepted"]


DEADLOCKS = {
    "forgets to flush": FORGETS,
    "waits for more": "input()",
    "sleeps": "import time\ntime.sleep(60)",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "waits for a child that waits": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'input()'])",
    "waits in a thread": "import threading\nthread = threading.Thread(target=input)\nthread.start()\nthread.join()",
}


@pytest.mark.parametrize("name", DEADLOCKS)
def test_a_submission_that_sleeps_while_it_is_waited_for_has_stopped(talk: Talking, name: str) -> None:
    started = time.monotonic()
    found = talk(DEADLOCKS[name], GREETS, idle_s=0.5)
    idle = found.of("idle")
    assert idle is not None, found
    assert (found.of("ended"), found.judge[0]) == (None, 1)
    assert 0.45 < idle["waited_s"] < time.monotonic() - started < 20


BUSY = "import time\nend = time.process_time() + 0.7\nwhile time.process_time() < end: pass\n"
AWAKE = {
    "computes": BUSY + "print('hello')",
    "waits for a thread that computes": f"import threading\nthread = threading.Thread(target=exec, args=({BUSY!r}, {{}}))\n"
    "thread.start()\nthread.join()\nprint('hello')",
    "waits for a child that computes": f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}])\n"
    "print('hello')",
    "naps": "import time\nfor n in range(3):\n    time.sleep(0.3)\n    for _ in range(10 ** 6): pass\nprint('hello')",
}


@pytest.mark.parametrize("name", AWAKE)
def test_a_submission_that_works_while_it_is_waited_for_has_not_stopped(talk: Talking, name: str) -> None:
    found = talk(AWAKE[name], "assert input() == 'hello'", idle_s=0.5, wall_s=60.0)
    assert found.end["accepted"], found


def test_each_wait_counts_for_itself(talk: Talking) -> None:
    source = "import time\nfor n in range(5):\n    time.sleep(0.3)\n    print(n, flush=True)"
    assert talk(source, "for n in range(5):\n    assert input() == str(n)", idle_s=0.8).end["accepted"]


def test_an_interactor_that_works_elsewhere_may_be_waited_for(talk: Talking) -> None:
    interactor = (
        "import sys, threading, time\n"
        "def late():\n    time.sleep(1)\n    print('hello', flush=True)\n"
        "threading.Thread(target=late).start()\nassert sys.stdin.readline() == 'hello\\n'\n"
    )
    assert talk("print(input())", interactor, idle_s=0.3).end["accepted"]


def test_the_end_of_the_submission_is_the_end_of_its_output(talk: Talking) -> None:
    found = talk("print('one\\ntwo')", "import sys\nlines = sys.stdin.read().splitlines()\nsys.exit(lines != ['one', 'two'])")
    assert (found.end["accepted"], found.end["at_the_end"]) == (True, True)


def test_the_end_of_the_interactor_is_the_end_of_the_submissions_input(talk: Talking) -> None:
    found = talk(
        "import sys\nprint('ready', flush=True)\nprint(len(sys.stdin.read()), file=sys.stderr)", "input()\nprint('x' * 9)"
    )
    assert (found.end["accepted"], found.submission) == (True, (0, "10\n"))


def test_a_submission_may_close_its_output_and_read_on(talk: Talking) -> None:
    source = "import os, sys\nprint('ask', flush=True)\nos.close(1)\nassert sys.stdin.read() == 'answer\\n'\nos._exit(0)"
    found = talk(source, "import sys\nassert sys.stdin.read() == 'ask\\n'\nprint('answer')")
    assert (found.end["accepted"], found.submission[0]) == (True, 0), found


def test_a_submission_may_close_its_input_and_print_on(talk: Talking) -> None:
    source = "import os\nos.close(0)\nprint('one', flush=True)\nprint('two')"
    found = talk(source, "assert input() == 'one'\nprint('x' * 100_000)\nassert input() == 'two'")
    assert (found.end["accepted"], found.submission[0]) == (True, 0), found


def test_a_submission_that_reads_nothing_may_be_told_more_than_a_pipe_holds(talk: Talking) -> None:
    found = talk("print(1)", "print('x' * 1_000_000)\nassert input() == '1'")
    assert found.end["accepted"], found


def test_it_is_known_whether_the_interactor_has_waited_to_be_read(talk: Talking) -> None:
    source = "import os, time\nif os.fork(): os._exit(0)\ntime.sleep(1)"
    found = talk(source, "print('x' * 1_000_000)\ninput()", wall_s=5.0)
    assert found.of("fills") is not None
    assert talk("import sys\nsys.stdin.read()", "print('x' * 1_000)").of("fills") is None


def test_a_lot_may_pass_both_ways_at_the_same_time(talk: Talking) -> None:
    source = "import sys\nfor line in sys.stdin:\n    print(line.strip()[::-1], flush=line == 'end\\n')"
    interactor = (
        "import sys, threading\nlines = [f'{n:06d}' for n in range(60_000)]\n"
        "def say():\n    for line in lines:\n        print(line)\n    sys.stdout.flush()\n    print('end', flush=True)\n"
        "threading.Thread(target=say).start()\n"
        "assert [sys.stdin.readline().strip() for _ in lines] == [line[::-1] for line in lines]\n"
    )
    assert talk(source, interactor).end["accepted"]


def test_the_submission_is_heard_out_after_it_was_accepted(talk: Talking) -> None:
    found = talk("print(1, flush=True)\nprint('more' * 50_000)\nraise SystemExit(3)", "input()")
    assert (found.end["accepted"], found.submission[0]) == (True, 3)


def test_too_much_output_ends_the_conversation(talk: Talking) -> None:
    found = talk(
        "while True: print('x' * 1000, end='')", "try:\n    input()\nexcept BaseException:\n    pass", output_bytes=100_000
    )
    assert found.of("flooded") is not None
    assert (found.of("ended"), found.judge[0]) == (None, 1)
    after = talk("print(1, flush=True)\nwhile True: print('x' * 1000)", "input()", output_bytes=100_000)
    assert after.end["accepted"]
    assert after.of("flooded") is not None


def test_output_that_is_no_text_is_still_read(talk: Talking) -> None:
    found = talk(
        "import os\nos.write(1, b'\\xff\\xfe\\n')",
        "line = input()\nassert line.encode('utf-8', 'surrogateescape') == b'\\xff\\xfe'",
    )
    assert found.end["accepted"], found
    assert found.end["tail"] == "\xff\xfe\n"


def test_a_submission_that_does_not_compile_meets_nobody(talk: Talking) -> None:
    found = talk("def (", "input()")
    assert found.frames == [{"kind": "met", "compiles": False, "left": False}]
    assert found.submission[0] == 1
    assert "SyntaxError" in found.submission[1]
    assert talk("x = '\ud800'", "input()").frames[0]["compiles"] is False


def test_an_interactor_that_does_not_compile_is_reported_with_its_line_and_not_its_text(talk: Talking) -> None:
    (frame,) = talk("print(1)", "x = 1\nsecret = 'sesame' +").frames
    assert frame == {"kind": "bad_task", "detail": "the task's interactor does not compile: SyntaxError in line 2"}


def test_what_ends_an_interactor_is_told_by_class_and_line(talk: Talking) -> None:
    found = talk("print('sesame')", "def f(x):\n    raise ValueError('no ' + x)\nf(input())")
    assert found.end["raised"] == {"name": "ValueError", "line": 2, "own_mistake": False}
    inside = talk("print('x')", "import json\njson.loads(input())")
    assert inside.end["raised"] == {"name": "JSONDecodeError", "line": 2, "own_mistake": False}


@pytest.mark.parametrize("mistake", ["undefined_name", "import no_such_module", "def f():\n    x += 1\nf()"])
def test_a_name_or_a_module_that_the_interactor_has_not_is_its_own_mistake(talk: Talking, mistake: str) -> None:
    raised = talk("print(1)", f"input()\n{mistake}").end["raised"]
    assert raised["own_mistake"] is True


def test_a_name_in_text_of_the_submission_is_no_mistake_of_the_interactor(talk: Talking) -> None:
    assert talk("print('os.x')", "eval(input())").end["raised"]["own_mistake"] is False


def test_it_is_known_whether_the_interactor_has_begun_to_read(talk: Talking) -> None:
    assert not talk("print(1)", "raise SystemExit(1)").listens
    assert not talk("print(1)", "print(1)\nopen('/no/such/file')  # select one").listens
    assert talk("", "input()").listens
    found = talk("input()", "print(1)\nwhile True: pass", wall_s=0.5, grace_s=0.5)
    assert (found.listens, found.judge[0]) == (False, -9)
    impatient = "import signal\nsignal.alarm(1)\nsignal.signal(signal.SIGALRM, lambda *_: exec('raise TimeoutError'))\ninput()"
    found = talk("input()", impatient)
    assert (found.listens, found.end["accepted"], found.end["raised"]["name"]) == (True, False, "TimeoutError")


@pytest.mark.parametrize(
    "reading",
    [
        "import os\nline = os.read(0, 100)",
        "line = open(0, 'rb').readline()",
        "line = open('/dev/stdin', 'rb').readline()",
        "import sys\nline = sys.__stdin__.readline().encode()",
        "import os, subprocess\nline = subprocess.run(['head', '-n1'], capture_output=True).stdout",
    ],
)
def test_an_interactor_that_reads_by_itself_counts_as_one_that_reads(talk: Talking, reading: str) -> None:
    found = talk("print(1)", f"{reading}\nassert line == b'1\\n'")
    assert (found.end["accepted"], found.listens) == (True, True), found


def test_a_program_runs_as_it_would_by_itself(talk: Talking) -> None:
    source = (
        "import os, sys\nassert __name__ == '__main__'\nassert open(__file__).read().startswith('import os')\n"
        "assert sys.argv == [__file__]\nassert sorted(map(int, os.listdir('/proc/self/fd')))[:3] == [0, 1, 2]\n"
        "assert open('/dev/stdin').readline() == 'hello\\n'\nprint('fine', file=open('/dev/stdout', 'w'))\n"
        "sys.exit('goodbye')\n"
    )
    found = talk(source, "print('hello', flush=True)\nassert input() == 'fine'")
    assert (found.end["accepted"], found.submission) == (True, (1, "goodbye\n"))


def test_a_crash_shows_the_programs_lines_and_none_of_the_harness(talk: Talking) -> None:
    found = talk("def f():\n    return 1 / 0\nf()", "input()")
    status, complaint = found.submission
    assert status == 1
    assert "return 1 / 0" in complaint
    assert complaint.count("File ") == 2, complaint


def test_the_submission_has_nothing_but_its_three_streams(talk: Talking) -> None:
    source = "import os\nprint(sorted(int(n) for n in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}')))"
    assert talk(source, "assert input() == '[0, 1, 2]'").end["accepted"]


def test_no_two_modules_of_a_harness_define_the_same_name() -> None:
    import ast

    folder = Path(bundle.__file__).parent
    for names in (bundle.JUDGE, bundle.INTERACTIVE_SUBMISSION):
        defined = [
            node.name
            for name in names
            for node in ast.parse((folder / f"{name}.py").read_text("utf-8")).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        assert len(defined) == len(set(defined)), sorted(defined)
