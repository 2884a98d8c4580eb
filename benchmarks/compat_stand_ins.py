"""Files of checkouts as modules, with stand-ins for what they import and is not installed."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import aiohttp  # noqa: F401 - before the stand-ins are there, which its optional imports would find
import sympy  # noqa: F401 - likewise


class Permissive(type):
    """A class with every attribute."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls


class Quiet:
    """A logger that says nothing, and a decorator that changes nothing."""

    def __call__(self, subject: Any = None, *_: Any, **__: Any) -> Any:
        return subject

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class StandIn(types.ModuleType):
    """A module whose every name is a class that can be inherited from, called and decorated with."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def make(*args: Any, **_: Any) -> Any:
            return args[0] if len(args) == 1 and callable(args[0]) else Quiet()

        made = Permissive(name, (), {"__new__": lambda _, *a, **k: make(*a, **k)})
        setattr(self, name, made)
        return made


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what nobody else finds."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        del path, target
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def load(path: Path, name: str) -> Any:
    """A file of a checkout as a module of its own, packages included."""
    folder = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=folder)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    finder = StandIns()
    sys.meta_path.append(finder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.meta_path.remove(finder)
    return module
