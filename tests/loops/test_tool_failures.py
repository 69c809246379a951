import json
from pathlib import Path
from typing import Any

import pytest

from reflection_app.loops.tool_failures import is_tool_failure

SESSIONS = Path(__file__).parents[3] / "shared" / "data" / "tau_bench" / "airline_gpt4o.jsonl"


def tool(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, **more}


@pytest.mark.parametrize(
    "content",
    [
        "Error: payment method not found",
        "ValueError: invalid literal for int()",
        "requests.exceptions.HTTPError: 404 Client Error",
        'Traceback (most recent call last):\n  File "x.py", line 1\nKeyError: 1',
        "An error occurred while searching.",
        "404 Not Found",
        "compiling…\nerror: expected `;`",
        "running\nexit code 2",
        "错误：余额不足",
        "调用失败，请稍后重试",
        '{"error": "no such order"}',
        '{"isError": true, "content": []}',
        '{"status": 404, "body": ""}',
        '{"status": "error"}',
        '{"success": false}',
        '{"exit_code": 1, "stdout": "", "stderr": "no such file"}',
        '{"status": "fail", "message": "card declined", "data": {}}',
        "Permission denied",
        "curl: (7) Connection refused",
        "Rate limit exceeded.",
        "权限不足",
        "Fehler: Datei nicht gefunden",
        "エラー：ファイルがありません",
        "Unknown tool: search_paper",
        "bash: rg: command not found",
        "make: done\nProcess exited with code 1",
        '{"exitCode": "1", "stdout": ""}',
        '{"isError": "true"}',
        '{"success": "false", "message": "card declined"}',
        '{"statusCode": "500", "message": "out of stock"}',
        '{"errorMessage": "division by zero", "errorType": "ZeroDivisionError"}',
        [{"type": "text", "text": "Error: timeout"}],
    ],
)
def test_a_tools_failure_is_told(content: Any) -> None:
    assert is_tool_failure(tool(content))


@pytest.mark.parametrize(
    "content",
    [
        "",
        None,
        "Error rates fell by 5 % this year.",
        "The report lists 3 errors: see below\nDone.",
        "未发现异常。",
        "失败是成功之母",
        '{"error": null, "result": 4}',
        '{"status": 200}',
        '{"exit_code": 0, "stderr": "warning: unused"}',
        '{"order": 7, "status": "failed"}',
        "Ask for permission before you delete. Access is denied to guests after 22:00.",
        "The rate limit of this API is 60 requests per minute.",
        '{"status": "confirmed", "log": {"error": "earlier"}}',
        '[{"error": "one of the rows"}]',
        '{"code": "450", "name": "Bordeaux"}',
        '{"error": "false", "rows": 3}',
        '{"errors": "0", "passed": "3"}',
        '{"exit_code": "0", "stderr": "warning: unused"}',
        "The function f is not defined in this module.",
        'How to fix "command not found"',
        "{broken",
        "[" * 100_000,
    ],
)
def test_what_only_speaks_of_errors_is_no_failure(content: Any) -> None:
    assert not is_tool_failure(tool(content))


def test_the_senders_own_mark_outweighs_all_signs() -> None:
    assert is_tool_failure(tool("fine", is_error=True))
    assert not is_tool_failure(tool("Error: none of these", is_error=False))
    assert is_tool_failure(tool("fine", isError=True))


@pytest.mark.parametrize("role", ["user", "assistant", "system", "developer", None])
def test_only_tools_fail(role: str | None) -> None:
    assert not is_tool_failure({"role": role, "content": "Error: x", "is_error": True})


def test_recorded_sessions_have_as_many_failures_as_were_counted() -> None:
    if not SESSIONS.exists():
        pytest.skip(f"there are no recorded sessions at {SESSIONS}")
    sessions = [json.loads(line) for line in SESSIONS.read_text().splitlines()]
    counted = [session["tool_errors"] for session in sessions]
    assert [sum(map(is_tool_failure, session["messages"])) for session in sessions] == counted
    assert (len(sessions), sum(counted)) == (25, 34)
