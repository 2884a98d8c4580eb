"""The format verifier: is a completion laid out as the trainer asked (tags, one answer, nothing around it)?"""

from verifier_service.verifiers.format.verifier import FormatVerifier

__all__ = ["FormatVerifier"]
