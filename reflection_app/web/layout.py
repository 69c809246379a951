"""What every page shows around its content. Nothing is asked of the database before a template uses it."""

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponseBase

from notebook_app.public import count_open_conflicts
from reflection_app.adapters.llm.errors import ModelError
from reflection_app.adapters.llm.roles import LOCAL_PREFIX, model_for
from reflection_app.core.models import Membership, Project, Role
from reflection_app.core.permissions import Permission
from reflection_app.notebook.views.words import waiting_entries
from reflection_app.queues.views.navigation import NavLink, nav_counts, nav_links
from reflection_app.reviews.models import OPEN, Review
from reflection_app.reviews.views.counting import CountUpTo, open_questions, up_to_most
from reflection_app.reviews.views.decision import LastDecision, last_decision
from reflection_app.reviews.views.queue import carried, read_queue
from reflection_app.teams.notifications import MOST_UNREAD, unread_notices
from reflection_app.teams.projects import may_create_projects
from reflection_app.web.access import DeskRequest, Place, place_of
from reflection_app.web.language import SCHEMES, theme_of
from reflection_app.web.pages import Page, all_pages

SETTINGS = (
    *("settings", "members", "permissions", "keys", "review_policy", "rubric", "review_queues", "webhooks", "channels"),
    *("notebook_settings", "keeping"),
)


class Desk:
    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._place: Place | None = getattr(request, "place", None)

    @cached_property
    def project(self) -> Project | None:
        return self._place.project if self._place else None

    @cached_property
    def projects(self) -> list[Project]:
        """All projects of the user, for changing between them."""
        return list(Project.objects.of(self._request.user).only("slug", "name"))

    @cached_property
    def may_create_projects(self) -> bool:
        user = self._request.user
        return isinstance(user, User) and may_create_projects(user)

    @property
    def theme(self) -> str:
        """The theme that was chosen; empty where the system decides."""
        return theme_of(self._request)

    @property
    def color_schemes(self) -> str:
        return SCHEMES[self.theme]

    @property
    def providers(self) -> list[dict[str, str]]:
        """Where people may log in besides."""
        return [{"id": app["provider_id"], "name": app["name"]} for app in settings.OIDC_APPS]

    @property
    def sends_mail(self) -> bool:
        return bool(settings.MAIL_OPTIONS)

    @cached_property
    def _counts(self) -> dict[str, int]:
        """All numbers of the navigation. One query: each page waits for it."""
        user = self._request.user
        if not isinstance(user, User):
            return {}
        counts = {"unread": CountUpTo(unread_notices(user.pk), most=MOST_UNREAD)}
        if self.project is not None:
            counts |= {"entries": CountUpTo(waiting_entries(self.project))}
            counts |= nav_counts(cast("DeskRequest", self._request))
            if not hasattr(self._request, "open_reviews"):
                counts |= {"reviews": CountUpTo(Review.objects.filter(project=self.project, state__in=OPEN))}
                counts |= {"questions": CountUpTo(open_questions(self.project))}
        found: dict[str, int] = User.objects.filter(pk=user.pk).annotate(**counts).values(*counts).get()
        return found

    @property
    def open_reviews(self) -> int:
        """The number of open reviews and questions of the project, up to the largest that pages show."""
        if self.project is None:
            return 0
        counted: int | None = getattr(self._request, "open_reviews", None)
        return up_to_most(self._counts["reviews"] + self._counts["questions"]) if counted is None else counted

    @property
    def waiting_entries(self) -> int:
        """How many proposals wait in the notebook."""
        return self._counts.get("entries", 0)

    @cached_property
    def nav_links(self) -> list[NavLink]:
        """The queues that the member works from, each with its count."""
        return [] if self.project is None else nav_links(cast("DeskRequest", self._request), self._counts)

    @property
    def unread(self) -> int:
        """How many notifications the user has not read, of all their projects."""
        return self._counts.get("unread", 0)

    @cached_property
    def last_decision(self) -> LastDecision | None:
        """What the user decided last, for taking it back."""
        return last_decision(self._request)

    @property
    def within(self) -> str:
        """What the pages and forms of a review carry along, so that they lead back to the view of the queue."""
        request = cast("DeskRequest", self._request)
        return (read_queue(request.GET) if self.section == "reviews" else carried(request)).within

    @property
    def section(self) -> str:
        """The page's name in the address book, which the navigation marks."""
        match = self._request.resolver_match
        return match.url_name or "" if match else ""

    @cached_property
    def settings_pages(self) -> list[Page]:
        """The tabs of the settings that the member may open."""
        pages = (page for page in all_pages().values() if page.name in SETTINGS)
        return [page for page in pages if page.permission is not None and self.may[page.permission]]

    @cached_property
    def may(self) -> dict[str, bool]:
        """What the member may do here, by the names of the matrix: `desk.may.hand_in`."""
        return {one.value: self._place is not None and self._place.may(one) for one in Permission}

    @cached_property
    def open_conflicts(self) -> int:
        """How many conflicts wait in the notebook."""
        return count_open_conflicts(self.project.pk) if self.project else 0

    @property
    def role(self) -> str:
        return Role(self._place.membership.role).label if self._place else ""

    @cached_property
    def local_model(self) -> str:
        """The name of the small local model where it answers for this project, else nothing."""
        if not settings.LOCAL_MODEL_URL or self.project is None:
            return ""
        try:
            model = model_for("actor", self.project.models_by_role)
        except ModelError:
            return ""
        return model if model.startswith(LOCAL_PREFIX) else ""


def desk(request: HttpRequest) -> dict[str, Any]:
    return {"desk": Desk(request)}


# The project whose navigation stands around a page that belongs to a person and not to a project.

CAME_FROM = "project"


def stand_in_project(request: DeskRequest) -> None:
    """Draws the page inside the project that the address names, else the one before, else the person's first."""
    rows = Membership.objects.select_related("project").filter(user=request.user, project__deleted_at__isnull=True)
    own = list(rows.order_by("project__name"))
    named, before = request.GET.get("project", ""), request.session.get(CAME_FROM, "")
    by_slug = {membership.project.slug: membership for membership in own}
    membership = by_slug.get(named) or by_slug.get(before) or (own[0] if own else None)
    if membership is None:
        return
    if named in by_slug and named != before:
        request.session[CAME_FROM] = named
    request.place = place_of(request, membership)


def inside_project[**P, R: HttpResponseBase](view: Callable[P, R]) -> Callable[P, R]:
    """The view, drawn inside a project for who is logged in."""

    @wraps(view)
    def standing(*args: P.args, **kwargs: P.kwargs) -> R:
        request = cast("HttpRequest", args[0])
        if request.user.is_authenticated:
            stand_in_project(cast("DeskRequest", request))
        return view(*args, **kwargs)

    return standing
