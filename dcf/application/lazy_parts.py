"""Parts of an object that are made when they are first requested, so that a process imports only what it uses."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Made = TypeVar("Made")


class part(Generic[Made]):  # noqa: N801 - it is used as a decorator, like `property`
    """A part of an object: the method makes it at the first request, and the object keeps it.

    `functools.cached_property` takes no lock since Python 3.12.
    """

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: Any, owner: type) -> Made: ...

    def __get__(self, instance: Any, owner: type) -> Self | Made:
        if instance is None:
            return self
        with instance.making:
            if self._name not in instance.__dict__:
                instance.__dict__[self._name] = self._make(instance)
        made: Made = instance.__dict__[self._name]
        return made
