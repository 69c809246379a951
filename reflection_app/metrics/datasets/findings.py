"""What those who look back at runs and sessions found and a person judged, for measuring those who look for it next."""

from collections.abc import Sequence

from django.db.models import Q, QuerySet

from notebook_app.public import judged_by_people
from reflection_app.core.ids import id_from
from reflection_app.metrics.datasets.people import People
from reflection_app.metrics.datasets.reading import Asked, Sources
from reflection_app.metrics.datasets.rows import DatasetRow, FindingRow, Judgement
from reflection_app.sessions.models import Reflector


def _looked_back(asked: Asked) -> QuerySet[Reflector]:
    of_run = Q(run__isnull=False, **asked.of_task("run__task__", run="run__"))
    of_session = Q(transcript__isnull=False)
    if asked.kind or asked.mode or asked.outcome:
        # Sessions have none.
        of_session = Q(pk__in=())
    elif asked.agent or asked.metadata:
        wanted = {"transcript__agent": asked.agent, "transcript__metadata__contains": dict(asked.metadata)}
        of_session &= Q(**{lookup: value for lookup, value in wanted.items() if value})
    rows = Reflector.objects.filter(of_run | of_session, project=asked.project, finished_at__isnull=False, found__gt=0)
    return rows.filter(fork__is_scripted=asked.scripted).select_related("run__task", "transcript").defer("run__spec")


def _rows_of(reflectors: Sequence[Reflector], asked: Asked, people: People) -> list[DatasetRow]:
    named = [
        (reflector, place, found, entry_id)
        for reflector in reflectors
        for place, found in enumerate(reflector.findings)
        if (entry_id := id_from(found.get("entry") or ""))
    ]
    judged = judged_by_people(asked.project.pk, [entry_id for *_, entry_id in named], until=asked.until)
    rows: list[DatasetRow] = []
    for reflector, place, found, entry_id in named:
        one = judged.get(entry_id)
        if one is None:
            continue
        work = reflector.run.task if reflector.run else reflector.transcript
        assert work is not None, "a reflector is of one thing"
        said = {
            name: people.work(found.get(name, "")) for name in ("name", "description", "content", "cause", "suggestion")
        }
        rows.append(
            FindingRow(
                id=f"{reflector.pk}.{place}",
                at=reflector.finished_at,
                reflector=reflector.kind,
                run_id=reflector.run_id,
                transcript_id=reflector.transcript_id,
                external_id=people.work(work.external_id),
                agent=work.agent,
                metadata=people.work(work.metadata),
                objective=people.work(work.objective),
                category=found.get("category") or found.get("type") or "",
                **said,
                judgement=Judgement.APPROVED if one.is_approved else Judgement.REJECTED,
                edited=one.is_edited,
                became=found["became"],
                entry_id=entry_id,
                entry_kind=one.words["kind"],
                **{
                    f"entry_{name}": people.value(one.words[name])
                    for name in ("name", "description", "content", "details")
                },
                reason=people.text(one.reason),
                by=people.name(one.by),
                judged_at=one.at,
            )
        )
    return rows


FINDINGS = Sources[Reflector](moment="finished_at", wanted=_looked_back, rows_of=_rows_of)
