"""The meanings of the settings: the text below each field. It is read from the source, since no start needs it."""

import ast
import inspect
from functools import cache
from itertools import pairwise

from pydantic import BaseModel


@cache
def meanings_of(settings: type[BaseModel]) -> dict[str, str]:
    """Return the meaning of each field by its name, those of inherited fields included."""
    meanings: dict[str, str] = {}
    for kind in settings.__mro__[: settings.__mro__.index(BaseModel)]:
        (written,) = ast.parse(inspect.getsource(kind)).body
        for pair in pairwise(ast.iter_child_nodes(written)):
            match pair:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    meanings[name] = text
    return meanings
