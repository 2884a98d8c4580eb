"""The math verifier. `MathVerifier` serves; `explain` and `check_gold` are for people."""
