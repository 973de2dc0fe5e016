"""The settings of the child processes that evaluate risky expressions. A part of `dcf.settings.process`."""

from pydantic import BaseModel, Field

from dcf.confined.calls import CHILDREN, MEMORY


class ExpressionSettings(BaseModel):
    """The fields of `Settings` about the evaluation of expressions."""

    expression_children: int = Field(default=CHILDREN, ge=1, le=64)
    """child processes in which one process evaluates risky expressions"""

    expression_memory: int = Field(default=MEMORY, ge=96 * 1024 * 1024, le=4 * 1024**3)
    """bytes that each of these may use"""
