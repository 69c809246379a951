"""What an open page of a run shows: the newest text of a step that is under way, and nothing that was taken back."""

from reflection_app.runs.live import NOTHING_WRITTEN, Fragment, Look, PageState


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


ATTEMPTS, STEPS = "run-attempts", "run-steps"


def attempt(number: int, text: str = "") -> Fragment:
    return Fragment(f"attempt-{number}", f'<p id="attempt-{number}">{text}</p>', ATTEMPTS)


def step(seq: int, text: str = "") -> Fragment:
    return Fragment(f"step-{seq}", f'<li id="step-{seq}">{text}</li>', STEPS)


def look_at(seq: int, *fragments: Fragment, last_step: int) -> Look:
    header = Fragment("run-header", f'<header id="run-header">{seq}</header>')
    whole = frozenset({ATTEMPTS})
    return Look(seq=seq, fragments=(header, *fragments), is_last=False, last_step=last_step, whole=whole)


def shown() -> PageState:
    page = PageState()
    first = look_at(9, attempt(1), attempt(2), *(step(seq) for seq in range(1, 6)), last_step=5)
    page.snapshot(first, lists=(ATTEMPTS, STEPS))
    return page


def test_attempts_and_steps_that_are_no_more_are_removed_once() -> None:
    page = shown()
    back = look_at(11, attempt(1), step(3, "waits"), last_step=3)
    message = page.changes(back)
    for place in ("attempt-2", "step-4", "step-5"):
        assert f'<div id="{place}" hx-swap-oob="delete"></div>' in message
    assert 'id="step-3" hx-swap-oob="true">waits' in message
    assert "step-1" not in message
    assert page.changes(back) == ""


def test_steps_that_were_not_looked_at_again_stay() -> None:
    page = shown()
    assert "delete" not in page.changes(look_at(12, attempt(1), attempt(2), last_step=5))


def test_what_comes_in_their_place_is_appended_where_they_were_removed() -> None:
    page = shown()
    page.changes(look_at(11, attempt(1), step(3), last_step=3))
    message = page.changes(look_at(15, attempt(1), attempt(2, "new"), step(4, "new"), last_step=4))
    assert '<div hx-swap-oob="beforeend:#run-attempts"><p id="attempt-2">new</p></div>' in message
    assert '<div hx-swap-oob="beforeend:#run-steps"><li id="step-4">new</li></div>' in message


def test_a_page_that_slept_through_all_of_it_shows_the_new_and_not_the_old() -> None:
    page = shown()
    message = page.changes(look_at(20, attempt(1), step(3, "done"), step(4, "new"), last_step=4))
    assert 'id="step-4" hx-swap-oob="true">new' in message
    assert '<div id="step-5" hx-swap-oob="delete"></div>' in message
    assert '<div id="attempt-2" hx-swap-oob="delete"></div>' in message
