"""The tree of the design seed, leaf by leaf, and the facts that it stands on."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.protocol.classification import classify, gather_facts
from reflection_app.loops.protocol.error_classes import (
    ErrorClass,
    FailureFacts,
    SaidUnknown,
    SimilarIssue,
    SimilarIssues,
    UnknownBy,
)
from reflection_app.loops.protocol.stages import Reflected
from reflection_app.loops.requirements import RequirementResult, RequirementsReport
from reflection_app.loops.task_spec import Thresholds
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement, Referee, Severity, Verdict

THREE_PAPERS = "1. AutoGen\n2. CAMEL\n3. MetaGPT"
TOO_FEW = RequirementsReport(
    results=(
        RequirementResult(name="papers", met=False, expected="at least 5", actual="3"),
        RequirementResult(name="title", met=True),
    )
)
ENOUGH = RequirementsReport(results=(RequirementResult(name="papers", met=True),))
AGAIN = SimilarIssues(
    looked_at=4,
    found=(
        SimilarIssue(
            reflection_id="ref_1",
            category=IssueCategory.COMPLETENESS,
            description="只收集讨论，不提炼共识",
            now="没有提炼共识",
            similarity=0.8,
        ),
    ),
)


def judged(
    *,
    score: float = 40,
    completeness: float | None = None,
    category: IssueCategory = IssueCategory.COMPLETENESS,
    severity: Severity = Severity.MEDIUM,
) -> Judgement:
    return Judgement(
        attempt=1,
        referee=Referee.CRITIC,
        verdict=Verdict.REVISE,
        score=score,
        completeness=completeness,
        issues=(Issue(category=category, severity=severity, description="仅收集了 3 篇论文"),),
    )


def facts_of(content: str = THREE_PAPERS, judgement: Judgement | None = None, **known: Any) -> FailureFacts:
    return gather_facts(
        content=content,
        judgement=judgement or judged(),
        requirements=known.pop("requirements", None),
        thresholds=known.pop("thresholds", Thresholds()),
        **known,
    )


def test_a_run_that_broke_off_is_a_pipeline_crash() -> None:
    found = classify(facts_of(interruption="the worker died in step 7", broken_phase="collect"))
    assert found.type is ErrorClass.PIPELINE_CRASH
    assert found.description == "Pipeline crash: collect"
    assert found.path == (
        "Was the task completed? No: the run broke off",
        "Was the pipeline interrupted? Yes: the worker died in step 7",
    )


@pytest.mark.parametrize("content", ["I don't know which papers there are.", "抱歉，我不知道有哪些论文。"])
def test_what_the_agent_says_it_does_not_know_is_missing_knowledge(content: str) -> None:
    found = classify(facts_of(content, requirements=TOO_FEW))
    assert found.type is ErrorClass.MISSING_KNOWLEDGE
    assert found.facts.quote == content
    assert found.path[-1] == f"Did the agent say that it does not know? Yes: {content}"
    assert found.facts.unknown_by is UnknownBy.WORDS


def read_as(quote: str = "", *tools: str) -> SimilarIssues:
    return SimilarIssues(unknown=SaidUnknown(quote=quote, found_nothing=tools))


def test_what_was_read_by_its_meaning_counts_and_the_words_do_not() -> None:
    said = facts_of("Your guess is as good as mine.", similar=read_as("Your guess is as good as mine.", "search"))
    assert (said.said_unknown, said.unknown_by, said.found_nothing) == (True, UnknownBy.MEANING, ("search",))
    translated = facts_of("I don't know.", similar=read_as())
    assert (translated.said_unknown, translated.unknown_by, translated.quote) == (False, None, "")


def test_a_quote_of_the_reflector_counts_where_it_stands_in_the_work() -> None:
    work = "Three papers.\nThe fourth  one's venue is\nnot in the index."
    found = facts_of(work, reflected=Reflected(missing_quote="the fourth one's venue is not in the index"))
    assert found.unknown_by is UnknownBy.REFLECTOR
    for quote in ("The fifth is not in the index.", "", "…", "pa"):
        assert not facts_of(work, reflected=Reflected(missing_quote=quote)).said_unknown


def test_what_the_agent_names_as_unknown_comes_first() -> None:
    found = facts_of("I don't know.", unknown="Which venues count", similar=read_as("I don't know."))
    assert (found.quote, found.unknown_by) == ("Which venues count", UnknownBy.AGENT)


def test_the_same_mistake_again_is_the_models_capability() -> None:
    found = classify(facts_of(requirements=TOO_FEW, similar=AGAIN))
    assert found.type is ErrorClass.MODEL_CAPABILITY
    assert found.path[-1] == (
        "Is it the same mistake again? Yes: 1 like it in 4 earlier reports, such as “只收集讨论，不提炼共识” (ref_1)"
    )


def test_a_new_mistake_is_a_decision_error() -> None:
    """The third seed's own case: three papers where five were asked for."""
    found = classify(facts_of(requirements=TOO_FEW, similar=SimilarIssues(looked_at=2)))
    assert found.type is ErrorClass.DECISION_ERROR
    assert found.description == (
        "Decision error: 1 of 2 minimum requirements are not met: papers; no such mistake before"
    )
    assert found.path == (
        "Was the task completed? No: 1 of 2 minimum requirements are not met: papers",
        "Was the pipeline interrupted? No",
        "Did the agent say that it does not know? No",
        "Is it the same mistake again? No: nothing alike in 2 earlier reports",
    )


@pytest.mark.parametrize(
    ("judgement", "completed", "why"),
    [
        (judged(completeness=50), True, "its completeness is 50, at or above 50, and nothing essential is missing"),
        (judged(completeness=49.5), False, "its completeness is 49.5, below 50"),
        (judged(score=29), False, "its score is 29, below 30"),
        (
            judged(completeness=90, severity=Severity.HIGH),
            False,
            "something essential is missing: 仅收集了 3 篇论文",
        ),
        (
            judged(completeness=90, severity=Severity.CRITICAL, category=IssueCategory.CORRECTNESS),
            True,
            "its completeness is 90, at or above 50, and nothing essential is missing",
        ),
    ],
)
def test_without_requirements_the_critic_says_whether_it_is_complete(
    judgement: Judgement, completed: bool, why: str
) -> None:
    facts = facts_of(judgement=judgement)
    assert (facts.is_completed, facts.why_completed) == (completed, why)


def test_the_projects_own_thresholds_are_the_bar() -> None:
    strict = Thresholds(pass_from=80, revise_from=60)
    assert not facts_of(judgement=judged(score=70, completeness=70), thresholds=strict).is_completed
    assert facts_of(judgement=judged(score=70), thresholds=strict).is_completed


def test_requirements_that_hold_outweigh_the_critics_opinion() -> None:
    assert facts_of(judgement=judged(score=5, severity=Severity.CRITICAL), requirements=ENOUGH).is_completed


def test_an_empty_output_completes_nothing() -> None:
    facts = facts_of(" \n", judgement=judged(score=90), requirements=ENOUGH)
    assert (facts.is_completed, facts.why_completed) == (False, "the output is empty")


def test_requirements_without_results_say_nothing() -> None:
    assert facts_of(judgement=judged(score=90), requirements=RequirementsReport()).is_completed


def test_many_unmet_requirements_are_not_all_named() -> None:
    many = RequirementsReport(results=tuple(RequirementResult(name=f"r{number}", met=False) for number in range(9)))
    why = facts_of(requirements=many).why_completed
    assert why == "9 of 9 minimum requirements are not met: r0, r1, r2, r3, r4 and 4 more"


def test_a_deep_self_check_is_read_without_recursion() -> None:
    deep: Any = "I don't know."
    for _ in range(5_000):
        deep = [deep]
    assert facts_of(self_check=deep).quote == "I don't know."


similar = st.builds(
    SimilarIssues,
    looked_at=st.integers(0, 50),
    found=st.lists(
        st.builds(
            SimilarIssue,
            reflection_id=st.text(max_size=5),
            category=st.sampled_from(IssueCategory),
            description=st.text(max_size=20),
            now=st.text(max_size=20),
            similarity=st.floats(0, 1),
        ),
        max_size=3,
    ).map(tuple),
)
facts_of_any_kind = st.builds(
    FailureFacts,
    is_completed=st.booleans(),
    why_completed=st.text(max_size=20),
    is_interrupted=st.booleans(),
    interruption=st.text(max_size=20),
    broken_phase=st.text(max_size=20),
    said_unknown=st.booleans(),
    quote=st.text(max_size=20),
    is_repeated=st.booleans(),
    similar=similar,
    score=st.floats(0, 100),
)


@given(facts_of_any_kind)
def test_any_facts_have_one_class_which_follows_from_the_four_answers_alone(facts: FailureFacts) -> None:
    found = classify(facts)
    assert found == classify(FailureFacts.model_validate_json(facts.model_dump_json()))
    answers = (facts.is_completed, facts.is_interrupted, facts.said_unknown, facts.is_repeated)
    bare = FailureFacts(
        is_completed=answers[0], is_interrupted=answers[1], said_unknown=answers[2], is_repeated=answers[3]
    )
    assert classify(bare).type is found.type
    leaves = (
        ErrorClass.NORMAL_ITERATION,
        ErrorClass.PIPELINE_CRASH,
        ErrorClass.MISSING_KNOWLEDGE,
        ErrorClass.MODEL_CAPABILITY,
    )
    first_yes = next((leaf for answer, leaf in zip(answers, leaves, strict=True) if answer), ErrorClass.DECISION_ERROR)
    assert found.type is first_yes
    assert 1 <= len(found.path) <= 4
