def explain() -> None:
    """x"""


def check_golds() -> None:
    """x"""
