"""Who changes the notebook: a person, a pipeline's key, or the desk itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class By:
    """`user_id` is None for keys and for the desk itself."""

    label: str
    user_id: int | None = None


DESK = By("system")
