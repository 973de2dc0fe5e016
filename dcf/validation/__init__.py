"""Whether a workflow document can be run: its form, what it imports, whom it names, and where its states lead."""

from dcf.validation.document import validate, validate_document
from dcf.validation.verdict import Finding, Validation

__all__ = ["Finding", "Validation", "validate", "validate_document"]
