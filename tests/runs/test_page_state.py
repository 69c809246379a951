"""Which text of a model a page shows: the newest of the step that is under way, and none of one that has ended."""

from reflection_app.runs.live import NOTHING_WRITTEN, Look, PageState


def look(last_step: int, *, is_writing: bool) -> Look:
    return Look(seq=last_step, fragments=(), is_last=False, last_step=last_step, is_writing=is_writing)


def page_at(last_step: int, *, is_writing: bool) -> PageState:
    page = PageState()
    page.snapshot(look(last_step, is_writing=is_writing), lists=())
    return page


def test_newer_text_replaces_older_and_what_comes_late_is_left_out() -> None:
    page = page_at(1, is_writing=True)
    assert page.written("a b", step=1, order=(1, 2)) == '<div hx-swap-oob="innerHTML:#run-writing">a b</div>'
    assert page.written("a", step=1, order=(1, 1)) == ""
    assert page.written("a b", step=1, order=(1, 2)) == ""
    assert page.written("again", step=1, order=(2, 1))


def test_text_goes_when_its_step_has_ended_and_does_not_come_back() -> None:
    page = page_at(1, is_writing=True)
    page.written("text", step=1, order=(1, 1))
    assert page.changes(look(1, is_writing=True)) == ""
    assert page.changes(look(2, is_writing=True)) == NOTHING_WRITTEN
    assert page.written("text, late", step=1, order=(1, 9)) == ""
    assert page.written("the next", step=2, order=(1, 1))


def test_text_of_a_step_that_the_page_has_not_heard_of_is_shown() -> None:
    page = page_at(1, is_writing=False)
    assert page.written("new", step=2, order=(1, 1))
    assert page.changes(look(2, is_writing=True)) == ""
    assert page.changes(look(2, is_writing=False)) == NOTHING_WRITTEN
