"""What can go wrong with the notebook. Docstrings are the messages."""

from uuid import UUID


class NotebookError(Exception):
    """Something of the notebook cannot be done."""


class NoSuchEntry(NotebookError):
    """There is no such entry in this project's notebook."""

    def __init__(self, entry_id: UUID) -> None:
        super().__init__(f"{self.__doc__} ({entry_id})")
        self.entry_id = entry_id


class NotPossibleNow(NotebookError):
    """The entry is in a state in which this cannot be done to it; `by` made the version that it is at."""

    def __init__(self, *, change: str, state: str, version: int = 0, by: str = "") -> None:
        super().__init__(f"An entry that is {state} cannot be {change}.")
        self.change, self.state, self.version, self.by = change, state, version, by


class ChangedMeanwhile(NotebookError):
    """Somebody else has changed the entry since it was read; nothing was changed."""

    def __init__(self, *, version: int, by: str) -> None:
        super().__init__(f"{self.__doc__} It is at version {version} now, by {by}.")
        self.version, self.by = version, by


class NoSuchConflict(NotebookError):
    """There is no such conflict in this project's notebook."""

    def __init__(self, conflict_id: UUID) -> None:
        super().__init__(f"{self.__doc__} ({conflict_id})")


class ConflictMovedOn(NotebookError):
    """The conflict is in another state by now; `by` settled it, where somebody did."""

    def __init__(self, *, state: str, by: str = "") -> None:
        super().__init__(f"The conflict is {state}{f', by {by}' if by else ''}.")
        self.state, self.by = state, by


class Refused(NotebookError):
    """What was asked of the notebook cannot be accepted; `field` names what is wrong with it."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field
