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
        description="an id or its first eight digits, an external id or its beginning, or words that must all "
        "occur; the end of a word may be missing. There is no query syntax.",
        examples=["invoice parser"],
    )
    kinds: str = Field(
        default="",
        pattern=rf"^(({ONE_KIND})(,({ONE_KIND}))*)?$",
        max_length=LONGEST_ASKED,
        description="comma-separated kinds to search; default: all that the key may read",
        examples=["runs,tickets"],
    )


class SearchHit(Answer):
    id: str = Field(description="id of the object in its own endpoint; for tickets and reports, the name")
    title: str
    detail: str = Field(description="one-line description, such as its external id and agent")
    state: TextOrNull = Field(description="outcome or state of a run, a verdict, or state of a ticket or entry")
    match: Annotated[str, BeforeValidator(lambda match: match.name.lower() if isinstance(match, Match) else match)] = (
        Field(description="`exact` or `beginning`, for an id or a name; otherwise `words`", examples=["words"])
    )
    run_id: UUID | None = Field(description="the run that the object is or belongs to")
    created_at: AwareDatetime
    path: str = Field(description="path of its web page on this server")


class SearchGroup(Answer):
    kind: Kind
    results: list[SearchHit] = Field(
        validation_alias="hits", description=f"best {SHOWN} matches at most; of equal ones, the newest"
    )
    total: int = Field(description="number of matches; a lower bound if `total_is_exact` is false")
    total_is_exact: bool = Field(validation_alias="is_counted")


class SearchAnswer(Answer):
    groups: list[SearchGroup] = Field(description="one group for each kind with matches, best first")


class Search(DeskView):
    @read(
        "search",
        "Search runs, open reviews, notebook entries and more",
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
