"""What a thread of comments shows. Pages of reviews and runs put it into their context as `thread`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from uuid import UUID

from django.urls import reverse
from django.utils.safestring import SafeString
from markdown_it.token import Token

from reflection_app.core.models import Membership
from reflection_app.core.permissions import Permission
from reflection_app.loops.hidden_characters import in_order
from reflection_app.reviews.comments import LONGEST_COMMENT, is_author, mentions_in
from reflection_app.reviews.models import About, Comment
from reflection_app.teams.notifications import comments_seen_by, is_blind, read_about
from reflection_app.web.access import DeskRequest
from reflection_app.web.hidden_text import shows_all
from reflection_app.web.rendering import LONGEST_LAID_OUT, MARKDOWN, as_written, render_plain, sanitised

# Comments made fit for a page: Markdown as everywhere, with the mentions of members marked in the running text.

# Let through by the sanitiser, and no class that the colours of code use.
MARK = "at"
# Laying out takes time with the square of these at worst: nobody writes so many, and a thread has many comments.
MOST_MARKS = {"[": 400, "|": 1_000}


@lru_cache(maxsize=512)
def render_comment(text: str, names: frozenset[str]) -> SafeString:
    """The comment laid out, safe to put into a page; `names` are the members that it may mention."""
    if len(text) > LONGEST_LAID_OUT or any(text.count(mark) > most for mark, most in MOST_MARKS.items()):
        return render_plain(text)
    env: dict[str, object] = {}
    text = in_order(text)
    tokens = MARKDOWN.parse(text, env)
    if not shows_all(tokens, text):
        return as_written(render_plain(text))
    for token in tokens:
        if token.children:
            token.children = list(_marked(token.children, names))
    return sanitised(MARKDOWN.renderer.render(tokens, MARKDOWN.options, env))


def _marked(tokens: Sequence[Token], names: frozenset[str]) -> Iterator[Token]:
    for token in tokens:
        if token.type != "text":
            yield token
            continue
        at = 0
        for mention in mentions_in(token.content, names):
            yield _text(token.content[at : mention.start])
            yield Token("mention_open", "span", 1, attrs={"class": MARK})
            yield _text(token.content[mention.start : mention.end])
            yield Token("mention_close", "span", -1)
            at = mention.end
        yield _text(token.content[at:])


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


# The newest.
SHOWN = 500
# The newest are laid out as far as this; what is older is shown as it was typed.
MOST_LAID_OUT = 200_000
# Of the members, as many as a line or two can name.
NAMED = 30


@dataclass(frozen=True)
class Line:
    comment: Comment
    text: SafeString
    is_own: bool
    may_take_back: bool


@dataclass(frozen=True)
class Thread:
    about: str
    about_id: UUID
    slug: str
    lines: list[Line]
    count: int
    # How many older ones are not shown.
    earlier: int
    may_comment: bool
    is_blind: bool
    members: list[str]
    typed: str = ""
    errors: list[str] = field(default_factory=list)
    longest: int = LONGEST_COMMENT

    @property
    def address(self) -> str:
        return reverse("comments", args=(self.slug, self.about, self.about_id))

    @property
    def stamp(self) -> str:
        """Changes with anything that the thread shows."""
        changes = [self.lines[-1].comment.pk] if self.lines else []
        times = [time for line in self.lines for time in (line.comment.edited_at, line.comment.deleted_at) if time]
        newest = max(times).timestamp() if times else 0
        return f"{self.count}-{len(self.lines)}-{changes[0] if changes else 0}-{newest}"


def thread_of(
    request: DeskRequest,
    about: About,
    about_id: UUID,
    *,
    typed: str = "",
    errors: list[str] | None = None,
) -> Thread:
    """The comments on it that the reader may see, the newest of them."""
    place = request.place
    found = comments_seen_by(place.actor.label, project_id=place.project.pk).filter(
        about=about.value, about_id=about_id
    )
    newest = list(found.order_by("-created_at", "-id")[:SHOWN])
    count = found.count() if len(newest) == SHOWN else len(newest)
    active = Membership.objects.filter(project=place.project.pk, user__is_active=True)
    members = list(active.order_by("user__username").values_list("user__username", flat=True))
    names = frozenset(members)
    is_admin = place.may(Permission.UNDO_OTHERS)
    lines = [
        Line(
            comment,
            text,
            is_own=(own := is_author(comment, place.actor)) and not comment.deleted_at,
            may_take_back=(own or is_admin) and not comment.deleted_at,
        )
        for comment, text in reversed([*laid_out(newest, names)])
    ]
    return Thread(
        about=about.value,
        about_id=about_id,
        slug=place.project.slug,
        lines=lines,
        count=count,
        earlier=count - len(lines),
        may_comment=place.may(Permission.REVIEW),
        is_blind=is_blind(about, about_id),
        members=[name for name in members if name != place.actor.label][:NAMED],
        typed=typed,
        errors=errors or [],
    )


def laid_out(newest: Iterable[Comment], names: frozenset[str]) -> Iterator[tuple[Comment, SafeString]]:
    """Each comment with its text for the page, in bounded time whatever was written."""
    left = MOST_LAID_OUT
    for comment in newest:
        left -= len(comment.text)
        yield comment, render_comment(comment.text, names) if left >= 0 else render_plain(comment.text)


def opened_thread(request: DeskRequest, about: About, about_id: UUID) -> Thread:
    """The thread of a page that the reader has opened: what told them of it is read by that."""
    read_about(request.user, project_id=request.place.project.pk, about=about, about_id=about_id)
    return thread_of(request, about, about_id)
