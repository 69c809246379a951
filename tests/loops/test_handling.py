import pytest

from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.reporting import instruction_for, proposals_for
from reflection_app.loops.protocol.reports import ProposalKind
from reflection_app.loops.protocol.stages import AntiPattern
from reflection_app.loops.verdicts import Issue
from tests.loops.reporting import AGENT, seed_report

LISTENER = AntiPattern(
    pattern_name="共识点识别不足",
    symptoms=("只收集讨论，不提炼共识", "缺少跨帖子的模式识别"),
    prevention="明确要求在每 5 个帖子后提炼一次共识点",
)


def test_a_capability_is_proposed_as_an_anti_pattern_in_the_words_of_the_seed() -> None:
    """The seed's second scenario: consensus points were missed again and again."""
    report = seed_report(type=ErrorClass.MODEL_CAPABILITY, anti_pattern=LISTENER, learning_notes="")
    (proposal,) = proposals_for(report, agent="community-listener")
    assert (proposal.kind, proposal.name) == (ProposalKind.ANTI_PATTERN, "共识点识别不足")
    assert (proposal.agent, proposal.category) == ("community-listener", "completeness")
    assert proposal.reflection_id == "ref_001"
    assert proposal.content == "Error type: 3.3.1"
    assert proposal.details == {
        "symptoms": ["只收集讨论，不提炼共识", "缺少跨帖子的模式识别"],
        "prevention": "明确要求在每 5 个帖子后提炼一次共识点",
    }


def test_without_a_named_pattern_the_note_is_a_lesson_and_nothing_is_named_after_an_issue() -> None:
    report = seed_report(type=ErrorClass.MODEL_CAPABILITY, anti_pattern=None)
    (proposal,) = proposals_for(report, agent=AGENT)
    assert (proposal.kind, proposal.content) == (ProposalKind.LESSON, report.learning_notes)


@pytest.mark.parametrize("note", ["", "N/A", "没有。"])
@pytest.mark.parametrize("name", [" ", "无"])
@pytest.mark.parametrize("type_", ErrorClass)
def test_where_nothing_was_learned_nothing_is_proposed(type_: ErrorClass, name: str, note: str) -> None:
    issue = Issue(description="Minimum requirement not met: calls[].name is there. Found: nothing.")
    report = seed_report(
        type=type_,
        anti_pattern=AntiPattern(pattern_name=name),
        surface_issue=issue.description,
        issues=(issue,),
        learning_notes=note,
    )
    assert proposals_for(report, agent=AGENT) == ()


def test_the_same_pattern_of_the_same_agent_has_the_same_source_in_whatever_report() -> None:
    first = seed_report(type=ErrorClass.MODEL_CAPABILITY, anti_pattern=AntiPattern(pattern_name="Stops too  early"))
    again = seed_report(
        type=ErrorClass.MODEL_CAPABILITY,
        reflection_id="ref_002",
        anti_pattern=AntiPattern(pattern_name="stops too early ", prevention="other words"),
    )
    sources = {proposals_for(report, agent=AGENT)[0].source for report in (first, again)}
    assert len(sources) == 1
    assert proposals_for(first, agent="somebody-else")[0].source not in sources


def test_symptoms_of_several_lines_are_one_line_each_and_empty_ones_are_left_out() -> None:
    pattern = AntiPattern(pattern_name="a", symptoms=("c\n\nd", " \n", "# max_steps <b>"))
    proposal = proposals_for(seed_report(type=ErrorClass.MODEL_CAPABILITY, anti_pattern=pattern), agent=AGENT)[0]
    assert proposal.details["symptoms"] == ["c d", "# max_steps <b>"]


def test_a_hint_of_a_normal_iteration_is_a_lesson() -> None:
    report = seed_report(type=ErrorClass.NORMAL_ITERATION, hint="先检查数量\n再写摘要")
    (proposal,) = proposals_for(report, agent=AGENT)
    assert (proposal.kind, proposal.name, proposal.content) == (
        ProposalKind.LESSON,
        "先检查数量",
        "先检查数量\n再写摘要",
    )


@pytest.mark.parametrize("type_", [one for one in ErrorClass if one is not ErrorClass.NORMAL_ITERATION])
def test_the_anti_pattern_and_the_learning_note_of_every_failure_are_proposed(type_: ErrorClass) -> None:
    report = seed_report(type=type_)
    pattern, note = proposals_for(report, agent=AGENT)
    assert (pattern.kind, pattern.name) == (ProposalKind.ANTI_PATTERN, "过早停止搜索")
    assert note.content == report.learning_notes
    assert {pattern.reflection_id, note.reflection_id} == {"ref_001"}
    assert len({pattern.source, note.source}) == 2
    if type_ is ErrorClass.PIPELINE_CRASH:
        assert (note.kind, note.name) == (ProposalKind.ERROR_NOTE, report.surface_issue)
        assert note.details == {"cause": report.root_cause, "suggestion": report.learning_notes}
    else:
        assert (note.kind, note.name) == (ProposalKind.LESSON, report.learning_notes)


def test_a_note_that_says_what_prevents_the_pattern_is_not_proposed_beside_it() -> None:
    report = seed_report(learning_notes=f" {LISTENER.prevention}\n", anti_pattern=LISTENER)
    (proposal,) = proposals_for(report, agent=AGENT)
    assert proposal.kind is ProposalKind.ANTI_PATTERN


def test_a_lesson_is_named_by_its_first_sentence() -> None:
    note = "Check `a.b` first. Then count the papers.\nAnd stop."
    proposal = proposals_for(seed_report(anti_pattern=None, learning_notes=note), agent=AGENT)[0]
    assert (proposal.name, proposal.content) == ("Check `a.b` first.", note)


def test_a_decision_error_calls_for_an_instruction() -> None:
    instruction = instruction_for(seed_report(instruction=" 至少收集 5 篇论文再停止。 "), agent=AGENT)
    assert instruction is not None
    assert (instruction.agent, instruction.text, instruction.reflection_id) == (
        AGENT,
        "至少收集 5 篇论文再停止。",
        "ref_001",
    )


def test_without_a_planned_instruction_the_prevention_is_one() -> None:
    instruction = instruction_for(seed_report(), agent=AGENT)
    assert instruction is not None
    assert instruction.text == "在搜索开始时设置明确的数量目标，并在过程中检查"


def test_what_code_wrote_for_want_of_an_answer_is_no_instruction() -> None:
    written = seed_report(anti_pattern=None, learning_notes="", remediation="Fill in calls[].name", is_fallback=True)
    assert instruction_for(written, agent=AGENT) is None


@pytest.mark.parametrize("type_", [type_ for type_ in ErrorClass if type_ is not ErrorClass.DECISION_ERROR])
def test_no_other_class_changes_the_system_prompt(type_: ErrorClass) -> None:
    assert instruction_for(seed_report(type=type_, instruction="Collect five."), agent=AGENT) is None
