"""The HTTP face, and the only package that knows FastAPI."""
