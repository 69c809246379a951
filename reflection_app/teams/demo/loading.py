"""Load the demo: an exported project, imported with its times moved up to now, in a few seconds and without a model.

To change the demo, load it, work in it, and replace demo.zip by what `manage.py export_project demo demo.zip` writes.
"""

import io
import re
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict
from reflection_app.core.models import Membership, OwnWork, Profile, Project, Role
from reflection_app.metrics.dashboards import CHART, FIGURE, DashboardInput, keep_dashboard
from reflection_app.metrics.models import FigureDue
from reflection_app.reviews.asking import AskInput, ask_for_review
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.models import About, Review, ReviewState
from reflection_app.runs.models import Run
from reflection_app.teams.archive.importing import Wishes, import_project
from reflection_app.teams.archive.reading import opened

ARCHIVE = Path(__file__).with_name("demo.zip")
NAME, SLUG = "Demo", "demo"
REVIEWERS = ("maya.demo", "jonas.demo")
TILES = (
    *(f"{FIGURE}{name}" for name in ("success_rate_with_reflection", "cost_usd_per_success", "queue_length")),
    *(f"{CHART}{name}" for name in ("success", "outcomes")),
)


class DemoIsThere(Conflict):
    """There is a demo already."""

    title = gettext_noop("Demo already exists")
    slug = "there-is-a-demo-already"


def demo_there() -> Project | None:
    """Return the demo, whoever its members are, or None."""
    return Project.objects.filter(is_demo=True, deleted_at=None).first()


@transaction.atomic
def load_demo(*, actor: Actor, now: datetime | None = None) -> Project:
    """Return the new demo project; who loads it becomes its admin. Raises DemoIsThere."""
    refusal = DemoIsThere(_("A demo already exists on this server. Remove it first."))
    if demo_there():
        raise refusal
    try:
        with transaction.atomic():
            project = _imported(actor=actor, now=now or timezone.now())
    except IntegrityError:
        # Another request loaded one at the same moment.
        raise refusal from None
    # The import has counted these runs.
    FigureDue.objects.filter(run_id__in=Run.objects.filter(project=project).values("pk")).delete()
    dashboard = DashboardInput(name="Every morning", tiles=TILES, is_shared=True)
    keep_dashboard(project, dashboard, actor=_reviewer_of(project))
    audit(project.pk, actor, "demo.loaded", target=project)
    if actor.user is not None:
        Membership.objects.get_or_create(project=project, user=actor.user, defaults={"role": Role.ADMIN})
        talk_to(project, actor.user)
    return project


def _imported(*, actor: Actor, now: datetime) -> Project:
    people = {name: _new_reviewer(name) for name in REVIEWERS}
    renamed = {name: user.get_username() for name, user in people.items()}
    numbers = {user.get_username(): user.pk for user in people.values()}
    wishes = Wishes(slug=_free_name(SLUG), name=NAME, people=numbers, go_on=True)
    project = import_project(moved_up(ARCHIVE, now=now, renamed=renamed), wishes, actor=actor).project
    project.is_demo, project.own_work = True, OwnWork.PEOPLE
    project.save(update_fields=["is_demo", "own_work"])
    return project


def _reviewer_of(project: Project) -> Actor:
    return Actor(user=project.memberships.get(user__username__startswith=REVIEWERS[0]).user)


def _free_name(slug: str) -> str:
    names = (slug if number == 1 else f"{slug}-{number}" for number in count(1))
    return next(name for name in names if not Project.objects.filter(slug=name).exists())


def _new_reviewer(name: str) -> User:
    """Return a new user who cannot log in and has no address; another name is used if this one is taken."""
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    free = next(one for one in names if not User.objects.filter(username=one).exists())
    user = User(username=free, is_active=False)
    user.set_unusable_password()
    user.save(force_insert=True)
    Profile.objects.create(user=user, wants_mail=False)
    return user


# Times as they stand in an exported project: moments, ids of version 7, names of tickets and reports, nanoseconds.
TIMES = re.compile(
    r"(?P<moment>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\+00:00)"
    r"|(?P<id>[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})"
    r"|(?<=_)(?P<name>\d{8}_\d{6})(?=_[0-9a-f]{8})"
    r'|(?<=_ns": )(?P<nanoseconds>\d{19})'
)
NAMED = "%Y%m%d_%H%M%S"


def moved_up(archive: Path, *, now: datetime, renamed: Mapping[str, str]) -> io.BytesIO:
    """Return the archive with every time moved by the time since it was written, and its people renamed."""
    with opened(archive) as project:
        by = now - datetime.fromisoformat(project.manifest()["made_at"])
        moved = io.BytesIO()
        with zipfile.ZipFile(moved, "w", zipfile.ZIP_STORED) as written:
            for name in sorted(project.names):
                text = TIMES.sub(lambda found: _moved(found, by), project.zip.read(name).decode())
                for former, present in renamed.items():
                    text = text.replace(former, present)
                written.writestr(name, text)
    moved.seek(0)
    return moved


def _moved(found: re.Match[str], by: timedelta) -> str:
    text = found[0]
    match found.lastgroup:
        case "moment":
            return (datetime.fromisoformat(text) + by).isoformat()
        case "id":
            return str(UUID(int=UUID(text).int + ((by // timedelta(milliseconds=1)) << 80)))
        case "name":
            return (datetime.strptime(text, NAMED).replace(tzinfo=UTC) + by).strftime(NAMED)
        case _nanoseconds:
            return str(int(text) + by // timedelta(microseconds=1) * 1000)


ASKED_ABOUT, MENTIONED_AT = "demo-release-note", "demo-refund-reply"


def talk_to(project: Project, user: User) -> None:
    """Have a reviewer of the demo ask the user to review an attempt, and mention them in a comment."""
    actor = _reviewer_of(project)
    if run := _run_of(project, ASKED_ABOUT):
        note = "升级步骤对吗？请在发布前看一眼。 (Are the upgrade steps right? Please look before we publish.)"
        ask_for_review(run, AskInput(note=note, assignee=user.get_username()), actor=actor)
    waiting = Review.objects.filter(project=project, state=ReviewState.WAITING, run=_run_of(project, MENTIONED_AT))
    if review := waiting.first():
        text = f"@{user.get_username()} Our policy lets the customer choose. Does this reply leave her the choice?"
        add_comment(project, About.REVIEW, review.pk, CommentInput(text=text), actor=actor)


def _run_of(project: Project, script: str) -> Run | None:
    return Run.objects.filter(project=project, spec__models__default=f"scripted/{script}").first()
