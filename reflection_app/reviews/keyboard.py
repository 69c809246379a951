"""Which key does what at the review desk: the usual keys, and those that a person chose instead.

Digits, Enter, Escape, Tab, the arrows, `/` and `?` mean the same to everybody: they give verdicts, search and help, or
are the browser's own.
"""

import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from string import ascii_lowercase

from django.contrib.auth.models import AnonymousUser, User
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Profile


class KeyAction(StrEnum):
    AGREE = "agree"
    OVERRULE = "overrule"
    EDIT = "edit"
    ISSUE = "issue"
    MARK = "mark"
    SKIP = "skip"
    COMMENT = "comment"
    CLAIM = "claim"
    NEXT = "next"
    PREVIOUS = "previous"
    UNDO = "undo"


USUAL = {
    KeyAction.AGREE: "a",
    KeyAction.OVERRULE: "o",
    KeyAction.EDIT: "e",
    KeyAction.ISSUE: "i",
    KeyAction.MARK: "m",
    KeyAction.SKIP: "s",
    KeyAction.COMMENT: "c",
    KeyAction.CLAIM: "n",
    KeyAction.NEXT: "j",
    KeyAction.PREVIOUS: "k",
    KeyAction.UNDO: "u",
}
KEY_WORDS = {
    KeyAction.AGREE: gettext_noop("Agree with the verdict"),
    KeyAction.OVERRULE: gettext_noop("Overrule"),
    KeyAction.EDIT: gettext_noop("Edit the answer"),
    KeyAction.ISSUE: gettext_noop("Add an issue"),
    KeyAction.MARK: gettext_noop("Mark what is selected as an issue"),
    KeyAction.SKIP: gettext_noop("Skip it, and take the next"),
    KeyAction.COMMENT: gettext_noop("Write a comment"),
    KeyAction.CLAIM: gettext_noop("Claim it, or review next"),
    KeyAction.NEXT: gettext_noop("The next row or item"),
    KeyAction.PREVIOUS: gettext_noop("The previous row or item"),
    KeyAction.UNDO: gettext_noop("Undo your last decision, while it is offered"),
}
TAKEN = frozenset("/?")
# More than there are actions, so that there is one for each.
SPARE = [letter for letter in ascii_lowercase if letter not in USUAL.values()]


def keys_of(user: User | AnonymousUser) -> dict[KeyAction, str]:
    """Each action with the person's key, no key twice. It is read once for each object of the user."""
    if not isinstance(user, User):
        return USUAL
    try:
        return completed(user.profile.review_keys)
    except Profile.DoesNotExist:
        return USUAL


def completed(kept: object) -> dict[KeyAction, str]:
    """`kept` with a key for each action, no key twice, whatever it is: keys that are none count for nothing, and
    an action whose usual key is another's now takes a letter that is nobody's.
    """
    own: dict[KeyAction, str] = {}
    for action in KeyAction:
        key = kept.get(action) if isinstance(kept, dict) else None
        if isinstance(key, str) and not _problem_of(key) and key not in own.values():
            own[action] = key
    for action in KeyAction:
        if action not in own:
            own[action] = next(key for key in (USUAL[action], *SPARE) if key not in own.values())
    return {action: own[action] for action in KeyAction}


def change_keys(user: User, *, typed: Mapping[KeyAction, str]) -> Profile:
    """The person's profile with these keys; an action that got none has its usual one. Raises InvalidInput."""
    keys = {action: _as_pressed(typed.get(action, "")) or usual for action, usual in USUAL.items()}
    errors = [{"field": action.value, "message": why} for action, key in keys.items() if (why := _problem_of(key))]
    for action, key in keys.items():
        if others := [_(KEY_WORDS[other]) for other in KeyAction if other is not action and keys[other] == key]:
            told = _("“%(key)s” is also the key of: %(actions)s.") % {"key": key, "actions": "; ".join(others)}
            errors.append({"field": action.value, "message": told})
    if errors:
        raise InvalidInput(_("These keys cannot be used."), errors=errors)
    own = {action.value: key for action, key in keys.items() if key != USUAL[action]}
    return Profile.objects.update_or_create(user=user, defaults={"review_keys": own})[0]


def _as_pressed(typed: str) -> str:
    """As the browser names the key: a letter without Shift."""
    return unicodedata.normalize("NFC", typed.strip()).lower()


def _problem_of(key: str) -> str:
    """Why no action can have this key; empty where one can."""
    if len(key) != 1:
        return _("One letter or sign.")
    if key in TAKEN:
        return _("“/” searches and “?” helps, for everybody.")
    if unicodedata.category(key)[0] == "N":
        return _("Digits give verdicts and choose attempts, for everybody.")
    # What is wide is composed by an input method, and no single key gives it.
    if unicodedata.category(key)[0] not in "LPS" or unicodedata.east_asian_width(key) in "WF" or key != key.lower():
        return _("The desk cannot hear this key: take a letter or a sign.")
    return ""
