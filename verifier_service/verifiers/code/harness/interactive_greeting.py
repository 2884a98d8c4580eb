"""What the two processes of an interactive test say to one another before any of the program runs."""

from __future__ import annotations

COMPILES, COMPILES_NOT = b"R", b"C"  # the submission's first byte; the judge answers the former with the ends of two pipes
HERE = b"H"  # the submission's last byte, from which the judge knows its process
