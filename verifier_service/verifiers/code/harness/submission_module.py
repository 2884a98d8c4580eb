"""The submission as a module that tests import."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import Any, Protocol

MISSING_LIBRARIES = frozenset("pandas scipy sympy torch tensorflow sklearn hypothesis requests networkx matplotlib".split())


class SubmittedNames(Protocol):
    """The top-level names of a submission."""

    def submitted(self, name: str) -> Any:
        """Its value. Raises NameError."""
        ...

    def set_name(self, name: str, value: Any) -> None: ...

    def delete_name(self, name: str) -> None: ...


class SubmissionFinder:
    """Modules that don't exist here are the submission's: tests import it by whatever name its file was to have."""

    def __init__(self, names: SubmittedNames) -> None:
        self.names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if "." in name or name in MISSING_LIBRARIES or name in sys.stdlib_module_names or name == "numpy":
            return None
        return importlib.machinery.ModuleSpec(name, self)  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> Any:
        return SubmissionModule(spec.name, self.names)

    def exec_module(self, module: Any) -> None:
        """Nothing to do: the submission is loaded already."""


class SubmissionModule(types.ModuleType):
    """The submission as an imported module."""

    def __init__(self, name: str, names: SubmittedNames) -> None:
        super().__init__(name)
        self.__dict__["__ends__"] = names

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            self.__dict__["__ends__"].set_name(name, value)

    def __delattr__(self, name: str) -> None:
        self.__dict__["__ends__"].delete_name(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self.__dict__["__ends__"].submitted(name)
        except NameError as missing:
            raise AttributeError(str(missing)) from None
