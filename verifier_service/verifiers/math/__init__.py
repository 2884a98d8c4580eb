"""The math verifier. `verifier.MathVerifier` serves; `explain.explain` and `explain.check_gold` are for people.

Nothing is imported here: SymPy lives in the worker processes and in the explainer, not in the service's own process.
"""
