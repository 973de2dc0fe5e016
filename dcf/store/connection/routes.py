"""The connection of a caller on a cluster: a route that divides packets among connections to the nodes.

`connections.exchange` hands such packets over. How they are divided is the cluster's own matter (`cluster`).
"""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dcf.store.connection.commands import Command, Reply


class Route(Protocol):
    """Sends packets to the nodes of a cluster."""

    def exchange(self, commands: "Sequence[Command]", *, must_unwatch: bool) -> "list[Reply]":
        """Send a packet and return all replies, error replies among them."""

    def leave(self, *, is_broken: bool) -> None:
        """Give the connections to the next caller, who must not inherit a WATCH; close them if one of them broke."""


class RoutedConnection:
    """A connection for callers, which uses a connection to each node of a cluster."""

    def __init__(self, route: Route) -> None:
        self.route = route
