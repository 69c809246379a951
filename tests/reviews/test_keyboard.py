"""A person's own keys at the review desk: chosen on a page of the account, shown wherever they act."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.template import Context, Template
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from reflection_app.core.audit import Actor
from reflection_app.core.models import Profile, Project
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.keyboard import USUAL, KeyAction, completed, keys_of
from tests.factories import make_member, make_user
from tests.web.stories import unsure_project, waiting_review

pytestmark = pytest.mark.django_db
PAGE = "/account/keyboard/"


@pytest.fixture
def project() -> Project:
    return unsure_project("desk")


@pytest.fixture
def user(project: Project, client: Client) -> User:
    member = make_member(project)
    client.force_login(member)
    return member


def typed(**changed: str) -> dict[str, str]:
    return {action.value: key for action, key in USUAL.items()} | changed


def kept(user: User) -> dict[str, str] | None:
    profile = Profile.objects.filter(user=user).first()
    return profile.review_keys if profile else None


def field(page: str, name: str) -> str:
    found = re.search(rf'<input[^>]* name="{name}" value="([^"]*)"', page)
    assert found
    return found[1]


def test_keys_are_chosen_and_only_what_differs_is_kept(client: Client, user: User) -> None:
    other = make_user("other")
    Profile.objects.create(user=other, review_keys={"skip": "x"})
    page = client.post(PAGE, typed(agree="F", overrule="a", skip="<"), follow=True)
    assert page.redirect_chain == [(PAGE, 302)]
    assert "Your keys were saved." in page.text
    assert (field(page.text, "agree"), field(page.text, "overrule"), field(page.text, "skip")) == ("f", "a", "&lt;")
    assert kept(user) == {"agree": "f", "overrule": "a", "skip": "<"}
    assert kept(other) == {"skip": "x"}


def test_the_rest_of_the_profile_stays_as_it_is(client: Client, user: User) -> None:
    Profile.objects.create(user=user, theme="dark", wants_mail=False)
    client.post(PAGE, typed(agree="f"))
    client.post("/profile/", {"language": "", "theme": "light"})
    profile = Profile.objects.get(user=user)
    assert (profile.theme, profile.wants_mail, profile.review_keys) == ("light", False, {"agree": "f"})


def test_two_actions_with_one_key_are_refused_at_both_and_what_was_typed_stays(client: Client, user: User) -> None:
    page = client.post(PAGE, typed(agree="s", comment="f"))
    assert page.status_code == 400
    assert "“s” is also the key of: Skip it, and take the next." in page.text
    assert "“s” is also the key of: Agree with the verdict." in page.text
    assert page.text.count('aria-invalid="true"') == 2
    assert (field(page.text, "agree"), field(page.text, "comment")) == ("s", "f")
    assert kept(user) is None


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("7", "Digits give verdicts"),
        ("²", "Digits give verdicts"),
        ("/", "“/” searches"),
        ("?", "“/” searches"),
        ("ab", "One letter or sign."),
        ("\u0307i", "One letter or sign."),
        ("x" * 5000, "One letter or sign."),
        ("\x07", "cannot hear this key"),
        ("\u200b", "cannot hear this key"),
        ("评", "cannot hear this key"),
        ("ａ", "cannot hear this key"),
        ("👍", "cannot hear this key"),
    ],
)
def test_a_key_that_is_needed_or_cannot_be_pressed_is_refused(client: Client, user: User, key: str, why: str) -> None:
    page = client.post(PAGE, typed(agree=key))
    assert page.status_code == 400
    assert why in page.text
    assert kept(user) is None


@pytest.mark.parametrize("key", ["ф", "é", "ñ", "[", "`", '"', "&", "+"])
def test_letters_of_other_keyboards_and_signs_are_keys(client: Client, user: User, key: str) -> None:
    assert client.post(PAGE, typed(agree=key)).status_code == 302
    assert kept(user) == {"agree": key}


def test_an_empty_field_takes_the_usual_key_unless_that_is_anothers_now(client: Client, user: User) -> None:
    assert client.post(PAGE, {"agree": "f"}).status_code == 302
    assert kept(user) == {"agree": "f"}
    page = client.post(PAGE, {"agree": "", "skip": "a"})
    assert page.status_code == 400
    assert "“a” is also the key of" in page.text
    assert kept(user) == {"agree": "f"}


def test_a_reset_gives_the_usual_keys_whatever_stands_in_the_fields(client: Client, user: User) -> None:
    assert 'name="reset"' not in client.get(PAGE).text
    client.post(PAGE, typed(agree="f"))
    assert 'name="reset"' in client.get(PAGE).text
    page = client.post(PAGE, typed(agree="7", skip="o") | {"reset": "1"}, follow=True)
    assert "All keys are the usual ones again." in page.text
    assert kept(user) == {}
    assert keys_of(User.objects.get(pk=user.pk)) == USUAL


def test_the_page_is_for_whoever_is_logged_in(client: Client) -> None:
    assert client.get(PAGE)["Location"] == f"/login/?next={PAGE}"
    assert client.post(PAGE, typed(agree="f"))["Location"] == f"/login/?next={PAGE}"
    client.force_login(make_user("lonely"))
    assert client.get(PAGE).status_code == 200


@pytest.mark.parametrize("broken", [None, [], "a", 7, {"agree": None}, {"agree": "??"}, {"fly": "f"}, {"agree": ["f"]}])
def test_what_is_kept_and_makes_no_sense_falls_back_to_the_usual(broken: object) -> None:
    assert completed(broken) == USUAL


def test_no_two_actions_ever_have_one_key() -> None:
    twice = completed({"agree": "f", "overrule": "f"})
    assert (twice[KeyAction.AGREE], twice[KeyAction.OVERRULE]) == ("f", "o")
    # As where a later version of the desk has an action of which nothing is kept.
    usurped = completed({"agree": "s"})
    assert (usurped[KeyAction.AGREE], usurped[KeyAction.SKIP]) == ("s", "b")
    assert len(set(usurped.values())) == len(KeyAction)


def test_the_tag_writes_the_readers_key_and_reads_it_once() -> None:
    user = make_user("reader")
    Profile.objects.create(user=user, review_keys={"agree": '"'})
    request = RequestFactory().get("/")
    request.user = User.objects.get(pk=user.pk)
    template = Template('<i data-key="{% key "agree" %}">{% key "overrule" %}</i>')
    with CaptureQueriesContext(connection) as asked:
        assert template.render(Context({"request": request})) == '<i data-key="&quot;">o</i>'
        template.render(Context({"request": request}))
    assert len(asked) == 1
    assert template.render(Context()) == '<i data-key="a">o</i>'
    with pytest.raises(ValueError, match="fly"):
        Template('{% key "fly" %}').render(Context())


@pytest.mark.django_db(transaction=True)
def test_every_key_of_a_review_is_the_readers_own(client: Client, project: Project, user: User) -> None:
    own = dict(zip((action.value for action in KeyAction), "zxwvyqhgfdt", strict=True))
    Profile.objects.create(user=user, review_keys=own)
    review = waiting_review(project)
    waiting_review(project)
    queue = client.get("/p/desk/reviews/").text
    assert 'data-key-next="f" data-key-previous="d"' in queue
    open_item = client.get(f"/p/desk/reviews/{review.pk}/").text
    claim_review(review, actor=Actor(user=user))
    held_item = client.get(f"/p/desk/reviews/{review.pk}/").text
    for page in (queue, open_item, held_item):
        keys = " ".join(re.findall(r'data-key="([^"]*)"', page)).split() + re.findall(r"<kbd>(\w)</kbd>", page)
        assert {key for key in keys if len(key) == 1 and key.isalpha() and key != "K"} <= set(own.values())
    for action in ("agree", "overrule", "issue", "mark", "skip", "comment"):
        assert f'data-key="{own[action]}"' in held_item
        assert f"<kbd>{own[action]}</kbd>" in held_item
