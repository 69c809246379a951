"""Who is mentioned, and how it is shown."""

import pytest

from reflection_app.reviews.comments import names_mentioned
from reflection_app.reviews.views.comments import render_comment
from tests import given

NAMES = frozenset({"anna", "anna-maria", "a.b@c.example", "李雷", "x_y"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@anna", {"anna"}),
        ("@anna, @anna. (@anna) @anna!", {"anna"}),
        ("@anna-maria", {"anna-maria"}),
        ("@anna-", {"anna"}),
        ("@annabel @Anna", set()),
        ("mail@anna x.@anna @@anna", set()),
        ("@a.b@c.example.", {"a.b@c.example"}),
        ("请@anna看看，@李雷。", {"anna", "李雷"}),
        ("`@anna` and ```\n@x_y\n```", set()),
        ("**@x_y**", {"x_y"}),
        ("@" * 5000 + "anna", set()),
        ("", set()),
    ],
)
def test_names_are_found_where_they_stand_for_themselves(text: str, expected: set[str]) -> None:
    assert names_mentioned(text, NAMES) == expected


def test_mentions_are_marked_in_running_text_and_nowhere_else() -> None:
    shown = render_comment("Hi @anna, **@x_y**, `@anna` and @nobody", NAMES)
    assert shown.count('<span class="at">') == 2
    assert '<span class="at">@anna</span>,' in shown
    assert '<strong><span class="at">@x_y</span></strong>' in shown
    assert "<code>@anna</code>" in shown


def test_hostile_comments_and_hostile_names_stay_text() -> None:
    shown = render_comment(given.HOSTILE + '\n\n@<b>x</b> <span class="at">@anna</span>', NAMES | {"<b>x</b>"})
    for part in ("<script", "<img", "onclick=", "<b", 'href="javascript'):
        assert part not in shown.replace("&lt;", "").replace("onclick=alert(4)&gt;", "")
    assert shown.count('<span class="at">') == 1


def test_a_long_hostile_text_is_read_in_no_time() -> None:
    for piece in ("`a``b", "@a@b.", "``` `", "@李a"):
        names_mentioned(piece * (10_000 // len(piece)), NAMES)
