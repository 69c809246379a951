"""Names of people in data sets: never an address of mail, and nobody's name where the data set is to be anonymous."""

import hmac
import re
from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.conf import settings

from reflection_app.core.models import Membership
from reflection_app.reviews.models import Review, ReviewState

MAIL = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++")
MAIL_STAND_IN = "[mail address]"
# A shorter one is more often a word than a name.
SHORTEST_NAME = 3


class People:
    """The people of one project as a data set names them."""

    def __init__(self, project_id: UUID, *, anonymous: bool) -> None:
        self._project_id = project_id
        self.anonymous = anonymous
        self._written: set[str] = set()

    def name(self, label: str) -> str:
        """The label, or a made-up name that is always the same one's in this project and tells nothing of them."""
        if not label or not (self.anonymous or "@" in label):
            return label
        return self._stand_in(label)

    def text(self, written: str) -> str:
        """What a person wrote, without mail addresses and, where the data set is anonymous, without names."""
        if "@" in written:
            written = MAIL.sub(MAIL_STAND_IN, written)
        if self.anonymous and self._names is not None:
            written = self._names.sub(self._of_name, written)
        return written

    def value(self, value: Any) -> Any:
        """The JSON value with every text in it as `text` has it."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return {key: self.value(one) for key, one in value.items()}
            case list() | tuple():
                return [self.value(one) for one in value]
        return value

    def work(self, value: Any) -> Any:
        """What a task, an agent or a model wrote: as it is, unless the data set is anonymous."""
        return self.value(value) if self.anonymous else value

    def _of_name(self, found: re.Match[str]) -> str:
        # Signs that only a regular expression takes for the same, such as ı and i: hidden, though told as another's.
        return self._stand_in(self._labels.get(found[0].casefold(), found[0]))

    def _stand_in(self, label: str) -> str:
        key = f"{settings.SECRET_KEY}/datasets/{self._project_id}".encode()
        return f"person-{hmac.new(key, label.casefold().encode(), sha256).hexdigest()[:8]}"

    @cached_property
    def _labels(self) -> dict[str, str]:
        """By every name that somebody goes by in this project, casefolded, the one that rows know them by."""
        decided = Review.objects.filter(project=self._project_id, state=ReviewState.DECIDED)
        labels = {name: name for name in decided.values_list("decided_by_label", flat=True).distinct()}
        members = Membership.objects.filter(project=self._project_id).select_related("user")
        for user in (member.user for member in members):
            names = (user.get_username(), user.get_full_name(), user.first_name, user.last_name)
            labels |= {name: user.get_username() for name in names}
        named = {name: label for name, label in labels.items() if len(name.strip()) >= SHORTEST_NAME}
        self._written = {*named, *map(str.casefold, named), *map(str.upper, named)}
        return {name.casefold(): label for name, label in named.items()}

    @cached_property
    def _names(self) -> re.Pattern[str] | None:
        # As they are written, too: casefolded, ß is two letters, and no regular expression takes them for it.
        longest_first = sorted(self._written, key=len, reverse=True) if self._labels else []
        # No word boundary but what is no letter: names may end with anything, and Chinese has no spaces.
        named = "|".join(map(re.escape, longest_first))
        return re.compile(rf"(?<![A-Za-z0-9_])(?:{named})(?![A-Za-z0-9_])", re.IGNORECASE) if named else None
