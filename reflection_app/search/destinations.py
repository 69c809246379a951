"""Pages that are found by their titles, in every language, and by what people call them."""

from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import override

from reflection_app.search.asking import read_asked
from reflection_app.teams.projects import may_create_projects
from reflection_app.web.access import Place
from reflection_app.web.pages import Page, all_pages

SHOWN = 5


@dataclass(frozen=True)
class Offered:
    """A page that the member may open, with its address in their project."""

    page: Page
    path: str


def offered(place: Place, user: User, typed: str) -> list[Offered]:
    """Return the pages that match the words and that the member may open, those with such a title first."""
    asked = read_asked(typed)
    if asked is None:
        return []
    pieces = asked.text.split()
    ranked: list[tuple[int, Page]] = []
    for page in all_pages().values():
        titles, known = names_of(page.name)
        if all(_begins_a_word(piece, known) for piece in pieces) and may_open(page, place, user):
            is_named = any(title.startswith(asked.text) for title in titles)
            has_all = all(any(_begins_a_word(piece, title) for title in titles) for piece in pieces)
            ranked.append((0 if is_named else 1 if has_all else 2, page))
    ranked.sort(key=lambda one: one[0])
    return [Offered(page, page.path(place.project)) for _rank, page in ranked[:SHOWN]]


@cache
def names_of(name: str) -> tuple[tuple[str, ...], str]:
    """Return the page's title in each language, and one text with all its words."""
    page, titles, within = all_pages()[name], list[str](), list[str]()
    for language, _native in settings.LANGUAGES:
        with override(language):
            titles.append(str(page.title).lower())
            within.append(str(page.within).lower())
    return tuple(titles), " ".join((*titles, *within, page.words))


def may_open(page: Page, place: Place, user: User) -> bool:
    """Return True if the member may open the page."""
    if page.name == "new_project":
        return may_create_projects(user)
    return page.permission is None or place.may(page.permission)


def _begins_a_word(piece: str, text: str) -> bool:
    """Return True if a word of the text begins so; of what is written without spaces, if the text has it."""
    return f" {piece}" in f" {text}" or (not piece.isascii() and piece in text.replace(" ", ""))
