"""Which supplements say the same: each belongs to a group of its project and kind of task, by its words or its meaning.

A group stays what it was: a supplement joins the group whose oldest words it says again, and groups are not merged.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from uuid import UUID

import numpy as np
from django.db.models import OuterRef, QuerySet, Subquery
from pgvector import HalfVector
from pgvector.django import CosineDistance

from judgement.same_operation import Operation, is_same
from notebook_app.public import EntryKind
from reflection_app.loops.effects import RecordCompleteness
from reflection_app.repairs.issue_vectors import vectors_of
from reflection_app.repairs.models import Supplement, SupplementGroup
from reflection_app.runs.models import Run

type Vector = Sequence[float]
# By the text that they are of; without a model there are none.
type Vectors = Mapping[str, Vector]

# What says the same lies near, and the closer look at each costs little.
NEAREST = 20
# A run waits for them; without them its supplements are told by their words, and get their vectors with a later check.
WITHIN_S = 5.0
# Groups from before there were vectors, or from another desk, get theirs a few with each check of their kind.
FILLED_AT_ONCE = 4
# The words that a group is called by, of its oldest supplement; null where none is left.
CALLED = Subquery(Supplement.objects.filter(group=OuterRef("pk")).order_by("created_at", "id").values("operation")[:1])


def source_of(task_kind: str, key: str) -> str:
    """The name by which the notebook knows what began with these words, for this kind of task."""
    return f"{EntryKind.SUPPLEMENT}:{sha256(f'{task_kind}\0{key}'.encode()).hexdigest()[:40]}"


def vectors_before(effect: RecordCompleteness, run_id: UUID) -> Vectors:
    """The vectors of what this check found missing; some older groups of its kind are given theirs on the way.

    Call it outside of transactions: a model takes its time.
    """
    run = Run.objects.filter(pk=run_id, parent=None).values("project_id", "task__kind").first()
    if run is None:
        return {}
    vectors = vectors_of([one.operation for one in effect.found.supplements], within_s=WITHIN_S)
    if vectors:
        _fill(run["project_id"], task_kind=run["task__kind"])
    return vectors


def group_of(one: Supplement, *, vectors: Vectors) -> SupplementGroup:
    """The group that the supplement belongs to from now on: a known one, or one of its own.

    Call it with the notebook locked: of two workers with the same new supplement, the second finds the first one's.
    """
    vector = vectors.get(one.operation)
    group = _known(one) or _by_meaning(one, vector) or _begun(one, vector)
    Supplement.objects.filter(pk=one.pk).update(group=group)
    one.group = group
    return group


def oldest_of(group: SupplementGroup) -> Supplement | None:
    """The supplement that the group is called by; None where none is left."""
    return group.supplements.order_by("created_at", "id").first()


def drop_empty_groups(groups: QuerySet[SupplementGroup]) -> None:
    """Deletes those of the groups that no supplement is left of. Call it with the notebook locked."""
    groups.filter(supplements=None).delete()


def _of_kind(one: Supplement) -> QuerySet[SupplementGroup]:
    return SupplementGroup.objects.filter(project=one.project_id, task_kind=one.task_kind)


def _known(one: Supplement) -> SupplementGroup | None:
    """The group that these very words began, or belong to."""
    begun = _of_kind(one).filter(source=source_of(one.task_kind, one.operation_key)).first()
    if begun is not None:
        return begun
    same_words = Supplement.objects.filter(
        project=one.project_id, task_kind=one.task_kind, operation_key=one.operation_key, group__isnull=False
    )
    known = same_words.select_related("group").order_by("created_at", "id").first()
    return known.group if known else None


def _by_meaning(one: Supplement, vector: Vector | None) -> SupplementGroup | None:
    """The nearest group whose oldest words say the same."""
    if vector is None:
        return None
    mine = Operation(one.operation, np.array(vector))
    near = _of_kind(one).filter(vector__isnull=False).order_by(CosineDistance("vector", HalfVector(list(vector))))
    for pk, its_vector, called in near.values_list("pk", "vector", CALLED)[:NEAREST]:
        if called and is_same(mine, Operation(called, np.array(its_vector))):
            return SupplementGroup.objects.get(pk=pk)
    return None


def _begun(one: Supplement, vector: Vector | None) -> SupplementGroup:
    return SupplementGroup.objects.create(
        project_id=one.project_id,
        task_kind=one.task_kind,
        source=source_of(one.task_kind, one.operation_key),
        vector=None if vector is None else list(vector),
    )


def _fill(project_id: UUID, *, task_kind: str) -> None:
    lacking = SupplementGroup.objects.filter(project=project_id, task_kind=task_kind, vector=None)
    words = dict(lacking.order_by("-created_at").values_list("pk", CALLED)[:FILLED_AT_ONCE])
    vectors = vectors_of([said for said in words.values() if said], within_s=WITHIN_S)
    for pk, said in words.items():
        if said and (vector := vectors.get(said)) is not None:
            SupplementGroup.objects.filter(pk=pk, vector=None).update(vector=list(vector))
