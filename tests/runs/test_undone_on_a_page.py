"""An open page of a run forgets what was taken back, and shows what comes in its place."""

from reflection_app.runs.live import Fragment, Look, PageState

ATTEMPTS, STEPS = "run-attempts", "run-steps"


def attempt(number: int, text: str = "") -> Fragment:
    return Fragment(f"attempt-{number}", f'<p id="attempt-{number}">{text}</p>', ATTEMPTS)


def step(seq: int, text: str = "") -> Fragment:
    return Fragment(f"step-{seq}", f'<li id="step-{seq}">{text}</li>', STEPS)


def look(seq: int, *fragments: Fragment, last_step: int) -> Look:
    header = Fragment("run-header", f'<header id="run-header">{seq}</header>')
    whole = frozenset({ATTEMPTS})
    return Look(seq=seq, fragments=(header, *fragments), is_last=False, last_step=last_step, whole=whole)


def shown() -> PageState:
    page = PageState()
    first = look(9, attempt(1), attempt(2), *(step(seq) for seq in range(1, 6)), last_step=5)
    page.snapshot(first, lists=(ATTEMPTS, STEPS))
    return page


def test_attempts_and_steps_that_are_no_more_are_removed_once() -> None:
    page = shown()
    back = look(11, attempt(1), step(3, "waits"), last_step=3)
    message = page.changes(back)
    for place in ("attempt-2", "step-4", "step-5"):
        assert f'<div id="{place}" hx-swap-oob="delete"></div>' in message
    assert 'id="step-3" hx-swap-oob="true">waits' in message
    assert "step-1" not in message
    assert page.changes(back) == ""


def test_steps_that_were_not_looked_at_again_stay() -> None:
    page = shown()
    assert "delete" not in page.changes(look(12, attempt(1), attempt(2), last_step=5))


def test_what_comes_in_their_place_is_appended_where_they_were_removed() -> None:
    page = shown()
    page.changes(look(11, attempt(1), step(3), last_step=3))
    message = page.changes(look(15, attempt(1), attempt(2, "new"), step(4, "new"), last_step=4))
    assert '<div hx-swap-oob="beforeend:#run-attempts"><p id="attempt-2">new</p></div>' in message
    assert '<div hx-swap-oob="beforeend:#run-steps"><li id="step-4">new</li></div>' in message


def test_a_page_that_slept_through_all_of_it_shows_the_new_and_not_the_old() -> None:
    page = shown()
    message = page.changes(look(20, attempt(1), step(3, "done"), step(4, "new"), last_step=4))
    assert 'id="step-4" hx-swap-oob="true">new' in message
    assert '<div id="step-5" hx-swap-oob="delete"></div>' in message
    assert '<div id="attempt-2" hx-swap-oob="delete"></div>' in message
