"""Taking an outside agent's word on how its first attempt went, for the lessons that were drawn for it."""

from typing import Annotated

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from notebook_app.public import settle, was_drawn_for
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict, NotFound
from reflection_app.core.ids import id_from
from reflection_app.core.models import Project
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.runs.models import Run

LONGEST_SUBJECT = 200


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


class OutcomeInput(Value):
    """`for` is what lessons were recalled for; `succeeded` is null where an outcome is taken back."""

    subject: Annotated[Text, AfterValidator(_not_blank)] = Field(
        validation_alias="for",
        min_length=1,
        max_length=LONGEST_SUBJECT,
        description="the agent's own name for its work, as it was given as `for` to the recall",
    )
    succeeded: bool | None = Field(
        strict=True, description="whether the first attempt was good enough; null takes an outcome back"
    )


@transaction.atomic
def report_outcome(project: Project, told: OutcomeInput, *, actor: Actor) -> int:
    """Of how many lessons it was recorded. Raises NotFound where none was drawn, Conflict for a run of the desk."""
    run_id = id_from(told.subject)
    if run_id is not None and Run.objects.filter(project=project, pk=run_id).exists():
        raise Conflict(
            _("How a run of the desk went is known from its verdicts; hand in attempts or decide reviews instead.")
        )
    if not was_drawn_for(project.pk, subject=told.subject):
        raise NotFound(_("No lesson was recalled for this; ask for lessons with the same name in `for` first."))
    settled = settle(project.pk, subject=told.subject, succeeded=told.succeeded)
    after = {"for": told.subject, "succeeded": told.succeeded, "lessons": settled}
    audit(project.pk, actor, "notebook.outcome", target=project, after=after)
    return settled
