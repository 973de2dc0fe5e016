"""dcf: a choreography control plane for AI agents on Redis.

`dcf.validate` and `dcf.simulate` work on a workflow alone, without Redis. They are imported on first use.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcf.simulation import simulate
    from dcf.validation import validate

__all__ = ["__version__", "simulate", "validate"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import `simulate` or `validate` on first use: workers need neither, and the JSON Schema library loads slowly."""
    if name == "simulate":
        from dcf.simulation import simulate

        return simulate
    if name == "validate":
        from dcf.validation import validate

        return validate
    raise AttributeError(f"module 'dcf' has no attribute '{name}'")
