"""Drivers: programs of a language that call a submission with arguments from JSON and write its results as JSON.

`assembled` puts one around a submission. A driver is made for an entry point and a way to call it, never for a case:
cases come on stdin, a line each, and no expected value is anywhere near. So a build serves all cases of a submission.
"""

from __future__ import annotations

from verifier_service.verifiers.code.drivers.assemble import LANGUAGES, Assembled, Call, assembled

__all__ = ["LANGUAGES", "Assembled", "Call", "assembled"]
