"""What a program gets if nobody says otherwise, and the most that it may be given: both are settings."""

from __future__ import annotations

from verifier_service.sandbox.contract import Limits
from verifier_service.settings import Settings


def defaults(settings: Settings) -> Limits:
    """The limits of a task that names none."""
    return Limits(
        cpu_time_s=settings.code_cpu_time_s,
        wall_time_s=settings.code_wall_time_s,
        memory_mb=settings.code_memory_mb,
        processes=settings.code_processes,
        output_bytes=settings.code_output_bytes,
        file_bytes=settings.code_file_bytes,
    )


def ceilings(settings: Settings) -> Limits:
    """The highest limits that a task may ask for."""
    return Limits(
        cpu_time_s=settings.code_cpu_time_ceiling_s,
        wall_time_s=settings.code_wall_time_ceiling_s,
        memory_mb=settings.code_memory_ceiling_mb,
        processes=settings.code_processes_ceiling,
        output_bytes=settings.code_output_ceiling_bytes,
        file_bytes=settings.code_file_ceiling_bytes,
    )
