"""Search over REST: what the page finds, without the desk's own pages."""

from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from rest_framework.exceptions import PermissionDenied

from reflection_app.api.actions import read
from reflection_app.api.reading import Answer, TextOrNull
from reflection_app.api.view import DeskView
from reflection_app.core.permissions import GRANTS, Permission, key_may
from reflection_app.loops.storable import Text
from reflection_app.search.asking import LONGEST_ASKED
from reflection_app.search.finding import Match
from reflection_app.search.results import LOOKS, SHOWN, Kind, search

ONE_KIND = "|".join(Kind)


class SearchQuery(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    q: Annotated[Text, StringConstraints(max_length=LONGEST_ASKED)] = Field(
        description="an id or its first eight digits, an external id or how it begins, or words that all occur; "
        "the end of a word may be missing. Nothing in it is syntax.",
        examples=["invoice parser"],
    )
    kinds: str = Field(
        default="",
        pattern=rf"^(({ONE_KIND})(,({ONE_KIND}))*)?$",
        max_length=LONGEST_ASKED,
        description="what is searched, with commas between; without it, all that the key may read",
        examples=["runs,tickets"],
    )


class SearchHit(Answer):
    id: str = Field(description="as the thing is asked for by its own route; of tickets and reports, their names")
    title: str
    detail: str = Field(description="a line about it, such as its external id and its agent")
    state: TextOrNull = Field(description="a run's outcome or state, a verdict, the state of a ticket or an entry")
    match: Annotated[str, BeforeValidator(lambda match: match.name.lower() if isinstance(match, Match) else match)] = (
        Field(description="`exact` or `beginning`, of an id or a name; else `words`", examples=["words"])
    )
    run_id: UUID | None = Field(description="the run that it is or belongs to")
    created_at: AwareDatetime
    path: str = Field(description="its page for people, on this desk")


class SearchGroup(Answer):
    kind: Kind
    results: list[SearchHit] = Field(
        validation_alias="hits", description=f"the best {SHOWN} at most, and of equals the newest"
    )
    total: int = Field(description="how many there are; at least, where `total_is_exact` is false")
    total_is_exact: bool = Field(validation_alias="is_counted")


class SearchAnswer(Answer):
    groups: list[SearchGroup] = Field(description="one for each kind of which something is found, the best first")


class Search(DeskView):
    @read(
        "search",
        "Find runs, reviews that wait, entries, tickets, reports, sessions and failed calls",
        may=Permission.READ,
    )
    def retrieve(self, query: SearchQuery) -> SearchAnswer:
        named = [Kind(kind) for kind in query.kinds.split(",") if kind]
        for kind in named:
            if not key_may(self.key, LOOKS[kind].may):
                wanted = GRANTS[LOOKS[kind].may].scope_words()
                raise PermissionDenied(f"To search {kind} needs a key with the scope {wanted}.")
        groups = search(self.project, query.q, may=lambda one: key_may(self.key, one), kinds=named or tuple(Kind))
        return SearchAnswer.model_validate({"groups": groups})
