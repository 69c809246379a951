"""What the notebook refuses, as errors of actions: each with its status, its field, and who was quicker."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.utils.translation import gettext as _

from notebook_app.public import ChangedMeanwhile, NoSuchEntry, NotPossibleNow, Refused
from reflection_app.core.errors import EntryMovedOn, InvalidInput, NotFound
from reflection_app.notebook.notebook_words import change_words, state_words


@contextmanager
def refusals_told(**named: UUID) -> Iterator[None]:
    """Raises what the notebook raises inside as NotFound, EntryMovedOn or InvalidInput.

    `named` are the entries that were named in a field: where one is missing, it is the field that is wrong.
    """
    try:
        yield
    except NoSuchEntry as error:
        for field, entry_id in named.items():
            if entry_id == error.entry_id:
                raise wrong(field, str(no_such_entry())) from None
        raise no_such_entry() from None
    except ChangedMeanwhile as error:
        why = _("%(who)s changed this entry meanwhile; it is at version %(version)s now. Nothing was changed.")
        raise EntryMovedOn(
            why % {"who": error.by or "?", "version": error.version}, version=error.version, by=error.by
        ) from None
    except NotPossibleNow as error:
        why = _(
            "This entry is %(state)s (version %(version)s, by %(who)s) and cannot be %(change)s. Nothing was changed."
        )
        said = {"state": state_words(error.state), "version": error.version, "who": error.by or "?"}
        raise EntryMovedOn(
            why % (said | {"change": change_words(error.change)}), version=error.version, by=error.by
        ) from None
    except Refused as error:
        raise wrong(error.field, str(error)) from None


def no_such_entry() -> NotFound:
    return NotFound(_("There is no such entry."))


def wrong(field: str, message: str) -> InvalidInput:
    """What was sent cannot be used, for this field."""
    return InvalidInput(message, errors=[{"field": field, "message": message}])
