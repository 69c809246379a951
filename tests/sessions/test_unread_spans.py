"""What comes over OpenTelemetry and is told in no session: counted, kept, and shown with the reason."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.sessions import traces as sessions_traces
from reflection_app.sessions.models import AgentSpan, AgentTrace, Transcript
from reflection_app.sessions.otlp.reading import Unread, is_plain, unread_reasons
from reflection_app.sessions.otlp.wire import JSON, Span
from reflection_app.sessions.traces import assemble_due, forget_spans, take_spans
from tests.api.caller import Caller, make_caller
from tests.factories import make_project
from tests.pace import within
from tests.sessions.spans import TRACE_ID, agent, chat, span, text
from tests.web.stories import HOSTILE, logged_in

pytestmark = pytest.mark.django_db

USER, DONE = text("user", "取消我的行程。"), text("assistant", "It is cancelled.")


def later(**ago: float) -> datetime:
    return timezone.now() + timedelta(**ago)


def reasons(project: Project) -> dict[str, str]:
    rows = AgentSpan.objects.filter(trace__project=project)
    return {row.name: row.unread for row in rows}


def exported(*spans: Span) -> bytes:
    """As OTLP's JSON has them."""
    sent = [
        {
            "traceId": one.trace_id,
            "spanId": one.span_id,
            "parentSpanId": one.parent_id,
            "name": one.name,
            "startTimeUnixNano": str(one.start_ns),
            "endTimeUnixNano": str(one.end_ns),
            "attributes": [
                {"key": name, "value": {"stringValue": str(value)}} for name, value in one.attributes.items()
            ],
        }
        for one in spans
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": sent}]}]}).encode()


def send(caller: Caller, *spans: Span) -> Any:
    answer = caller.call("POST", "/v1/traces", data=exported(*spans), content_type=JSON)
    assert answer.status == 200
    return answer.body


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"openinference.span.kind": "LLM"}, None),
        ({"openinference.span.kind": "EMBEDDING"}, None),
        ({"openinference.span.kind": "ORACLE"}, Unread.UNKNOWN_KIND),
        ({"input.value": "Who am I?"}, Unread.UNKNOWN_KIND),
        ({"gen_ai.operation.name": "divine"}, Unread.UNKNOWN_KIND),
        ({"gen_ai.operation.name": "divine", "traceloop.span.kind": "tool"}, None),
        ({"gen_ai.agent.name": "booker"}, None),
        ({"ai.operationId": "ai.paint"}, Unread.UNKNOWN_KIND),
        ({"mlflow.spanType": '"AGENT"'}, None),
        ({"mlflow.spanType": '"SEANCE"'}, Unread.UNKNOWN_KIND),
        ({"langsmith.span.kind": "llm"}, None),
        ({"my_agent.step": "think"}, Unread.NO_CONVENTION),
        ({"my_agent.step": "think", "http.route": "/"}, Unread.NO_CONVENTION),
        ({"http.route": "/", "code.function.name": "f"}, None),
        ({}, None),
    ],
)
def test_a_span_is_not_understood_where_it_may_be_an_agents_and_says_nothing_known(
    attributes: dict[str, Any], reason: Unread | None
) -> None:
    assert unread_reasons([Span(trace_id=TRACE_ID, span_id="a" * 16, attributes=attributes)]) == [reason]


def test_a_span_is_plain_where_it_says_what_any_program_says() -> None:
    assert is_plain(span("GET /", http_route="/", user__agent_original="curl"))
    assert not is_plain(span("GET /", http_route="/", my__agent_step="think"))


def test_what_is_not_understood_is_counted_with_the_reason_kept_and_counted_again_when_it_is_sent_again(
    caller: Caller,
) -> None:
    root = agent("booker")
    strange = span("divine", 1, parent=root, gen__ai_operation_name="divine", gen__ai_prompt="Who am I?")
    own = span("think", 2, parent=root, my__agent_step="think")
    first = send(caller, root, chat(3, [USER], [DONE], parent=root), strange, own)
    assert first["partialSuccess"]["rejectedSpans"] == "2"
    message = first["partialSuccess"]["errorMessage"]
    assert "kept, not understood: the kind of span or of operation is not known" in message
    assert "no convention for agents that is read here" in message
    assert send(caller, strange, own)["partialSuccess"]["rejectedSpans"] == "2"
    assert reasons(caller.project) == {
        "invoke_agent booker": "",
        "chat gpt-x": "",
        "divine": "unknown_kind",
        "think": "no_convention",
    }
    assemble_due(later(minutes=2))
    assert Transcript.objects.get().turns_made == 2
    assert reasons(caller.project)["divine"] == "unknown_kind"


def test_what_tells_of_no_agent_is_kept_where_it_is_not_understood_and_is_deleted_after_a_while(caller: Caller) -> None:
    plain, own = span("GET /", http_route="/"), span("think", 1, my__agent_step="思考")
    answer = send(caller, plain, own)["partialSuccess"]
    assert answer["rejectedSpans"] == "2"
    assert "nothing in these traces tells of an agent" in answer["errorMessage"]
    assert reasons(caller.project) == {"think": "no_convention"}
    assert assemble_due(later(minutes=20)) == 0
    assert forget_spans(later(days=6)) == 0
    # Its agent's spans come after all: the trace is a session like any other.
    root = agent("booker", parent=plain)
    send(caller, root, chat(3, [USER], [DONE], parent=root))
    assert assemble_due(later(minutes=20)) == 1
    assert Transcript.objects.get().turns_made == 2
    other = replace(own, trace_id="c" * 32)
    send(caller, other)
    forget_spans(later(days=8))
    assert not AgentSpan.objects.exists()
    assert AgentTrace.objects.get().transcript is not None


def test_a_project_has_room_for_so_much_that_is_not_understood(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_traces, "MOST_STRANGE_SPANS", 2)
    many = [span(f"think {number}", number, my__agent_step="x") for number in range(3)]
    large = span("think much", 9, my__agent_step="x" * sessions_traces.LARGEST_STRANGE_SPAN)
    other = make_caller()
    message = send(caller, large, *many)["partialSuccess"]["errorMessage"]
    assert sessions_traces.NO_ROOM in message
    assert sessions_traces.STRANGE_AND_LARGE in message
    assert sorted(reasons(caller.project)) == ["think 0", "think 1"]
    send(other, span("think", my__agent_step="x"))
    assert reasons(other.project) == {"think": "no_convention"}
    # An agent's spans have room of their own.
    assert take_spans(caller.project, [agent("booker")]).new == 1


def test_a_trace_without_messages_is_kept_and_said_to_have_none_until_they_come() -> None:
    project = make_project()
    root = agent("quiet")
    silent = span("chat", 1, parent=root, gen__ai_operation_name="chat", gen__ai_request_model="m")
    take_spans(project, [root, silent])
    assert assemble_due(later(minutes=2)) == 1
    assert AgentTrace.objects.get().problem == sessions_traces.NO_CONTENT
    assert reasons(project) == {"invoke_agent quiet": "no_content", "chat": "no_content"}
    take_spans(project, [chat(3, [USER], [DONE], parent=root)])
    assert assemble_due(later(minutes=2)) == 1
    assert AgentTrace.objects.get().problem == ""
    assert set(reasons(project).values()) == {""}
    assert Transcript.objects.get().objective == "取消我的行程。"


def test_spans_that_are_late_or_of_a_trace_that_fails_or_is_too_large_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    late, large, broken = make_project(), make_project(), make_project()
    root = agent("booker")
    take_spans(late, [root, chat(1, [USER], [DONE], parent=root)])
    assemble_due(later(minutes=2))
    take_spans(late, [span("chat late", 5, parent=root, gen__ai_operation_name="chat")])
    assemble_due(later(minutes=2))
    assert reasons(late) == {"invoke_agent booker": "", "chat gpt-x": "", "chat late": "late"}

    monkeypatch.setattr(sessions_traces, "LARGEST_TRACE", 2_000)
    take_spans(large, [root, chat(1, [USER], [DONE], parent=root), chat(5, [text("user", "x" * 9_000)], [])])
    assemble_due(later(minutes=2))
    assert sorted(AgentSpan.objects.filter(trace__project=large).values_list("unread", flat=True)) == [
        "",
        "",
        "too_large",
    ]

    def refusing(*args: Any, **more: Any) -> Transcript:
        raise ValueError("not this one")

    monkeypatch.setattr(sessions_traces, "open_transcript", refusing)
    take_spans(broken, [root, chat(1, [USER], [DONE], parent=root)])
    assemble_due(later(minutes=2))
    assert set(reasons(broken).values()) == {"failed"}


def test_rest_lists_them_by_reason_trace_and_session_and_shows_one_with_all_that_it_holds(caller: Caller) -> None:
    root = agent("booker")
    take_spans(
        caller.project,
        [
            root,
            chat(1, [USER], [DONE], parent=root),
            span("think", 2, parent=root, my__agent_step="思考"),
            span("divine", 3, parent=root, gen__ai_operation_name="divine"),
        ],
    )
    assemble_due(later(minutes=2))
    take_spans(caller.project, [replace(span("elsewhere", 3, my__agent_step="x"), trace_id="c" * 32)])
    session = Transcript.objects.get()
    everything = caller.get("/api/v1/unread-spans").body["results"]
    assert [line["name"] for line in everything] == ["elsewhere", "divine", "think"]
    assert [line["transcript_id"] for line in everything] == [None, str(session.pk), str(session.pk)]
    assert "attributes" not in everything[0]
    for query, names in (
        ("reason=unknown_kind", ["divine"]),
        (f"trace_id={'c' * 32}", ["elsewhere"]),
        (f"transcript_id={session.pk}&limit=1", ["divine"]),
    ):
        page = caller.get(f"/api/v1/unread-spans?{query}").body
        assert [line["name"] for line in page["results"]] == names
    assert caller.get(page["next"]).body["results"][0]["name"] == "think"
    assert caller.get("/api/v1/unread-spans?reason=because").status == 400
    one = caller.get(f"/api/v1/unread-spans/{everything[2]['id']}").body
    assert (one["reason"], one["attributes"], one["service"]) == ("no_convention", {"my_agent.step": "思考"}, "shop")
    # One that a session tells of is none of them; another project's is none at all.
    told = AgentSpan.objects.get(name="chat gpt-x")
    assert caller.get(f"/api/v1/unread-spans/{told.pk}").status == 404
    stranger = make_caller()
    assert stranger.get("/api/v1/unread-spans").body["results"] == []
    assert stranger.get(f"/api/v1/unread-spans/{everything[0]['id']}").status == 404
    assert make_caller(scopes=["tasks:write"]).get("/api/v1/unread-spans").status == 403


@pytest.mark.django_db(transaction=True)
def test_pages_show_them_with_the_reason_from_the_sessions_and_to_no_stranger(client: Client) -> None:
    project, other = make_project("traced"), make_project("other")
    root = agent("booker")
    strange = span("think", 2, parent=root, my__agent_step=HOSTILE, my__agent_count=7)
    take_spans(project, [root, chat(1, [USER], [DONE], parent=root), strange])
    assemble_due(later(minutes=2))
    logged_in(client, project)
    session = Transcript.objects.get()
    assert "/p/traced/transcripts/spans/" in client.get("/p/traced/transcripts/").text
    assert (
        f"/p/traced/transcripts/spans/?session={session.pk}" in client.get(f"/p/traced/transcripts/{session.pk}/").text
    )
    row = AgentSpan.objects.get(name="think")
    address = f"/p/traced/transcripts/spans/{row.pk}/"
    for query in ("", f"?session={session.pk}", f"?trace={TRACE_ID}", "?reason=no_convention"):
        page = client.get(f"/p/traced/transcripts/spans/{query}").text
        assert address in page
        assert "no known convention" in page
    assert address not in client.get("/p/traced/transcripts/spans/?reason=late").text
    results = client.get("/p/traced/transcripts/spans/?reason=no_convention", headers={"HX-Request": "true"}).text
    assert address in results
    assert "<html" not in results
    assert address not in client.get("/p/traced/transcripts/spans/?session=nonsense&trace=no").text
    shown = client.get(address).text
    assert "my_agent.step" in shown
    assert HOSTILE not in shown
    assert client.get(f"/p/traced/transcripts/spans/{AgentSpan.objects.get(name='chat gpt-x').pk}/").status_code == 404
    assert client.get("/p/other/transcripts/spans/").status_code == 404
    logged_in(client, other)
    assert client.get(f"/p/other/transcripts/spans/{row.pk}/").status_code == 404
    assert "think" not in client.get("/p/other/transcripts/spans/").text
    assert "/transcripts/spans/" not in client.get("/p/other/transcripts/").text


def test_a_request_of_few_bytes_does_not_keep_the_desk_busy_with_reading() -> None:
    # A kind is stated by none of them, so that only what they hold can tell it.
    holding = "[" + '{"content": [{}]}, ' * 50_000 + "{}]"
    spans = [span(f"strange {number}", gen__ai_input_messages=holding) for number in range(10)]
    model = chat(1, [USER], [DONE])
    project = make_project()
    with within(paces=500):
        taken = take_spans(project, [*spans, model])
    assert sum(taken.rejected.values()) == len(spans)
    assert {name: reason for name, reason in reasons(project).items() if not reason} == {model.name: ""}
