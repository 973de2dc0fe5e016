"""Validates a workflow document: its form, its imports, the agents and skills it names, and its graph of states."""

from dcf.workflows.validation.document import validate, validate_document
from dcf.workflows.validation.verdict import Finding, Validation

__all__ = ["Finding", "Validation", "validate", "validate_document"]
