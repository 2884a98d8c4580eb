"""What the two processes of an interactive test say to one another before any of the program runs."""

from __future__ import annotations

COMPILES, COMPILES_NOT = b"R", b"C"  # the submission's one byte, which the judge answers with the ends of two pipes
