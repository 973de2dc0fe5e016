"""What `dcf --help` says before it lists the commands: a line of text for each paragraph, wrapped by the terminal."""

from typing import Final

from dcf.cli.exit_codes import MEANINGS

_EXIT_CODES: Final = "; ".join(f"{code} {meaning}" for code, meaning in MEANINGS.items())

HELP: Final = "\n\n".join(
    (
        "Run Amazon States Language workflows by choreography: agents coordinate themselves through Redis.",
        "Try it:  dcf run workflows/order_processing.json --input workflows/order_processing/order.json",
        "Then:  dcf ls  ·  dcf show RUN  ·  dcf watch RUN  ·  dcf graph RUN  ·  dcf events RUN  ·  dcf doctor",
        "A workflow of your own:  dcf init NAME",
        (
            "Without REDIS_URL an embedded Redis is started and shared by all dcf processes of yours; its data is kept"
            " in DCF_DATA_DIR (default ~/.local/share/dcf)."
        ),
        f"Exit codes: {_EXIT_CODES}.",
    )
)
