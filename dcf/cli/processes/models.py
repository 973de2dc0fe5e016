"""Makes the data models of a server at their first use. Only processes of dcf may ask for it.

The MCP SDK defines 490 models, for three generations of its protocol, and makes the validators of all of them when it
is imported. A server needs those of one generation. `python -m benchmarks.imports` counts those that a start makes.
"""


def make_models_at_first_use() -> None:
    """Let pydantic make the validator of a model at its first use (`defer_build`). Call it before other imports."""
    from pydantic import BaseModel

    BaseModel.model_config["defer_build"] = True
