"""A callback with a heartbeat: the callback pattern of the Step Functions documentation.

The states that it is compared with are in `definitions/callback.json`.
"""

from dcf import StateTimeout, flow, task, token


@task(callback=True, timeout=86400, heartbeat=3600)
def hand_over(parcel: str, token: str) -> str:
    return f"{parcel} with {len(token) > 0}"


@task
def notify(text: str) -> str:
    return f"told: {text}"


@flow
def handover(parcel: str) -> str:
    """Hand a parcel to a carrier, who calls back and gives signs of life meanwhile; tell how it ended."""
    try:
        receipt = hand_over(parcel, token())
    except StateTimeout:
        return notify(f"nothing was heard of {parcel}")
    return notify(f"{parcel} has the receipt {receipt}")
