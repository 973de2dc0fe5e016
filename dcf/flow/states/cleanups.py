"""What finally clauses say, on each way out of their try: it is written once for every way."""

from dcf.flow.scope import Scope


def leave(scope: Scope, depth: int) -> None:
    """Write the finally clauses on the way to `depth`, the innermost first, each as if outside its try."""
    cleanups, handlers = scope.cleanups, scope.handlers
    for at in range(len(cleanups) - 1, depth - 1, -1):
        if not scope.open:
            break
        scope.cleanups = cleanups[:at]
        scope.handlers = handlers[: cleanups[at].handlers]
        scope.body(cleanups[at].statements)
    scope.cleanups, scope.handlers = cleanups, handlers
