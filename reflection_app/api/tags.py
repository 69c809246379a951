"""`ETag` and `If-Match`: who edits what they saw does not undo what somebody else wrote meanwhile."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, QuerySet

from reflection_app.api.view import DeskView
from reflection_app.core.errors import ActionError, NotFound

HEADER = "If-Match"


class ChangedMeanwhile(ActionError):
    """It is not as it was when its ETag was given."""

    status = 412
    title = "Changed meanwhile"


def tag_of(view: DeskView, *things: Any) -> str:
    """The ETag of what the view is about: another one as soon as anything that can be edited is."""
    described = json.dumps(view.get_edited(*things), sort_keys=True, cls=DjangoJSONEncoder)
    return f'"{hashlib.sha256(described.encode()).hexdigest()[:32]}"'


def tag_now(view: DeskView, ids: Mapping[str, Any], *things: Any) -> str:
    """The same after the deed. A row is read anew by its key, since its name in the address may be another now."""
    for thing in things:
        if not isinstance(thing, Model):
            return tag_of(view, view.get_object(**ids))
        thing.refresh_from_db()
    return tag_of(view, *things)


def refuse_stale(view: DeskView, *things: Any) -> None:
    """Raises ChangedMeanwhile where the request has an If-Match that does not name the tag of now.

    Rows stay as they are looked at until the transaction ends. Call it inside one.
    """
    wanted = view.request.headers.get(HEADER)
    if wanted is None:
        return
    for thing in things:
        if isinstance(thing, Model):
            try:
                thing.refresh_from_db(from_queryset=QuerySet(type(thing)).select_for_update(of=("self",)))
            except ObjectDoesNotExist:
                raise NotFound("It was deleted meanwhile.") from None
    tag = tag_of(view, *things)
    # A weak tag never matches: what is edited has to be the very same.
    if wanted.strip() != "*" and tag not in {one.strip() for one in wanted.split(",")}:
        raise ChangedMeanwhile(f"It was changed meanwhile; nothing was done. Read it again: its ETag is {tag} now.")
