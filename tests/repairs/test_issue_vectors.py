"""The same mistake again, told by meaning: with the vectors of the wheel's model, each computed once."""

import pytest
from django.core.cache import cache
from pytest_django.fixtures import Settings

from reflection_app.core.models import Project
from reflection_app.loops.effects import FindSimilarIssues
from reflection_app.loops.protocol.checklists import revised_output_checklist
from reflection_app.loops.protocol.error_classes import AlikeBy, SimilarIssues
from reflection_app.loops.protocol.similarity import is_same
from reflection_app.loops.verdicts import Issue, Judgement, Referee, Verdict
from reflection_app.repairs import issue_vectors
from reflection_app.repairs.issue_vectors import kept_vectors, vectors_of
from reflection_app.repairs.rows import find_similar_issues
from reflection_app.runs.models import Run
from tests.repairs.reports import begun_run, kept_report

pytestmark = pytest.mark.django_db

CLAIMED = "Reported the migration as finished although two of the tables had not been touched."
CLAIMED_AGAIN = "迁移报告说已全部完成，其实两张表根本没动。"
LOOKS_LIKE_IT = "Reported the migration as finished although two of the tables had the wrong owner."
ANOTHER = "The prices are quoted in the wrong currency."


def similar_to(run: Run, text: str) -> SimilarIssues:
    effect = FindSimilarIssues(key="similar", attempt=1, issues=(Issue(description=text),))
    return find_similar_issues(effect, run_id=run.pk)


def test_the_same_mistake_is_found_across_languages_and_says_which_way(project: Project) -> None:
    kept_report(begun_run(project), issues=(Issue(description=CLAIMED),))
    [found] = similar_to(begun_run(project), CLAIMED_AGAIN).found
    assert (found.description, found.by) == (CLAIMED, AlikeBy.MEANING)
    assert 0.5 <= found.similarity < 1
    assert similar_to(begun_run(project), ANOTHER).found == ()


def test_what_shares_its_words_and_not_its_root_is_another_mistake() -> None:
    vectors = vectors_of([CLAIMED, CLAIMED_AGAIN, LOOKS_LIKE_IT])
    one, again, other = (Issue(description=text) for text in (CLAIMED, CLAIMED_AGAIN, LOOKS_LIKE_IT))
    assert is_same(one, again, vectors=vectors)
    assert is_same(again, one, vectors=vectors)
    assert not is_same(one, other, vectors=vectors)
    # By words alone it is the other way round.
    assert (is_same(one, again), is_same(one, other)) == (False, True)


def test_a_mistake_repeated_word_for_word_with_other_numbers_needs_no_meaning(project: Project) -> None:
    kept_report(begun_run(project), issues=(Issue(description="Paper 2 has no DOI"),))
    [found] = similar_to(begun_run(project), "Paper 14 has no DOI.").found
    assert (found.by, found.similarity) == (AlikeBy.WORDS, 1)


def test_without_a_model_issues_are_compared_by_their_words(project: Project, settings: Settings) -> None:
    settings.EMBEDDING_MODEL = "none"
    kept_report(begun_run(project), issues=(Issue(description=CLAIMED),))
    assert similar_to(begun_run(project), CLAIMED_AGAIN).found == ()
    [found] = similar_to(begun_run(project), LOOKS_LIKE_IT).found
    assert found.by is AlikeBy.WORDS


def test_each_issue_is_embedded_once_and_its_vector_kept_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    assert kept_vectors([CLAIMED]) == {}
    first = vectors_of([CLAIMED, CLAIMED, ANOTHER])
    assert first.keys() == {CLAIMED, ANOTHER}
    monkeypatch.setattr(issue_vectors, "embed", lambda *_, **__: pytest.fail("computed a second time"))
    assert vectors_of([ANOTHER, CLAIMED]) == kept_vectors([CLAIMED, ANOTHER])


def test_what_is_not_there_in_time_is_left_out() -> None:
    cache.clear()
    assert vectors_of([CLAIMED], within_s=0) == {}


def test_the_checklist_of_a_revision_says_that_it_compared_by_meaning() -> None:
    issue, again = Issue(description=CLAIMED), Issue(description=CLAIMED_AGAIN)
    verdict = Judgement(attempt=2, referee=Referee.CRITIC, verdict=Verdict.REVISE, score=60, issues=(again,))
    checks = revised_output_checklist(
        issues=(issue,),
        attempt=1,
        revised_attempt=2,
        requirements=None,
        judgement=verdict,
        vectors=vectors_of([CLAIMED, CLAIMED_AGAIN]),
    )
    [item] = [one for one in checks if one.name == "Fixes every issue of the ticket"]
    assert (item.ok, item.why) == (False, f"still there (compared by meaning): {CLAIMED}")
