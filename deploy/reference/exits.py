"""The page of exit codes: what each means, and which errors end a command with it."""

from dcf.cli.exit_codes import ERRORS, MEANINGS, NO
from deploy.reference.markdown import page, table


def render() -> str:
    """Return the page."""
    codes = [(f"{code}", meaning, _errors(code)) for code, meaning in MEANINGS.items()]
    return page(
        "Exit codes",
        "Every command of `dcf` ends with one of these codes. The last column has the `code` of an error that ends a "
        "command with it.",
        table(("exit code", "meaning", "errors"), codes),
        f"Any other error ends a command with {NO}.",
        "`dcf doctor` ends with 1 where a check fails, and with `--strict` also where one warns. It ends with 4 where "
        "calls fail. `dcf run` and `dcf watch` end with 0 if the run has succeeded, else with 1.",
    )


def _errors(code: int) -> str:
    return ", ".join(f"`{name}`" for name, exit_code in ERRORS.items() if exit_code == code)
