"""What a row of the table of languages says. The table itself is in languages.py.

`{built}` in a command is the folder of the finished program, `{memory_mb}` the memory that the task grants, `{file}` the
name of the source. A program is compiled in an empty folder, as the uid that will run it, with its source under its file
name; what the compiler leaves there, but for the source and names that begin with a dot, is the build. A language without
`compile` has its source as its build. Standard library only, like all that runs in a sandbox.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PROFILES = ("python", "compiled", "full")  # images, each with all of those before it

Command = tuple[str, ...]


# What is not code in a source that `file_from` searches: comments and literals.
_NO_CODE = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)|"(?:\\.|[^"\\\n])*+"?|\'(?:\\.|[^\'\\\n])*+\'?|//[^\n]*+|/\*.*?(?:\*/|\Z)', re.DOTALL
)


class Language(NamedTuple):
    """One row."""

    name: str
    title: str
    profile: str  # the smallest image that has it
    packages: str  # Debian's, space-separated
    file: str  # what the source is called; where `file_from` matches outside braces, its first group is the stem
    run: Command
    version: Command  # prints it
    compile: tuple[Command, ...] = ()
    file_from: str = ""
    names: str = ""  # that clients use and fences have, beside its own; nobody else's; space-separated
    tags: str = ""  # more that its fences have
    environment: tuple[tuple[str, str], ...] = ()
    needs: tuple[str, ...] = ()  # files without which its commands, which another language brings too, run nothing
    # What the language's own machinery takes, granted on top of a task's limits.
    memory_extra_mb: int = 0
    time_extra_s: float = 0.0
    processes_extra: int = 0
    out_of_memory: str = ""  # what it says on stderr where its own limit, set from the task's, stops it before the kernel does
    sparse: bool = False  # reserves far more address space than it uses, so none can be set as a limit

    def file_name(self, source: str) -> str:
        """What this source must be called."""
        depth = 0
        for found in re.finditer(rf"[{{}}]|{self.file_from}", _NO_CODE.sub(" ", source)) if self.file_from else ():
            if found[1] is None:
                depth += 1 if found[0] == "{" else -1
            elif depth == 0:
                return f"{found[1]}.{self.file.rpartition('.')[2]}"
        return self.file

    @property
    def fence_tags(self) -> frozenset[str]:
        return frozenset({self.name, *self.names.split(), *self.tags.split()})


# What the languages on the Java virtual machine share.
JVM_MAIN = ("python3", "-I", "/opt/verifier/runner/jvm_main.py")  # more of the class path follows
JVM_RUN = (
    "java", "-Xmx{memory_mb}m", "-Xss64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData",
    "@{built}/launch",
)  # fmt: skip
