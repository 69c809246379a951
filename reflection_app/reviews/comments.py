"""Comments on reviews, runs and entries of the notebook: added, edited by who wrote them, taken back."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from notebook_app.public import name_of
from reflection_app.adapters.live import ring, ring_reviews
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict, InvalidInput, NotFound, NotTheAuthor
from reflection_app.core.models import Membership, Project
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Value
from reflection_app.reviews.models import About, Comment, Review
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.models import Run
from reflection_app.teams.models import Notification, NotificationKind
from reflection_app.teams.notifications import is_blind, notify

# Mentions: the names with an @ before them in what people write. Pure text, without Django.

# A name may hold all of these, and so may the address of a mail, which mentions nobody.
_AT = re.compile(r"(?<![A-Za-z0-9_.@+-])@([\w.@+-]{1,150})")
# What stands in code is no mention: decorators, and addresses of packages.
_CODE = re.compile(r"(?<!`)(`{1,8})(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_PUNCTUATION = ".@+-"


@dataclass(frozen=True)
class Mention:
    """A name, and where it stands in the text, with its @."""

    name: str
    start: int
    end: int


def mentions_in(text: str, names: Collection[str]) -> Iterator[Mention]:
    """The mentions of `names` in a piece of running text. A name that is none of them stays text."""
    for found in _AT.finditer(text):
        # The longest of `names` that `said` begins with and that ends there: full stops belong to the sentence.
        said = found[1]
        for end in range(len(said), 0, -1):
            rest = said[end:]
            # Chinese has no spaces: 请@anna看看
            ends_there = not rest.strip(_PUNCTUATION) or (said[end - 1].isascii() and not rest[0].isascii())
            if ends_there and said[:end] in names:
                yield Mention(said[:end], found.start(), found.start() + 1 + end)
                break


def names_mentioned(text: str, names: Collection[str]) -> set[str]:
    """Whom a text in Markdown mentions."""
    return {mention.name for mention in mentions_in(_CODE.sub(" ", text), names)}


LONGEST_COMMENT = 10_000


class CommentInput(Value):
    """A comment in Markdown. `@name` notifies a member of the project."""

    text: Annotated[str, Field(max_length=LONGEST_COMMENT), AfterValidator(storable)]


@transaction.atomic
def add_comment(project: Project, about: About, about_id: UUID, data: CommentInput, *, actor: Actor) -> Comment:
    """The comment. Raises NotFound where the project has no such thing, or InvalidInput: nothing is kept then."""
    text = _worded(data)
    title, run = _commented(project, about, about_id)
    comment = Comment.objects.create(
        project=project,
        about=about.value,
        about_id=about_id,
        author=actor.user,
        author_label=actor.label,
        text=text,
    )
    if run is not None:
        add_event(run, EventType.COMMENT_ADDED, comment=str(comment.pk), about=about.value, about_id=str(about_id))
        run.save(update_fields=["last_event_seq"])
        run_id = run.pk
        transaction.on_commit(lambda: ring(run_id, project_id=project.pk))
    _tell(comment, title=title, actor=actor)
    audit(project.pk, actor, "comment.added", target=comment, after={"about": about.value, "about_id": str(about_id)})
    transaction.on_commit(lambda: ring_reviews(project.pk))
    return comment


@transaction.atomic
def edit_comment(comment: Comment, data: CommentInput, *, actor: Actor) -> Comment:
    """The comment with other words; who is mentioned anew is told. Raises NotTheAuthor, Conflict or InvalidInput."""
    text = _worded(data)
    locked = _locked(comment)
    if not is_author(locked, actor):
        raise NotTheAuthor(_("Only the author of a comment can edit it."))
    before, locked.text = locked.text, text
    if before == text:
        return locked
    locked.edited_at = timezone.now()
    locked.save(update_fields=["text", "edited_at"])
    title, _run = _commented(locked.project, About(locked.about), locked.about_id, lock=False)
    _tell(locked, title=title, actor=actor, kinds={NotificationKind.MENTIONED})
    _trail(locked, "comment.edited", actor=actor, before=before, after=text)
    return locked


@transaction.atomic
def take_back_comment(comment: Comment, *, actor: Actor, is_admin: bool) -> Comment:
    """The comment without its text; that it was there stays. Raises NotTheAuthor, or Conflict where it is gone."""
    locked = _locked(comment)
    if not is_admin and not is_author(locked, actor):
        raise NotTheAuthor(_("Only the author of a comment or an admin can delete it."))
    before, locked.text, locked.deleted_at = locked.text, "", timezone.now()
    locked.save(update_fields=["text", "deleted_at"])
    # Nobody is led to words that are gone.
    Notification.objects.filter(comment=locked).delete()
    _trail(locked, "comment.taken_back", actor=actor, before=before, after="")
    return locked


def is_author(comment: Comment, actor: Actor) -> bool:
    """Whether this person, or this key, wrote the comment."""
    if actor.user is None:
        return comment.author_id is None and comment.author_label == actor.label
    return comment.author_id == actor.user.pk


def _worded(data: CommentInput) -> str:
    if not data.text.strip():
        message = _("Enter a comment.")
        raise InvalidInput(message, errors=[{"field": "text", "message": message}])
    return data.text.strip()


def _locked(comment: Comment) -> Comment:
    locked = Comment.objects.select_for_update(of=("self",)).select_related("project").get(pk=comment.pk)
    if locked.deleted_at:
        raise Conflict(_("This comment was already deleted. Nothing was changed."))
    return locked


def _commented(project: Project, about: About, about_id: UUID, *, lock: bool = True) -> tuple[str, Run | None]:
    """The title of what a comment is about, and the run that it belongs to, locked."""
    if about is About.ENTRY:
        name = name_of(project.pk, entry_id=about_id)
        if name is None:
            raise NotFound(_("Entry not found."))
        return name, None
    # A review's run never changes, so that it may be looked up before it is locked.
    of_review = Review.objects.filter(pk=about_id).values("run")
    which = {"pk__in": of_review} if about is About.REVIEW else {"pk": about_id}
    runs = Run.objects.filter(project=project, **which)
    run = (runs.select_for_update() if lock else runs).first()
    if run is None:
        raise NotFound(_("Review not found.") if about is About.REVIEW else _("Run not found."))
    return run.task.title, run


def _tell(comment: Comment, *, title: str, actor: Actor, kinds: set[NotificationKind] | None = None) -> None:
    """Tells who is mentioned, and who has to do with what the comment is about."""
    members = Membership.objects.filter(project=comment.project_id).values_list("user__username", "user")
    by_name = dict(members)
    mentioned = {by_name[name] for name in names_mentioned(comment.text, by_name)}
    # Who holds, decided or is assigned what the comment is about, and who commented on it before.
    same = Comment.objects.filter(about=comment.about, about_id=comment.about_id, deleted_at=None)
    found: set[int | None] = set(same.values_list("author", flat=True).distinct())
    if comment.about != About.ENTRY:
        which = {"run": comment.about_id} if comment.about == About.RUN else {"pk": comment.about_id}
        for people in Review.objects.filter(**which).values_list("holder", "decided_by", "assignee"):
            found |= set(people)
    concerned = {person for person in found if person is not None}
    told = {NotificationKind.MENTIONED: mentioned, NotificationKind.COMMENTED: concerned - mentioned}
    for kind, users in told.items():
        if kinds is None or kind in kinds:
            notify(
                kind,
                users=users,
                project_id=comment.project_id,
                about=About(comment.about),
                about_id=comment.about_id,
                actor=actor,
                title=title,
                comment=comment,
            )


def _trail(comment: Comment, action: str, *, actor: Actor, before: str, after: str) -> None:
    """Keeps what it said, but not of a blind seat: who may read the trail may sit on that panel, too."""
    blind = is_blind(comment.about, comment.about_id)
    was, now = ({"characters": len(text)} if blind else {"text": text} for text in (before, after))
    audit(comment.project_id, actor, action, target=comment, before=was, after=now)
    transaction.on_commit(lambda: ring_reviews(comment.project_id))
