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
        "error - no such user",
        "ValueError: invalid literal for int()",
        "requests.exceptions.HTTPError: 404 Client Error",
        'Traceback (most recent call last):\n  File "x.py", line 1\nKeyError: 1',
        "An error occurred while searching.",
        "Tool call failed after 30 s",
        "Failed to open file",
        "404 Not Found",
        "HTTP/1.1 503 Service Unavailable",
        "compiling…\nerror: expected `;`",
        "running\nexit code 2",
        "错误：余额不足",
        "调用失败，请稍后重试",
        "查询异常: 超时",
        "操作失败",
        '{"error": "no such order"}',
        '{"isError": true, "content": []}',
        '{"status": 404, "body": ""}',
        '{"status": "error"}',
        '{"success": false}',
        '{"exit_code": 1, "stdout": "", "stderr": "no such file"}',
        '{"returncode": 2}',
        '{"status": "fail", "message": "card declined", "data": {}}',
        "Permission denied",
        "cat: /etc/shadow: Permission denied",
        "curl: (7) Connection refused",
        "Rate limit exceeded.",
        "权限不足",
        "Fehler: Datei nicht gefunden",
        "Erreur : fichier introuvable",
        "エラー：ファイルがありません",
        "Unknown tool: search_paper",
        "Tool search_paper not found",
        "bash: rg: command not found",
        "make: done\nProcess exited with code 1",
        '{"exitCode": "1", "stdout": ""}',
        '{"exit_code": 1.0}',
        '{"exitStatus": 1}',
        '{"isError": "true"}',
        '{"success": "false", "message": "card declined"}',
        '{"statusCode": "500", "message": "out of stock"}',
        '{"errorMessage": "division by zero", "errorType": "ZeroDivisionError"}',
        '{"Error": "no such order"}',
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
        "No errors found.",
        "Error rates fell by 5 % this year.",
        "The report lists 3 errors: see below\nDone.",
        "没有错误。",
        "未发现异常。",
        "运行无错误",
        "失败是成功之母",
        '{"error": null, "result": 4}',
        '{"status": 200}',
        '{"exit_code": 0, "stderr": "warning: unused"}',
        '{"order": 7, "status": "failed"}',
        "timeout: 30",
        "Ask for permission before you delete. Access is denied to guests after 22:00.",
        "Fehler sind in Abschnitt 3 beschrieben: siehe dort.",
        "The rate limit of this API is 60 requests per minute.",
        '{"status": "confirmed", "log": {"error": "earlier"}}',
        '[{"error": "one of the rows"}]',
        '{"code": "SFO"}',
        '{"code": 1500}',
        '{"code": "450", "name": "Bordeaux"}',
        '{"error": "false", "rows": 3}',
        '{"errors": "0", "passed": "3"}',
        '{"exit_code": "0", "stderr": "warning: unused"}',
        "The function f is not defined in this module.",
        'How to fix "command not found"',
        '{"ok": true}',
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
