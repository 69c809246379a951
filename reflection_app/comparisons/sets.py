"""Making a set of pairs, of runs or by a pipeline; closing it, and opening it again."""

from typing import Annotated, Self
from uuid import UUID

from django.db import transaction
from django.db.models import Aggregate, Count, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import AfterValidator, Field, model_validator

from reflection_app.comparisons.models import MOST_WANTED, ComparisonSet, Pair
from reflection_app.comparisons.pairing import Model, PairChoice, Prompt, find_pairs
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict, InvalidInput, wrong
from reflection_app.core.models import Project
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.reviews.own_work import hands_of

MOST_IN_A_SET = 10_000
MOST_AT_ONCE = 100
LONGEST_ANSWER = 1_000_000


class SetClosed(Conflict):
    """The set is closed: nobody is given its pairs, and none are added."""

    title = gettext_noop("Set closed")


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return text


def _name(text: str) -> str:
    return _not_blank(text).strip()


class SetInput(Value):
    """A new comparison set. With `choose`, pairs are made from runs; otherwise a pipeline submits them."""

    name: Annotated[Text, Field(min_length=1, max_length=120), AfterValidator(_name)]
    wanted: int = Field(default=1, ge=1, le=MOST_WANTED, description="number of people who judge each pair")
    choose: PairChoice | None = None


class ComparedInput(Value):
    """One of the two answers and its source, which is hidden from the people who judge."""

    answer: Annotated[str, Field(min_length=1, max_length=LONGEST_ANSWER), AfterValidator(_not_blank)]
    model: Annotated[Model, Field(min_length=1), AfterValidator(_not_blank)]
    prompt: Prompt = Field(default="", description="version of the prompt, under a name of your choice")


class PairInput(Value):
    """Two answers to one objective."""

    objective: Annotated[str, Field(min_length=1, max_length=200_000), AfterValidator(_not_blank)]
    a: ComparedInput
    b: ComparedInput

    @model_validator(mode="after")
    def check_that_they_differ(self) -> Self:
        if (self.a.model, self.a.prompt) == (self.b.model, self.b.prompt):
            raise ValueError("a and b are by the same model with the same prompt: there is nothing to choose between")
        if self.a.answer == self.b.answer:
            raise ValueError("a and b have the same answer: there is nothing to choose between")
        return self


class PairsInput(Value):
    """Pairs submitted by a pipeline."""

    pairs: Annotated[tuple[PairInput, ...], Field(min_length=1, max_length=MOST_AT_ONCE)]


@transaction.atomic
def create_set(project: Project, data: SetInput, *, actor: Actor) -> ComparisonSet:
    """The set with its pairs. Raises InvalidInput where it was to be made of runs and no two answers fit."""
    pairs: list[Pair] = []
    if data.choose is not None:
        pairs = find_pairs(project, data.choose)
        if not pairs:
            raise wrong(
                "choose", _("No new pairs match: no set may contain them yet, and the answers to a task must differ.")
            )
    made = ComparisonSet.objects.create(
        project=project,
        name=data.name,
        wanted=data.wanted,
        chosen=data.choose.model_dump(mode="json", exclude_defaults=True) if data.choose else {},
        created_by=actor.user,
        created_by_label=actor.label,
    )
    for pair in pairs:
        pair.set, pair.wanted = made, data.wanted
    Pair.objects.bulk_create(pairs, batch_size=100)
    told = {"name": made.name, "wanted": made.wanted, "pairs": len(pairs), "chosen": made.chosen}
    audit(project.pk, actor, "comparison_set.created", target=made, after=told)
    return made


@transaction.atomic
def hand_in_pairs(comparison_set: ComparisonSet, data: PairsInput, *, actor: Actor) -> list[Pair]:
    """The pairs, for people to judge. Raises SetClosed, or InvalidInput where the set would have too many."""
    locked = ComparisonSet.objects.select_for_update().get(pk=comparison_set.pk)
    refuse_closed(locked)
    if Pair.objects.filter(set=locked).count() + len(data.pairs) > MOST_IN_A_SET:
        raise wrong(
            "pairs", _("A set has at most %(most)s pairs. Create another set.") % {"most": f"{MOST_IN_A_SET:,}"}
        )
    pairs = [
        Pair(
            project_id=locked.project_id,
            set=locked,
            objective=one.objective,
            answer_a=one.a.answer,
            answer_b=one.b.answer,
            model_a=one.a.model,
            model_b=one.b.model,
            prompt_a=one.a.prompt,
            prompt_b=one.b.prompt,
            handed_in_by=list(hands_of(actor)),
            wanted=locked.wanted,
        )
        for one in data.pairs
    ]
    Pair.objects.bulk_create(pairs, batch_size=10)
    audit(locked.project_id, actor, "pairs.handed_in", target=locked, after={"pairs": len(pairs)})
    return pairs


def refuse_closed(comparison_set: ComparisonSet) -> None:
    if not comparison_set.is_open:
        raise SetClosed(_("The set “%(name)s” is closed. Nothing was changed.") % {"name": comparison_set.name})


@transaction.atomic
def switch_set(comparison_set: ComparisonSet, *, is_open: bool, actor: Actor) -> ComparisonSet:
    """The set, open or closed; what holds already is no change. What was judged stays."""
    rows = ComparisonSet.objects.filter(pk=comparison_set.pk, closed_at__isnull=not is_open)
    if rows.update(closed_at=None if is_open else timezone.now()):
        action = "comparison_set.reopened" if is_open else "comparison_set.closed"
        audit(comparison_set.project_id, actor, action, target=comparison_set)
    comparison_set.refresh_from_db()
    return comparison_set


def sets_to_show(project: Project) -> QuerySet[ComparisonSet]:
    """The sets, each with how many pairs it has, how many are `done`, and its judgements, there and `asked` for."""
    # Counted a set: joined, the pairs of all sets would be read for each page of the list.
    pairs = Pair.objects.filter(set=OuterRef("pk")).order_by().values("set")

    def of_pairs(figure: Aggregate) -> Coalesce:
        return Coalesce(Subquery(pairs.values(figure=figure)), 0)

    return ComparisonSet.objects.filter(project=project).annotate(
        pairs_made=of_pairs(Count("pk")),
        judged=of_pairs(Sum("judged")),
        asked=of_pairs(Sum("wanted")),
        done=of_pairs(Count("pk", filter=Q(judged__gte=F("wanted")))),
    )


def get_set(project: Project, set_id: UUID) -> ComparisonSet:
    """The project's set. Raises InvalidInput."""
    found = sets_to_show(project).filter(pk=set_id).first()
    if found is None:
        message = _("Set not found.")
        raise InvalidInput(message, errors=[{"field": "set", "message": message}])
    return found
