import pytest

from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.reporting import instruction_for, proposals_for
from reflection_app.loops.protocol.reports import Proposal, ProposalKind
from reflection_app.loops.protocol.stages import AntiPattern
from tests.loops.reporting import AGENT, ISSUE, seed_report

LISTENER = AntiPattern(
    pattern_name="共识点识别不足",
    symptoms=("只收集讨论，不提炼共识", "缺少跨帖子的模式识别"),
    prevention="明确要求在每 5 个帖子后提炼一次共识点",
)


def test_a_capability_is_proposed_as_an_anti_pattern_in_the_words_of_the_seed() -> None:
    """The seed's second scenario: consensus points were missed again and again."""
    report = seed_report(type=ErrorClass.MODEL_CAPABILITY, anti_pattern=LISTENER)
    (proposal,) = proposals_for(report, agent="community-listener")
    assert (proposal.kind, proposal.name) == (ProposalKind.ANTI_PATTERN, "共识点识别不足")
    assert (proposal.agent, proposal.category) == ("community-listener", "completeness")
    assert proposal.reflection_id == "ref_001"
    assert proposal.content == "Error type: 3.3.1"
    assert proposal.details == {
        "symptoms": ["只收集讨论，不提炼共识", "缺少跨帖子的模式识别"],
        "prevention": "明确要求在每 5 个帖子后提炼一次共识点",
    }


def test_without_a_named_pattern_the_report_itself_says_what_it_is() -> None:
    report = seed_report(type=ErrorClass.MODEL_CAPABILITY, anti_pattern=None)
    (proposal,) = proposals_for(report, agent=AGENT)
    assert proposal.name == "仅收集了 3 篇论文"
    assert proposal.details == {"symptoms": [ISSUE.description], "prevention": report.learning_notes}


def test_a_report_that_says_nothing_still_makes_a_proposal_that_can_be_kept() -> None:
    report = seed_report(
        type=ErrorClass.MODEL_CAPABILITY,
        anti_pattern=AntiPattern(pattern_name=" "),
        surface_issue="",
        description="",
        issues=(),
        occurrence_process=(),
        learning_notes="",
        remediation="",
    )
    (proposal,) = proposals_for(report, agent="")
    assert proposal.name == "A mistake made again"
    assert proposal.details == {"symptoms": [], "prevention": ""}


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
    (proposal,) = proposals_for(seed_report(type=ErrorClass.MODEL_CAPABILITY, anti_pattern=pattern), agent=AGENT)
    assert proposal.details["symptoms"] == ["c d", "# max_steps <b>"]


def test_a_proposal_that_was_recorded_without_details_has_none() -> None:
    (proposal,) = proposals_for(seed_report(type=ErrorClass.MODEL_CAPABILITY), agent=AGENT)
    recorded = proposal.model_dump(mode="json", exclude={"details"})
    assert Proposal.model_validate(recorded) == proposal.model_copy(update={"details": {}})


def test_a_long_name_is_cut_to_what_an_entry_holds() -> None:
    pattern = AntiPattern(pattern_name="长" * 500)
    (proposal,) = proposals_for(seed_report(type=ErrorClass.MODEL_CAPABILITY, anti_pattern=pattern), agent=AGENT)
    assert len(proposal.name) == 200


def test_a_hint_of_a_normal_iteration_is_a_lesson() -> None:
    report = seed_report(type=ErrorClass.NORMAL_ITERATION, hint="先检查数量\n再写摘要")
    (proposal,) = proposals_for(report, agent=AGENT)
    assert (proposal.kind, proposal.name, proposal.content) == (
        ProposalKind.LESSON,
        "先检查数量",
        "先检查数量\n再写摘要",
    )


def test_a_normal_iteration_without_a_hint_leaves_nothing_behind() -> None:
    assert proposals_for(seed_report(type=ErrorClass.NORMAL_ITERATION), agent=AGENT) == ()


@pytest.mark.parametrize("type_", [ErrorClass.DECISION_ERROR, ErrorClass.PIPELINE_CRASH, ErrorClass.MISSING_KNOWLEDGE])
def test_the_other_classes_propose_nothing_to_the_notebook_here(type_: ErrorClass) -> None:
    assert proposals_for(seed_report(type=type_, hint="a hint"), agent=AGENT) == ()


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


@pytest.mark.parametrize("agent", ["", "  "])
def test_without_an_agent_there_is_no_system_prompt_to_add_to(agent: str) -> None:
    assert instruction_for(seed_report(instruction="Collect five."), agent=agent) is None


def test_where_nothing_is_said_there_is_no_instruction() -> None:
    empty = seed_report(anti_pattern=None, learning_notes=" ", remediation="")
    assert instruction_for(empty, agent=AGENT) is None


@pytest.mark.parametrize("type_", [type_ for type_ in ErrorClass if type_ is not ErrorClass.DECISION_ERROR])
def test_no_other_class_changes_the_system_prompt(type_: ErrorClass) -> None:
    assert instruction_for(seed_report(type=type_, instruction="Collect five."), agent=AGENT) is None
