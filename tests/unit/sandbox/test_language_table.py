"""The table of languages holds together."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import pytest

from verifier_service.sandbox import image
from verifier_service.sandbox.runner import versions
from verifier_service.sandbox.runner.languages import LANGUAGES, NAMES, PROFILES, Language, available, packages_of

ROOT = Path(__file__).parents[3]
INSTALL = (ROOT / "verifier_service/sandbox/image/install.sh").read_text()
FULL = (ROOT / "verifier_service/sandbox/image/full.sh").read_text()
ROWS = [pytest.param(row, id=row.name) for row in LANGUAGES.values()]
KNOWN = {"{built}", "{memory_mb}", "{file}"}


def test_every_name_means_one_language() -> None:
    counted = Counter(name for row in LANGUAGES.values() for name in (row.name, *row.names.split()))
    assert [name for name, times in counted.items() if times > 1] == []
    assert all(NAMES[name] == name for name in LANGUAGES)
    assert all(name == name.lower() for name in counted)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_complete(row: Language) -> None:
    assert row.profile in PROFILES
    assert all((row.packages, row.title, row.run, row.version))
    assert re.fullmatch(r"[A-Za-z]+\.[A-Za-z0-9]+", row.file)
    assert min(row.memory_extra_mb, row.time_extra_s, row.processes_extra) >= 0


@pytest.mark.parametrize("row", ROWS)
def test_a_commands_placeholders_are_known(row: Language) -> None:
    for command in (*row.compile, row.run, row.version):
        assert set(re.findall(r"\{\w+\}", " ".join(command))) <= KNOWN
    assert "{built}" in " ".join(row.run)
    assert not any("{built}" in part or "{memory_mb}" in part for command in row.compile for part in command)


@pytest.mark.parametrize("row", ROWS)
def test_a_language_that_is_compiled_compiles_its_own_file_and_one_that_is_not_runs_it(row: Language) -> None:
    words = " ".join(" ".join(command) for command in row.compile)
    if row.compile:
        assert row.file in words or "{file}" in words
    else:
        assert f"{{built}}/{row.file}" in " ".join(row.run)


def test_a_language_with_fences_in_common_with_another_still_has_its_own_name_for_itself() -> None:
    for row in LANGUAGES.values():
        others = {name for other in LANGUAGES.values() if other is not row for name in (other.name, *other.names.split())}
        assert row.name not in others


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("public class Solution { }", "Solution.java"),
        ("import java.util.*;\npublic final class A1 {}\nclass B {}", "A1.java"),
        ("class Helper {}\npublic record Point(int x) {}", "Point.java"),
        ("class Main { public static void main(String[] a) {} }", "Main.java"),
        ("public interface Shape {}", "Shape.java"),
        ("// a public class to hold edges\n/* the public class Solver */ public class Main {}", "Main.java"),
        ('class A { String s = "{ public class B \\" {"; char c = \'"\'; }\npublic class Main {}', "Main.java"),
        ('class A { String s = """\n public class B {{ " """; }\npublic class Main {}', "Main.java"),
        ("class A { public enum Color { RED } public interface Shape {} }\npublic class Main {}", "Main.java"),
        ("class A { public enum Color { RED } }", "Main.java"),
    ],
)
def test_a_java_file_is_named_after_its_public_class(source: str, name: str) -> None:
    assert LANGUAGES["java"].file_name(source) == name


def test_a_file_name_never_leads_out_of_the_folder() -> None:
    assert LANGUAGES["java"].file_name("public class ../../x {}") == "Main.java"


@pytest.mark.parametrize("part", ["/*", '"', '"""', "'", '"\\', "{", "public class ", "public final ", "//", "\\"])
def test_a_file_name_is_found_in_linear_time(part: str) -> None:
    started = time.process_time()
    LANGUAGES["java"].file_name(part * (300_000 // len(part)))
    assert time.process_time() - started < 5.0


def test_each_profile_installs_what_the_ones_before_it_did_not() -> None:
    seen: set[str] = set()
    for profile in PROFILES:
        packages = set(packages_of(profile))
        assert not packages & seen
        seen |= packages
    assert {"g++", "rustc", "golang-go"} <= set(packages_of("compiled"))
    assert not any("gcc" in package or "jdk" in package for package in packages_of("python"))


def test_an_image_is_another_where_its_packages_are_others() -> None:
    assert len({image.context_digest(profile) for profile in PROFILES}) == len(PROFILES)
    assert image._build_arguments("python").keys() == {"PYTHON_PACKAGES"}
    assert set(image._build_arguments("full")) == {"PYTHON_PACKAGES", "COMPILED_PACKAGES", "FULL_PACKAGES"}


def test_a_language_is_there_when_all_its_commands_are() -> None:
    def every(_: str) -> bool:
        return True

    assert available(every, every) == list(LANGUAGES)
    assert "python" in available(lambda command: command == "python3", every)
    assert "java" not in available(lambda command: command != "javac", every)
    assert "sql" not in available(lambda command: command != "sqlite3", every)
    assert "clojure" not in available(every, lambda file: "clojure" not in file)


def test_no_language_seems_to_be_there_by_the_commands_of_a_smaller_images_languages() -> None:
    for n, profile in enumerate(PROFILES):
        commands = {
            c[0] for row in LANGUAGES.values() if row.profile in PROFILES[:n] for c in (*row.compile, row.run, row.version)
        }
        for row in LANGUAGES.values():
            own = {c[0] for c in (*row.compile, row.run, row.version) if "{" not in c[0]} - commands
            assert row.profile != profile or own or row.needs, row.name


def test_what_an_image_prepares_is_what_the_table_asks_for() -> None:
    for name in ("cpp", "cpp20"):
        flags = LANGUAGES[name].compile[0]
        assert flags[1:3] in {("-std=gnu++17", "-O2"), ("-std=gnu++20", "-O2")}
        assert not [flag for flag in flags[3:] if flag.startswith(("-m", "-f", "-O", "-D", "-g"))]
    assert '"-std=gnu++$standard" -O2 -x c++-header' in INSTALL
    scripts = INSTALL + FULL
    for row in LANGUAGES.values():
        for part in (part for command in (*row.compile, row.run) for part in command):
            for path in re.findall(r"/opt/verifier/([\w.-]+)\b(?!/)", part):
                assert path in scripts or (path.endswith(".jsa") and f"archive {path[:-4]} " in scripts), (row.name, path)


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("Python 3.13.5\n", "3.13.5"),
        ("go version go1.24.4 linux/amd64", "1.24.4"),
        ("v20.19.2\n", "20.19.2"),
        ("openjdk 21.0.13 2026-10-20\nOpenJDK Runtime", "21.0.13"),
        ("R version 4.5.0 (2025-04-11)", "4.5.0"),
        ("27", "27"),
        ("gcc\n", None),
        ("", None),
    ],
)
def test_a_version_is_the_first_number_that_looks_like_one(said: str, version: str | None) -> None:
    assert versions.version_in(said) == version


def test_a_version_command_that_fails_is_no_version() -> None:
    assert versions.ask(("/no/such/command",)) is None
    assert versions.ask(("false",)) is None
    assert versions.ask(("sh", "-c", "echo tool 1.2.3 >&2")) == "1.2.3"
