"""What runs inside the sandbox for tests of the styles `function` and `asserts`: a judge beside the submission.

The judge's process holds the tests and compares; the submission's process holds the submission and answers. They speak
over one socket, in plain tagged data only, so that nothing of the submission ever lives in the process that decides.
These modules use the standard library only and are sent as source text (see `bundle`); nothing here is run by the
service itself.
"""
