"""Structured logs: one event a line, JSON unless a person is watching.

Completions, golds, tests and programs are never logged; what a stranger can choose (ids, paths, header values) is
logged only as JSON strings, cut to a length, so that no line can be forged.
"""

from __future__ import annotations

import logging
import sys

import structlog

from verifier_service.settings import Settings

LONGEST_VALUE = 300


def _cut(_logger: object, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    for key, value in event.items():
        if isinstance(value, str) and len(value) > LONGEST_VALUE and key != "exception":
            event[key] = value[:LONGEST_VALUE] + "…"
    return event


def _escape(_logger: object, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Control characters would act on the terminal of whoever reads along."""
    for key, value in event.items():
        if isinstance(value, str) and key != "exception":
            event[key] = value.encode("unicode_escape").decode("ascii") if not value.isprintable() else value
    return event


def configure_logs(settings: Settings) -> None:
    """Set up structlog and route the standard library's records (uvicorn's, docker's) through it."""
    console = settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _cut,
    ]
    renderer: list[structlog.typing.Processor] = (
        [_escape, structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]  # no locals: golds
        if console
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers[:] = []
        logging.getLogger(name).propagate = True
    logging.getLogger("uvicorn.access").disabled = True  # the API's own middleware logs requests
    for noisy in ("urllib3", "docker", "httpx", "httpcore", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
