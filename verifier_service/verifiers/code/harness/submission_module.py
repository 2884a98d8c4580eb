"""The submission as a module that tests import."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from collections.abc import Callable
from typing import Any

MISSING_LIBRARIES = frozenset("pandas scipy sympy torch tensorflow sklearn hypothesis requests networkx matplotlib".split())


class SubmissionFinder:
    """Modules that don't exist here are the submission's: tests import it by whatever name its file was to have."""

    def __init__(self, submitted: Callable[[str], Any]) -> None:
        self.submitted = submitted

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if "." in name or name in MISSING_LIBRARIES or name in sys.stdlib_module_names or name == "numpy":
            return None
        return importlib.machinery.ModuleSpec(name, self)  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> Any:
        return SubmissionModule(spec.name, self.submitted)

    def exec_module(self, module: Any) -> None:
        """Nothing to do: the submission is loaded already."""


class SubmissionModule(types.ModuleType):
    """The submission as an imported module."""

    def __init__(self, name: str, submitted: Callable[[str], Any]) -> None:
        super().__init__(name)
        self.__dict__["__submitted__"] = submitted

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self.__dict__["__submitted__"](name)
        except NameError as missing:
            raise AttributeError(str(missing)) from None
