"""All settings, read from the environment with the prefix VERIFIER_ (see docs/configuration.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 1 << 20


class Settings(BaseSettings):
    """Every field's unit is in its name."""

    model_config = SettingsConfigDict(env_prefix="VERIFIER_", extra="ignore", frozen=True)

    # --- server
    host: str = Field("127.0.0.1", description="Address to bind. Loopback unless you say otherwise.")
    port: int = Field(8000, ge=1, le=65535, description="TCP port.")
    tokens_file: Path | None = Field(
        None, description="File of SHA-256 hex digests, one a line, of accepted bearer tokens. Absent: no token is asked for."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Level of the structured log.")
    log_format: Literal["auto", "json", "console"] = Field("auto", description="`auto`: console on a terminal, else JSON lines.")
    header_timeout_s: float = Field(
        10.0, gt=0, description="A connection must have sent its request's head within this many seconds."
    )
    body_timeout_s: float = Field(60.0, gt=0, description="And its body within this many.")
    keep_alive_s: float = Field(75.0, gt=0, description="Idle connections are closed after this many seconds.")
    drain_timeout_s: float = Field(20.0, ge=0, description="On SIGTERM, requests in flight get this many seconds to finish.")

    # --- limits at the door
    max_body_bytes: int = Field(32 * MIB, ge=1024, description="Largest request body.")
    max_url_bytes: int = Field(8192, ge=256, description="Longest path and query.")
    max_header_bytes: int = Field(65536, ge=1024, description="All request headers together.")
    max_groups: int = Field(4096, ge=1, description="Most groups in a request.")
    max_completions: int = Field(65536, ge=1, description="Most completions in a request, all groups together.")
    max_completion_chars: int = Field(2_000_000, ge=1, description="Longest completion.")
    max_gold_chars: int = Field(100_000, ge=1, description="Longest gold.")
    max_test_cases: int = Field(1000, ge=1, description="Most test cases of one code verifier.")

    # --- scoring
    deadline_s: float = Field(120.0, gt=0, description="Deadline of a request that names none.")
    max_deadline_s: float = Field(600.0, gt=0, description="Longest deadline that a request may ask for.")
    max_inflight_completions: int = Field(
        131072, ge=1, description="Admission: completions admitted at one time; beyond, 503 with Retry-After."
    )
    max_inflight_bytes: int = Field(256 * MIB, ge=1024, description="Admission: body bytes admitted at one time.")

    cache_mb: int = Field(
        32, ge=0, description="Memory for scored verdicts kept by (verifier version, task, completion); 0 switches the cache off."
    )
    readiness_period_s: float = Field(
        60.0,
        gt=0,
        description="Seconds between canaries (a right and a wrong answer that each verifier has to tell apart, for /readyz); "
        "while one fails, a tenth of it.",
    )

    # --- math
    math_workers: int = Field(0, ge=0, description="Math worker processes; 0: one a core.")
    math_item_cpu_s: float = Field(2.0, gt=0, description="CPU seconds that one math answer may take.")
    math_worker_memory_mb: int = Field(1024, ge=128, description="Address-space limit of a math worker.")
    math_judge_url: str | None = Field(
        None, description="OpenAI-compatible base URL (…/v1) of a model asked about answers that the rules reject. Absent: none."
    )
    math_judge_model: str = Field("", description="Name of that model.")
    math_judge_key_file: Path | None = Field(None, description="File with that endpoint's API key.")
    math_judge_timeout_s: float = Field(10.0, gt=0, description="Seconds that one question to the model may take.")
    math_judge_concurrency: int = Field(16, ge=1, description="Questions to the model at one time.")

    # --- code: defaults and ceilings of the limits
    code_cpu_time_s: float = Field(10.0, gt=0, description="Default CPU seconds of one test run.")
    code_cpu_time_ceiling_s: float = Field(60.0, gt=0, description="Highest cpu_time_s a task may ask for.")
    code_wall_time_s: float = Field(20.0, gt=0, description="Default wall seconds of one test run.")
    code_wall_time_ceiling_s: float = Field(120.0, gt=0, description="Highest wall_time_s.")
    code_memory_mb: int = Field(512, ge=16, description="Default memory of one test run, MiB.")
    code_memory_ceiling_mb: int = Field(1024, ge=16, description="Highest memory_mb.")
    code_processes: int = Field(16, ge=1, description="Default number of processes and threads of one test run.")
    code_processes_ceiling: int = Field(64, ge=1, description="Highest processes.")
    code_output_bytes: int = Field(
        8 * MIB,
        ge=1,
        description="Default bytes that a test run may write to stdout. As many of stderr are kept; the rest is dropped, up to "
        "16 times as many.",
    )
    code_output_ceiling_bytes: int = Field(64 * MIB, ge=1, description="Highest output_bytes.")
    code_file_bytes: int = Field(16 * MIB, ge=0, description="Default size of the files that a test run may write.")
    code_file_ceiling_bytes: int = Field(64 * MIB, ge=0, description="Highest file_bytes.")

    # --- sandbox
    sandbox: Literal["auto", "docker", "bubblewrap", "executor", "off"] = Field(
        "auto",
        description="`auto`: the executor if its socket is set, else Docker if an engine answers, else bubblewrap.",
    )
    minimum_isolation: Literal["namespace", "container"] = Field(
        "namespace", description="`container` refuses the bubblewrap backend."
    )
    executor_socket: Path | None = Field(None, description="Unix socket of the executor process that owns Docker.")
    sandbox_profiles: Literal["python", "python,compiled", "python,compiled,full", "python,full"] = Field(
        "python,compiled",
        description="Profiles of images that programs run in, separated by commas: `python`; `compiled` adds C, C++, Java, "
        "JavaScript, Go, Rust and their like; `full` every other language. Each has slots of its own. Images beyond `python` "
        "are built behind the running service.",
    )
    sandbox_image: str = Field(
        "verifier-runner:latest", description="Image of the `python` profile's containers; another profile's has its name added."
    )
    sandbox_runtime: str = Field("runc", description="OCI runtime: runc, or runsc for gVisor.")
    sandbox_slots: int = Field(0, ge=0, description="Slots of each profile, one submission each at a time; 0: one a core.")
    sandbox_other_slots: int | None = Field(
        None, ge=1, description="Slots of each profile but `python`, where that is to differ."
    )
    sandbox_spares: int = Field(1, ge=0, description="Containers started ahead, so that recycling costs no latency.")
    sandbox_recycle_after: int = Field(10_000, ge=1, description="Submissions after which a container is thrown away.")
    sandbox_reuse: Literal["reset", "never"] = Field(
        "reset", description="`never`: strict mode, a container for each submission."
    )
    sandbox_tmpfs_mb: int = Field(64, ge=1, description="Size of a container's writable tmpfs.")
    code_build_cpu_s: float = Field(15.0, gt=0, description="CPU seconds that a compiler may take; twice as long by the clock.")
    code_build_memory_mb: int = Field(1024, ge=64, description="Memory of a compiler.")
    code_build_tmpfs_mb: int = Field(256, ge=1, description="Size of the writable tmpfs where there are compilers.")
    code_build_cache_mb: int = Field(256, ge=0, description="Memory for compiled programs, kept by source.")

    # --- compatibility routes
    compat_runs_cache_mb: int = Field(
        64, ge=0, description="Memory for the endings of plain runs, so that equal ones are done once; 0 switches the cache off."
    )
    compat_runs_cache_s: float = Field(600.0, gt=0, description="Seconds that the ending of a plain run is kept.")

    def image_of(self, profile: str) -> str:
        """The name of a profile's image."""
        if profile == "python":
            return self.sandbox_image
        repository, colon, tag = self.sandbox_image.rpartition(":")
        if not colon or "/" in tag:  # that colon is a registry's port
            repository, tag = self.sandbox_image, "latest"
        return f"{repository}-{profile}:{tag}"


# Variables with the prefix that other parts read.
OTHERS = ("VERIFIER_CLIENT_", "VERIFIER_TOKEN", "VERIFIER_REQUIRE_", "VERIFIER_URL", "VERIFIER_LOSS_")


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Variables that look like a setting and are none: most likely misspelt."""
    known = {f"VERIFIER_{name.upper()}" for name in Settings.model_fields}
    return sorted(
        name
        for name in environment
        if name.upper().startswith("VERIFIER_") and name.upper() not in known and not name.upper().startswith(OTHERS)
    )
