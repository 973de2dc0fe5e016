"""A workflow of two steps in one file."""

from dcf import flow, task


@task
def greet(name: str) -> str:
    """Make a greeting."""
    return f"Hello, {name}!"


@task
def count(text: str) -> int:
    """Count the letters of a text."""
    return sum(letter.isalpha() for letter in text)


@flow
def hello(name: str) -> str:
    """Greet somebody, and say how long the greeting is."""
    greeting = greet(name)
    letters = count(greeting)
    return f"{greeting} ({letters} letters)"
