"""What runs inside a sandbox: the runner (PID 1), its zygotes, and the children they fork.

Standard library only, and of that the light parts: every module imported here is memory that each run forks.
The host imports `runner.wire` too, so that both sides read one definition of the frames.
"""
