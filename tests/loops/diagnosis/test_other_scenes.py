"""Scenes of failing tools that nobody had in mind when the seed's were built for, through the loop: other tools, nested
parameters, other languages."""

from typing import Any

import pytest

from reflection_app.loops.diagnosis.diagnoses import FailedCall, FixRecall
from reflection_app.loops.diagnosis.diagnosing import by_memory_or_rules
from reflection_app.loops.diagnosis.param_changes import carried_over, changes_between
from reflection_app.loops.tool_calls import ToolFailure, ToolSpec
from tests.loops.diagnosis.test_scenes_as_they_come import TEXT, WHOLE, run, tool
from tests.loops.tool_playing import calls_of, failed, worked

OBJECT = {"type": "object"}
LATE, REFUSED = ToolFailure.TIMED_OUT, ToolFailure.HTTP_STATUS


@pytest.mark.parametrize(
    ("spec", "params", "answer", "expected"),
    [
        (
            tool("run_sql", "Runs a read-only SQL query.", "sql", sql=TEXT, max_rows=WHOLE),
            {"sql": "select * from t", "max_rows": 5000},
            failed(error="ERROR: canceling statement due to statement timeout"),
            {"sql": "select * from t", "max_rows": 2500},
        ),
        (
            tool("query_table", "Reads rows.", "table", table=TEXT, options=OBJECT),
            {"table": "t", "options": {"limit": 5000}},
            failed(REFUSED, "limit must not exceed 1000", status=422),
            {"table": "t", "options": {"limit": 1000}},
        ),
        (
            tool("scrape", "Scrapes a page.", "page_url", page_url=TEXT, timeout_ms=WHOLE),
            {"page_url": "https://a.example/c", "timeout_ms": 5000},
            failed(error="net::ERR_TIMED_OUT: Navigation timeout of 5000 ms exceeded"),
            {"page_url": "https://a.example/c", "timeout_ms": 10000},
        ),
        (
            tool("list_events", "Lists events.", "calendar_id", calendar_id=TEXT, time_min=TEXT, maxResults=WHOLE),
            {"calendar_id": "me", "time_min": "2026-01-01", "maxResults": 250},
            failed(REFUSED, "504 Gateway Timeout", status=504),
            {"calendar_id": "me", "time_min": "2026-01-01", "maxResults": 125},
        ),
        (
            tool("search_events", "Searches events.", "q", q=TEXT),
            {"q": "standup | retro"},
            failed(error="Bad query: unexpected token '|'"),
            {"q": "standup OR retro"},
        ),
        (
            tool("search_files", "Finds files by their text.", "text_query", text_query=TEXT, path=TEXT),
            {"text_query": "report && 2024 (draft", "path": "/x"},
            failed(error="unbalanced parenthesis in query"),
            {"text_query": "report AND 2024 draft", "path": "/x"},
        ),
        (
            tool("搜索论文", "搜索学术论文。", "关键词", 关键词=TEXT, 数量=WHOLE),
            {"关键词": "大模型 推理 加速", "数量": 50},
            failed(error="请求超时"),
            {"关键词": "大模型 推理 加速", "数量": 25},
        ),
        (
            tool("find_docs", "Finds documents.", "search", search=OBJECT),
            {"search": {"text": "neural scaling laws", "filters": {"year": [2020, 2021]}}},
            failed(error="request timed out"),
            {"search": {"text": "neural scaling", "filters": {"year": [2020, 2021]}}},
        ),
        (
            tool("buecher_suchen", "Sucht Bücher nach Stichwort.", "suchbegriff", suchbegriff=TEXT),
            {"suchbegriff": "Brot oder (Kuchen"},
            failed(REFUSED, "Ungültige Suchanfrage: Klammer nicht geschlossen", status=400),
            {"suchbegriff": "Brot OR Kuchen"},
        ),
        (
            tool("buscar_noticias", "Busca noticias.", "q", q=TEXT, limite=WHOLE),
            {"q": "cambio climático europa", "limite": 40},
            failed(LATE, "Tiempo de espera agotado"),
            {"q": "cambio climático europa", "limite": 20},
        ),
        (
            tool("pubmed_search", "Search literature. AND/OR/NOT in capitals.", "term", term=TEXT, retmax=WHOLE),
            {"term": 'crispr or "base editing', "retmax": 100},
            failed(error="Malformed query: unmatched quotation mark"),
            {"term": "crispr OR base editing", "retmax": 100},
        ),
        (
            tool("search_news", "搜索新闻", "query", query=TEXT, category=TEXT, date_from=TEXT),
            {"query": "量子计算 芯片", "category": "科技", "date_from": "2026-01-01"},
            failed(error="未找到相关结果"),
            {"query": "量子计算 芯片", "category": "科技"},
        ),
        (
            tool("graphql", "Reads a graph.", "body", body=OBJECT),
            {"body": {"vars": {"first": 500}}},
            failed(REFUSED, "first must be at most 100", status=422),
            {"body": {"vars": {"first": 100}}},
        ),
        (
            tool("文書検索", "文書を検索します。", "検索語", 検索語=TEXT, 件数=WHOLE),
            {"検索語": "猫 | (犬", "件数": 10},
            failed(REFUSED, "検索式の構文エラー", status=400),
            {"検索語": "猫 OR 犬", "件数": 10},
        ),
    ],
    ids=lambda value: value.name if isinstance(value, ToolSpec) else None,
)
def test_the_second_call_is_the_mended_one(
    spec: ToolSpec, params: dict[str, Any], answer: Any, expected: dict[str, Any]
) -> None:
    assert [call.arguments for call in calls_of(run(spec, params, [answer, worked()]))] == [params, expected]


def test_a_mail_whose_fate_is_unknown_is_not_written_otherwise() -> None:
    spec = tool("send_email", "Sends mail.", "to", to=TEXT, subject=TEXT)
    call = FailedCall(tool=spec.name, params={"to": "a@b.c", "subject": "hello there"}, error="Timeout after 30s")
    found = by_memory_or_rules(call.model_copy(update={"tools": (spec,)}), None)
    assert found is not None
    assert found.action.modified_params is None
    assert "carried out" in found.action.alternative


WEATHER = tool("get_weather", "Current weather in a city.", "city", city=TEXT)
QUOTE = tool("get_quote", "Latest price of a stock.", "symbol", symbol=TEXT)
KNOWLEDGE = tool("get_document", "Fetches a document from the knowledge base.", "doc_id", doc_id=TEXT)
REAL_TIME = tool("查询天气", "查询城市的实时天气。", "城市", 城市=TEXT)
WIKI = tool("wiki_page", "Returns the text of an article.", "title", title=TEXT)
LIRE = tool("lire_fichier", "Lit un fichier.", "chemin", chemin=TEXT)


@pytest.mark.parametrize(
    ("call", "named", "others"),
    [
        (
            (WEATHER, {"city": "Pariss"}, "city not found", None),
            "Use get_forecast instead (city as location).",
            (
                tool("get_forecast", "Weather forecast for a location.", "location", location=TEXT),
                tool("set_alarm", "Sets a weather alarm for a city.", "city", city=TEXT),
            ),
        ),
        (
            (REAL_TIME, {"城市": "北京"}, "服务超时，请稍后重试", None),
            "Use 天气预报查询 instead (城市 as 地点).",
            (
                tool("天气预报查询", "查询地点未来几天的天气预报。", "地点", 地点=TEXT),
                tool("发送天气短信", "向用户发送城市天气短信。", "城市", 城市=TEXT),
            ),
        ),
        (
            (KNOWLEDGE, {"doc_id": "kb-77"}, "Document kb-77 does not exist", None),
            "Use search_documents instead (doc_id as query).",
            (
                tool("search_documents", "Searches documents of the knowledge base.", "query", query=TEXT),
                tool("delete_document", "Deletes a document from the knowledge base.", "doc_id", doc_id=TEXT),
            ),
        ),
        (
            (QUOTE, {"symbol": "SAP"}, "503 Service Unavailable", 503),
            "Use fetch_stock_price instead (symbol as ticker).",
            (
                tool("fetch_stock_price", "Price of a stock by its ticker.", "ticker", ticker=TEXT),
                tool("place_order", "Buys a stock.", "symbol", symbol=TEXT),
            ),
        ),
        (
            (WIKI, {"title": "Relfexion"}, "Page not found", None),
            "Use wiki_search instead (title as query).",
            (
                tool("wiki_search", "Searches articles by words.", "query", query=TEXT, limit=WHOLE),
                tool("wiki_edit", "Edits an article.", "title", title=TEXT),
            ),
        ),
        (
            (LIRE, {"chemin": "notes.txt"}, "Fichier introuvable : notes.txt", 404),
            "Use rechercher_fichiers instead (chemin as requete).",
            (tool("rechercher_fichiers", "Recherche des fichiers par nom.", "requete", requete=TEXT),),
        ),
    ],
    ids=["weather", "天气", "document", "stock", "wiki", "fichier"],
)
def test_the_tool_that_serves_alike_is_named_and_no_other(
    call: tuple[ToolSpec, dict[str, Any], str, int | None], named: str, others: tuple[ToolSpec, ...]
) -> None:
    """With likenesses as the wheel's vectors give them for the first tool; no other may even be compared."""
    spec, params, error, status = call
    failure = FailedCall(tool=spec.name, params=params, error=error, status=status, tools=(spec, *others))
    found = by_memory_or_rules(failure, None, FixRecall(likeness={tool.name: 0.6 for tool in others}))
    assert found is not None
    assert found.action.alternative.startswith(named)


@pytest.mark.parametrize(
    ("called", "was", "worked", "new", "expected"),
    [
        ("run_sql", {"sql": "SELECT * FROM t;"}, {"sql": "SELECT * FROM t"}, {"sql": "SELECT 1;"}, {"sql": "SELECT 1"}),
        ("fetch_page", {"url": "a.org/b"}, {"url": "https://a.org/b"}, {"url": "c.com"}, {"url": "https://c.com"}),
        ("create_event", {"at": "tomorrow 10am"}, {"at": "2026-05-01T10:00:00"}, {"at": "friday 9am"}, None),
        (
            "create_event",
            {"at": "2026-05-01"},
            {"at": {"date": "2026-05-01"}},
            {"at": "2026-06-02"},
            {"at": {"date": "2026-06-02"}},
        ),
        (
            "get_weather",
            {"of": "Rome", "units": "celsius"},
            {"of": "Rome", "units": "metric"},
            {"of": "Oslo", "units": "celsius"},
            {"of": "Oslo", "units": "metric"},
        ),
        (
            "read_file",
            {"path": "C:\\d\\a.csv"},
            {"path": "C:/d/a.csv"},
            {"path": "D:\\x\\y\\b.csv"},
            {"path": "D:/x/y/b.csv"},
        ),
        (
            "search_issues",
            {"by": {"state": "open,closed"}},
            {"by": {"state": ["open", "closed"]}},
            {"by": {"state": "a,b,c"}},
            {"by": {"state": ["a", "b", "c"]}},
        ),
        ("查询航班", {"日期": "2026/05/01"}, {"日期": "2026-05-01"}, {"日期": "2026/12/31"}, {"日期": "2026-12-31"}),
        (
            "get_weather",
            {"lat": "41,9", "lon": "12,5"},
            {"lat": "41.9", "lon": "12.5"},
            {"lat": "52,5", "lon": "13,4"},
            {"lat": "52.5", "lon": "13.4"},
        ),
        ("send_sms", {"phone": "0171 234"}, {"phone": "+49171234"}, {"phone": "0160 99"}, None),
        ("list_rows", {"fields": "id name"}, {"fields": "id,name"}, {"fields": "a b c"}, {"fields": "a,b,c"}),
        ("find_slots", {"long": "90 min"}, {"long": 90}, {"long": "45 min"}, {"long": 45}),
        ("find_slots", {"long": "90 min"}, {"long": 90}, {"long": "2 h"}, None),
        ("get_issues", {"ids": ["#1", "#2"]}, {"ids": [1, 2]}, {"ids": ["#7"]}, {"ids": [7]}),
        (
            "list_rows",
            {"input": {"table": "t", "limit": 5}},
            {"table": "t", "limit": 5},
            {"input": {"table": "u", "limit": 9}},
            {"table": "u", "limit": 9},
        ),
        ("flights", {"adults": 12}, {"adults": 9}, {"adults": 11}, {"adults": 9}),
        ("search_mail", {"q": "'a plan'"}, {"q": '"a plan"'}, {"q": "'to do'"}, {"q": '"to do"'}),
        ("search_jobs", {"query": "go, rust"}, {"query": "go OR rust"}, {"query": "a, b, c"}, {"query": "a OR b OR c"}),
        ("search_web", {"query": "cat dog"}, {"query": "cat+dog"}, {"query": "red fox den"}, {"query": "red+fox+den"}),
        ("search_web", {"query": "(a OR b"}, {"query": "(a OR b)"}, {"query": "(c OR [d"}, {"query": "(c OR [d])"}),
        ("export_rows", {"by": ["a", "b"]}, {"by": "a,b"}, {"by": ["x", "y", "z"]}, {"by": "x,y,z"}),
        ("set_status", {"to": "DONE", "n": 4}, {"to": "done", "n": 4}, {"to": "OPEN", "n": 9}, {"to": "open", "n": 9}),
        ("call_llm", {"in": "hi"}, {"in": "hi", "api_version": "2"}, {"in": "yo"}, {"in": "yo", "api_version": "2"}),
        ("wait_job", {"timeout": 5}, {"timeout": 5000}, {"timeout": 8}, None),
        ("search_web", {"q": " cats "}, {"q": "cats"}, {"q": "  dogs"}, {"q": "dogs"}),
        ("list_users", {"active": "yes"}, {"active": True}, {"active": "no"}, {"active": False}),
        ("run_flow", {"of": '{"a": 1}'}, {"of": {"a": 1}}, {"of": '{"b": [2]}'}, {"of": {"b": [2]}}),
        ("run_flow", {"of": {"a": 1}}, {"of": '{"a": 1}'}, {"of": {"b": 2}}, {"of": '{"b": 2}'}),
        ("get_profile", {"user": "@ann"}, {"user": "ann"}, {"user": "@bob"}, {"user": "bob"}),
        ("book_room", {"on": "24.5.2026"}, {"on": "2026-05-24"}, {"on": "1.12.2026"}, {"on": "2026-12-01"}),
        ("make_contact", {"name": "Ann Lee"}, {"first": "Ann", "last": "Lee"}, {"name": "Bob Ray"}, None),
        ("get_repo", {"of": "https://git.org/a/b"}, {"of": "a/b"}, {"of": "https://git.org/c/d"}, {"of": "c/d"}),
        ("pay_invoice", {"amount": "$10"}, {"amount": 10}, {"amount": "$25"}, {"amount": 25}),
        ("list_rows", {"sort": "name desc"}, {"sort": "-name"}, {"sort": "age desc"}, None),
        (
            "search_papers",
            {"q": "a | b", "max": 900, "lang": "en"},
            {"query": "a OR b", "max": 200},
            {"q": "c | d", "max": 700, "lang": "de"},
            {"query": "c OR d", "max": 200},
        ),
    ],
)
def test_a_fix_of_one_call_puts_the_next_right(
    called: str, was: dict[str, Any], worked: dict[str, Any], new: dict[str, Any], expected: dict[str, Any] | None
) -> None:
    call = FailedCall(tool=called, params=new, error="Bad request")
    assert carried_over(changes_between(was, worked), call) == expected
