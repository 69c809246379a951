"""How much foreign text one page lays out. Past that, texts are shown as they were written."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import thread_time

from django.http import HttpRequest, HttpResponse

# One text is bounded by itself; a page may hold hundreds of them.
MOST_CHARACTERS = 400_000
# CPU time: on text that is costly for its length this ends it earlier, after the text at which it ran out.
MOST_SECONDS = 3.0


@dataclass
class PageBudget:
    """What is left for one page."""

    characters: int = MOST_CHARACTERS
    seconds: float = MOST_SECONDS


_current: ContextVar[PageBudget | None] = ContextVar("page_budget", default=None)


@contextmanager
def page_budget() -> Iterator[PageBudget]:
    """One budget for all texts laid out in the block."""
    budget = PageBudget()
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)


def in_budget[T](characters: int, lay_out: Callable[[], T]) -> T | None:
    """What `lay_out` returns; None without calling it where the page's budget is spent. Unlimited outside of a page."""
    budget = _current.get()
    if budget is None:
        return lay_out()
    if budget.characters < characters or budget.seconds <= 0:
        return None
    began = thread_time()
    try:
        return lay_out()
    finally:
        budget.characters -= characters
        budget.seconds -= thread_time() - began


def within_page_budget(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Give each request a budget for laying out text."""

    def answered(request: HttpRequest) -> HttpResponse:
        with page_budget():
            return get_response(request)

    return answered
