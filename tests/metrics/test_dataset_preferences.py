"""Which attempt is better than which: never by a weaker referee against a stronger one."""

from typing import Any

import hypothesis
import pytest
from django.utils import timezone
from hypothesis import settings
from hypothesis import strategies as st

from reflection_app.core.audit import Actor
from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.loops.verdicts import Outcome, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.metrics.datasets.preferences import Pair, Word, is_better, pairs_of
from reflection_app.metrics.datasets.rows import PreferenceSource
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Run, Step, Verdict
from tests import given
from tests.api.caller import Caller
from tests.metrics.recorded import Rows, begin
from tests.metrics.settled import let_settle
from tests.reviews.editing import edited
from tests.runs.critiques import critique

PASS, REVISE, REJECT = VerdictName.PASS, VerdictName.REVISE, VerdictName.REJECT


def word(referee: Referee, verdict: VerdictName, score: float) -> Word:
    return Word(referee, verdict, score)


# Pure.


def test_the_same_referee_prefers_what_it_let_pass_and_then_the_higher_score() -> None:
    words = {
        1: word(Referee.TESTS, REVISE, 40),
        2: word(Referee.TESTS, PASS, 100),
        3: word(Referee.TESTS, REVISE, 60),
        4: word(Referee.TESTS, PASS, 100),
    }
    assert pairs_of(words, picks={}) == [Pair(2, 1, PreferenceSource.TESTS), Pair(2, 3, PreferenceSource.TESTS)]


def test_a_weaker_referees_praise_is_no_match_for_a_stronger_ones_word() -> None:
    words = {1: word(Referee.TESTS, REVISE, 40), 2: word(Referee.CRITIC, PASS, 99)}
    assert pairs_of(words, picks={}) == []
    # Nor is a stronger one's blame a word on what only a weaker one has looked at.
    assert pairs_of({1: word(Referee.PERSON, REVISE, 60), 2: word(Referee.CRITIC, REVISE, 20)}, picks={}) == []


def test_what_the_stronger_let_pass_is_better_than_what_the_weaker_did_not() -> None:
    words = {1: word(Referee.CRITIC, REVISE, 45), 2: word(Referee.PERSON, PASS, 80)}
    assert pairs_of(words, picks={}) == [Pair(2, 1, PreferenceSource.PERSON)]


def test_a_models_opinion_of_itself_and_lowered_expectations_prefer_nothing() -> None:
    assert pairs_of({1: word(Referee.SELF, REVISE, 1), 2: word(Referee.SELF, PASS, 99)}, picks={}) == []
    lowered = Word(Referee.TESTS, PASS, 100, is_comparable=False)
    assert pairs_of({1: word(Referee.TESTS, REVISE, 1), 2: lowered}, picks={}) == []


def test_what_a_person_picked_is_better_whatever_the_tests_said() -> None:
    words = {1: word(Referee.TESTS, REVISE, 90), 2: word(Referee.PERSON, PASS, 80)}
    assert pairs_of(words, picks={1: 2}) == [Pair(2, 1, PreferenceSource.PICK)]


def test_what_a_reviewer_wrote_is_better_than_the_attempt_in_whose_place_it_is() -> None:
    words = {1: word(Referee.PERSON, REVISE, 90), 2: word(Referee.PERSON, PASS, 90)}
    assert pairs_of(words, picks={}, edits={1: 2}) == [Pair(2, 1, PreferenceSource.EDIT)]


WORDS = st.builds(word, st.sampled_from(Referee), st.sampled_from(VerdictName), st.sampled_from((0.0, 50.0, 100.0)))


@settings(max_examples=40)
@hypothesis.given(st.dictionaries(st.integers(1, 6), WORDS, max_size=6))
def test_no_pair_is_against_a_stronger_word_and_each_attempt_is_rejected_once(words: dict[int, Word]) -> None:
    pairs = pairs_of(words, picks={})
    assert len({pair.rejected for pair in pairs}) == len(pairs)
    for pair in pairs:
        chosen, rejected = words[pair.chosen], words[pair.rejected]
        assert chosen.referee >= rejected.referee > Referee.SELF
        assert chosen.height > rejected.height
        assert not is_better(rejected, chosen)


# Of runs.


def end(rows: Rows, **more: Any) -> Run:
    return rows.end(Outcome.SUCCEEDED, kept=None, at=timezone.now(), **more)


def pairs(caller: Caller, **query: str) -> list[tuple[str, str, str]]:
    """Source, chosen and rejected, of all pairs that there are by now."""
    answer = caller.get("datasets/preferences", **query)
    assert answer.status == 200, answer.body
    return [(row["source"], row["chosen"], row["rejected"]) for row in answer.body["results"]]


@pytest.mark.django_db
def test_a_pair_has_the_texts_the_scores_and_who_said_so(caller: Caller) -> None:
    rows = begin(caller.project, agent="writer")
    first, second = rows.attempt(1), rows.attempt(2)
    rows.verdict(first, Referee.CRITIC, PASS, 95)
    rows.verdict(first, Referee.TESTS, REVISE, 40)
    rows.verdict(second, Referee.CRITIC, REVISE, 50)
    rows.verdict(second, Referee.TESTS, PASS, 100)
    run = end(rows)
    let_settle()
    [row] = caller.get("datasets/preferences").body["results"]
    assert (row["run_id"], row["agent"], row["prompt"]) == (str(run.pk), "writer", "Write a letter.")
    assert (row["source"], row["chosen"], row["rejected"]) == ("tests", "answer 2", "answer 1")
    assert (row["chosen_attempt"], row["rejected_attempt"]) == (2, 1)
    assert (row["chosen_referee"], row["rejected_referee"], row["margin"]) == ("tests", "tests", 60)


@pytest.mark.django_db
def test_the_same_text_a_cut_off_one_and_broken_tests_make_no_pair(caller: Caller) -> None:
    rows = begin(caller.project)
    one, same, cut, broken = (rows.attempt(number) for number in (1, 2, 3, 4))
    same.content = one.content
    cut.is_cut_off = True
    same.save()
    cut.save()
    rows.verdict(one, Referee.TESTS, REVISE, 40)
    rows.verdict(same, Referee.TESTS, PASS, 100)
    rows.verdict(cut, Referee.TESTS, REJECT, 0)
    void = rows.verdict(broken, Referee.TESTS, REJECT, 0)
    Verdict.objects.filter(pk=void.pk).update(confidence=0)
    end(rows)
    let_settle()
    assert pairs(caller) == []


def decided(rows: Rows, asked: Any, chosen: Any, verdict: VerdictName, **more: Any) -> Review:
    """A review of `asked` by which a person judged `chosen`."""
    before = rows.verdict(asked, Referee.TESTS, REVISE, 90)
    word = rows.verdict(chosen, Referee.PERSON, verdict, 80)
    fields = {"reason": ReviewReason.POLICY.value, "holds_run": False, "decision": "overrule"} | more
    return Review.objects.create(
        project=rows.run.project, run=rows.run, attempt=asked, verdict=before, decided_verdict=word, state="decided",
        decided_at=timezone.now(), decided_by_label="ada", **fields,
    )  # fmt: skip


@pytest.mark.django_db
def test_a_person_who_kept_another_attempt_prefers_it(caller: Caller) -> None:
    rows = begin(caller.project)
    asked, chosen = rows.attempt(1), rows.attempt(2)
    decided(rows, asked, chosen, PASS, reason=ReviewReason.UNSETTLED_PICK.value)
    end(rows)
    let_settle()
    assert pairs(caller) == [("pick", "answer 2", "answer 1")]


@pytest.mark.django_db
def test_a_person_who_overruled_the_critic_is_believed_and_a_key_is_not(caller: Caller) -> None:
    rows = begin(caller.project)
    first, second = rows.attempt(1), rows.attempt(2)
    rows.verdict(first, Referee.CRITIC, PASS, 90)
    rows.verdict(second, Referee.CRITIC, REVISE, 40)
    decided(rows, first, first, REJECT)
    review = decided(rows, second, second, PASS)
    end(rows)
    let_settle()
    assert pairs(caller) == [("person", "answer 2", "answer 1")]
    Review.objects.filter(pk=review.pk).update(decided_by_key=caller.key)
    assert pairs(caller) == []


@pytest.mark.django_db
def test_what_a_person_rewrote_in_a_fork_is_better_and_copies_are_told_once(caller: Caller) -> None:
    answers = {
        "attempt-1/answer": "A first text.",
        "attempt-1/critique": critique(40),
        "attempt-2/answer": "A second text.",
        "attempt-2/critique": critique(90, approved=True),
    }
    caller.project.review_policy = {"audit_share": 0}
    caller.project.save()
    run = given.scripted_run(answers, project=caller.project)
    advance(run.pk)
    step = Step.objects.get(run=run, key="attempt-2/answer")
    edited = (step.result or {}) | {"text": "A second text, mended."}
    fork = fork_run(
        Run.objects.get(pk=run.pk),
        ForkInput(from_step=step.seq, result=edited),
        actor=Actor(user=given.member(caller.project)),
    )
    advance(fork.pk)
    let_settle()
    assert pairs(caller, scripted="true") == [
        ("critic", "A second text.", "A first text."),
        ("critic", "A second text, mended.", "A first text."),
        ("edit", "A second text, mended.", "A second text."),
    ]
    ids = [row["id"] for row in caller.get("datasets/preferences", scripted="true").body["results"]]
    assert len(set(ids)) == 3
    # Row by row, also within one run.
    page, seen = caller.get("datasets/preferences", scripted="true", limit=1), []
    while True:
        seen += [row["id"] for row in page.body["results"]]
        if not page.body["next"]:
            break
        page = caller.get(page.body["next"])
    assert seen == ids


@pytest.mark.django_db
@pytest.mark.parametrize("is_person", [True, False])
def test_an_edited_answer_is_a_pair_with_what_was_changed_and_none_where_a_key_edited(
    caller: Caller, *, is_person: bool
) -> None:
    answers = {"attempt-1/answer": "One line.\nAnother.", "attempt-1/critique": critique(10)}
    run = given.scripted_run(answers, project=caller.project)
    run.is_scripted = False
    run.save(update_fields=["is_scripted"])
    advance(run.pk)
    actor = Actor(user=given.member(caller.project)) if is_person else Actor(api_key=caller.key)
    edited(Review.objects.get(run=run), "One line.\nThe other.", actor=actor)
    advance(run.pk)
    let_settle()
    rows = caller.get("datasets/preferences").body["results"]
    told = [(row["source"], row["chosen"], row["rejected"], row["difference"]) for row in rows]
    expected = (
        "edit",
        "One line.\nThe other.",
        "One line.\nAnother.",
        "@@ -1,2 +1,2 @@\n One line.\n-Another.\n+The other.",
    )
    assert told == ([expected] if is_person else [])
