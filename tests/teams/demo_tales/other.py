"""What comes otherwise than as a text to be judged: work by minimum requirements, sessions, failed calls, checks."""

import json
from typing import Any

from tests.teams.demo_tales.tale import Fault, Tale


def _said(**fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _rows(*names: str, key: int = 0) -> str:
    return _said(
        rivals=[
            {"name": name, "price_eur": price, "source": f"{name.lower().replace(' ', '')}.example/pricing"}
            for name, price in zip(names, (49, 79, 39, 99, 59, 69), strict=False)
        ]
    )


# Work with minimum requirements: what falls short is reflected on, and a report and an instruction come of it.

PROTOCOL = (
    Tale(
        name="rival-prices",
        agent="market-researcher",
        kind="research",
        objective="List the monthly price of at least five rivals of our help desk “Tally”, each with the page it "
        "is from. Answer as "
        "JSON: rivals[] with name, price_eur and source.",
        good=_rows("Deskly", "Answerbird", "Frontrow", "Casewise", "Replyhub"),
        flawed=_rows("Deskly", "Answerbird", "Frontrow"),
        faults=(Fault("Only three rivals were collected; five were asked for.", "Search app directories as well."),),
        praise="Five rivals, each with the page its price is from.",
        task={
            "requirements": {
                "required_fields": ["rivals[].name", "rivals[].price_eur", "rivals[].source"],
                "counts": [{"path": "rivals", "min": 5, "name": "rivals"}],
            }
        },
        answers={
            "reflect": _said(
                expected="At least five rivals with price and source",
                actual="Three rivals, all from the first page of one search",
                gap="Two rivals are missing",
                questions=[
                    "Are there directories of such products?",
                    "Which rivals do customers name when they leave?",
                ],
                surface_issue="Only three rivals were collected",
                occurrence_process=["1. One search, first page", "2. Three results had a price", "3. Stopped there"],
                root_cause="The number asked for was not kept in view as the condition to stop",
            ),
            "plan": _said(
                repair_steps=[
                    {
                        "action": "Search app directories and the reasons customers gave for leaving",
                        "kind": "model",
                        "tool": "",
                        "expected_outcome": "at least two more rivals with prices",
                        "is_checkpoint": True,
                    }
                ],
                resources_needed=["app directories"],
                estimated_effort="low",
                remediation="Write the number down first and stop only once it is reached",
                learning_notes="A count in the task is a condition to stop",
                anti_pattern={
                    "pattern_name": "Stopping at the first page",
                    "symptoms": ["all sources come from one search", "the count is just over half"],
                    "prevention": "Compare with the minimum requirements before answering",
                },
                instruction="Before you answer, count what you collected against the number asked for, and go on "
                "until it is reached.",
                hint="",
            ),
            "repair": _rows("Deskly", "Answerbird", "Frontrow", "Casewise", "Replyhub"),
        },
        vary={
            "Tally": ("Ledgerline", "Parcelo", "Roomkey"),
            "help desk": ("invoicing tool", "shipping tool", "booking tool"),
        },
    ),
    Tale(
        name="test-plan",
        agent="qa-planner",
        kind="planning",
        objective="Write the test plan for “change e-mail address” as JSON: cases[] with title, steps and expected; "
        "at least six cases, "
        "at least two of them about misuse (misuse: true).",
        good=_said(
            cases=[
                {"title": title, "steps": steps, "expected": expected, "misuse": misuse}
                for title, steps, expected, misuse in (
                    ("New address is confirmed", "change, open the link", "logs in with the new one", False),
                    ("Link is opened late", "open after 25 h", "refused, the old one stays", False),
                    ("Link is opened twice", "open again", "says it is done already", False),
                    ("Address of somebody else", "enter a taken one", "same answer as for a free one", True),
                    ("Link of another session", "open logged out", "asks to log in first", True),
                    ("Old address is told", "change", "a letter goes to the old one", False),
                )
            ]
        ),
        flawed=_said(
            cases=[
                {"title": "It works", "steps": "change it", "expected": "it is changed", "misuse": False},
                {"title": "Wrong address", "steps": "enter nonsense", "expected": "an error", "misuse": False},
                {"title": "Empty address", "steps": "enter nothing", "expected": "an error", "misuse": False},
            ]
        ),
        faults=(
            Fault("No case is about misuse, and there are three of six.", "Think as somebody who wants the account."),
        ),
        praise="Two ways of taking over an account are tested.",
        task={
            "requirements": {
                "required_fields": ["cases[].title", "cases[].expected"],
                "counts": [
                    {"path": "cases", "min": 6, "name": "cases"},
                    {"path": "cases", "where": {"misuse": True}, "min": 2, "name": "cases of misuse"},
                ],
            }
        },
        answers={
            "reflect": _said(
                expected="Six cases, two of them about misuse",
                actual="Three cases that an ordinary user meets",
                gap="Three cases, and everything an attacker would try",
                questions=["Who else could open the link?", "What does the old address learn?"],
                surface_issue="Nothing about misuse",
                occurrence_process=["1. Wrote what the form does", "2. Did not ask who else could use it"],
                root_cause="The plan was written from the form and not from what could go wrong",
            ),
            "plan": _said(
                repair_steps=[
                    {
                        "action": "Add cases for links that are late, doubled, or another person's",
                        "kind": "model",
                        "tool": "",
                        "expected_outcome": "six cases, two about misuse",
                        "is_checkpoint": True,
                    }
                ],
                resources_needed=[],
                estimated_effort="low",
                remediation="Begin with who could gain from it",
                learning_notes="Misuse first, then the form",
                anti_pattern={
                    "pattern_name": "Testing only what the form is for",
                    "symptoms": ["every case begins with a willing user"],
                    "prevention": "Write the cases of misuse first",
                },
                instruction="Write the cases of misuse first: who could gain, and by which step.",
                hint="",
            ),
        },
        vary={"change e-mail address": ("reset the password", "invite a colleague", "delete the account")},
    ),
)

# An outside agent's work, sent back with a ticket: these stay open, or are taken up, or closed.

TICKETS = (
    Tale(
        name="agent-dependency-review",
        agent="upgrade-agent",
        kind="review",
        objective="Review the upgrade of the HTTP client from 0.27 to 1.0: which of our calls break, and where?",
        good="",
        flawed="The upgrade looks safe. The changelog mentions some renamed parameters.",
        faults=(
            Fault("It names no call of ours that breaks.", "Search for `proxies=` and `data=` and list file and line."),
            Fault(
                "The changelog's list of removals is not gone through.",
                "Go through all eleven removals.",
                severity="medium",
            ),
        ),
    ),
    Tale(
        name="agent-onboarding-mail",
        agent="lifecycle-agent",
        kind="creative_writing",
        objective="Draft the three onboarding mails for new workshops: day 0, day 3 and day 10, each with one thing "
        "to do.",
        good="",
        flawed="Mail 1: Welcome! Mail 2: Tips and tricks. Mail 3: Upgrade now!",
        faults=(Fault("None of the mails has a thing to do.", "Name one action a mail, with its link."),),
    ),
    Tale(
        name="agent-incident-timeline",
        agent="ops-agent",
        kind="research",
        objective="Reconstruct the timeline of last night's queue outage from the logs, with sources for each line.",
        good="",
        flawed="02:10 queue slow. 02:30 queue down. 03:05 restart. 03:10 all well.",
        faults=(
            Fault("No line has a source.", "Quote the log line for each time."),
            Fault("What happened between 02:30 and 03:05 is missing.", "Look at the broker's log, too."),
        ),
    ),
    Tale(
        name="agent-price-check",
        agent="catalogue-agent",
        kind="research",
        objective="Check the prices of the 40 best-selling articles against the supplier's list of this week.",
        good="",
        flawed="38 of 40 prices agree.",
        faults=(Fault("Which two do not agree is missing.", "List article, our price and theirs."),),
    ),
)


# Sessions of outside agents, and what those who look back find in them.


def _call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        ],
    }


def _result(name: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_{name}", "name": name, "content": text}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


SESSIONS: tuple[dict[str, Any], ...] = (
    {
        "name": "booking-change",
        "agent": "airline-agent",
        "objective": "Help Kerstin Holm move her flight to Saturday.",
        "messages": [
            _user("Hello, I have to move my flight to Saturday. Booking KX41QP."),
            _call("find_booking", code="KX41QP"),
            _result(
                "find_booking", '{"passenger": "Kerstin Holm", "flight": "SK 1473", "day": "Friday", "fare": "light"}'
            ),
            _agent("I found it: SK 1473 on Friday. I will move it to Saturday."),
            _call("change_flight", code="KX41QP", day="Saturday"),
            _result("change_flight", "Error: fare light cannot be changed; offer an upgrade first"),
            _call("change_flight", code="KX41QP", day="Saturday"),
            _result("change_flight", "Error: fare light cannot be changed; offer an upgrade first"),
            _agent("I am sorry, the system does not let me change it."),
            _user("Could I pay for it?"),
            _call("offer_upgrade", code="KX41QP"),
            _result("offer_upgrade", '{"fare": "flex", "price_eur": 42}'),
            _agent("Yes: for €42 your fare becomes flex and I can move the flight. Shall I?"),
            _user("Yes please."),
            _agent("Done: SK 1473 on Saturday, fare flex. The confirmation is on its way."),
        ],
        "errors": {
            "score": 58,
            "findings": [
                {
                    "category": "tool_misuse",
                    "description": "The same call was made twice although its error said what to do first.",
                    "cause": "The error's advice (offer an upgrade first) was not read.",
                    "suggestion": "Read what an error asks for before calling again.",
                }
            ],
        },
        "memories": [
            {
                "type": "rule",
                "name": "Fare light needs an upgrade before a change",
                "description": "Bookings of fare light cannot be moved; the upgrade has to be offered first.",
                "content": "Offer the upgrade with its price before calling change_flight.",
            }
        ],
        "vary": {
            "Kerstin Holm": ("Paul Renner", "Amina Yusuf", "Jonas Weil", "Clara Duarte"),
            "KX41QP": ("RM77TD", "PL09VZ", "QW52HN", "ZB31KC"),
            "SK 1473": ("LH 843", "AY 952", "KL 1107"),
            "Saturday": ("Sunday", "Monday"),
        },
    },
    {
        "name": "code-search",
        "agent": "coding-agent",
        "objective": "Find out why the export is empty for accounts without a department, and mend it.",
        "messages": [
            _user("The export is empty for accounts without a department. Find out why and mend it."),
            _call("grep_search", pattern="department"),
            _result("grep_search", "1,284 matches in 311 files (cut off)"),
            _call("grep_search", pattern="department"),
            _result("grep_search", "1,284 matches in 311 files (cut off)"),
            _call("grep_search", pattern="department", path_glob="export/*.py"),
            _result("grep_search", "export/query.py:41:    rows = rows.filter(department__active=True)"),
            _agent(
                "The filter joins the department, so rows without one fall away. I use a Q object that lets null "
                "through."
            ),
            _call("run_tests", path="tests/export"),
            _result("run_tests", "14 passed"),
            _agent("Mended in export/query.py; 14 tests pass, one of them new."),
        ],
        "errors": {
            "score": 74,
            "findings": [
                {
                    "category": "missed_optimization",
                    "description": "Code was searched in all files twice before a glob was given.",
                    "cause": "It was not remembered that grep_search takes path_glob.",
                    "suggestion": "Give path_glob at the first search.",
                }
            ],
        },
        "memories": [
            {
                "type": "project",
                "name": "Filters over a join drop rows without a partner",
                "description": "department__active=True removed accounts that have no department.",
                "content": "Let null through with Q(department=None) where the partner is optional.",
            }
        ],
        "vary": {
            "department": ("branch", "team lead", "price group"),
            "1,284": ("932", "2,117", "644"),
            "14 ": ("22 ", "31 ", "9 "),
        },
    },
    {
        "name": "trip-zh",
        "agent": "旅行助手",
        "objective": "帮用户订一家杭州的酒店，两晚，预算 900 元以内。",
        "messages": [
            _user("帮我订杭州的酒店，周五入住两晚，预算 900 元以内，要安静。"),
            _call("search_hotels", city="杭州", nights=2),
            _result("search_hotels", '[{"name": "湖滨店", "price": 520}, {"name": "西溪店", "price": 430}]'),
            _agent("西溪店每晚 430 元，两晚 860 元，在预算内。要订吗？"),
            _user("安静吗？"),
            _agent("评价里有 18 条提到安静，2 条提到施工。"),
            _user("那订吧。"),
            _call("book_hotel", name="西溪店", nights=2),
            _result("book_hotel", '{"code": "HZ-7741"}'),
            _agent("已订好，订单号 HZ-7741。施工在 9 点以后才开始，需要我备注要高楼层吗？"),
            _user("好的，谢谢。以后都帮我要高楼层。"),
        ],
        "errors": {"score": 91, "findings": []},
        "memories": [
            {
                "type": "preference",
                "name": "订酒店时要高楼层",
                "description": "用户说以后都要高楼层。",
                "content": "预订时备注“高楼层”。",
            }
        ],
        "vary": {"西溪店": ("龙井店", "滨江店"), "HZ-7741": ("HZ-8120", "HZ-6933"), "周五": ("周六", "下周一")},
    },
    {
        "name": "billing-question",
        "agent": "billing-agent",
        "objective": "Answer why the invoice of Orsa Logistics is higher than last month's.",
        "messages": [
            _user("Why is our invoice higher than last month? Orsa Logistics."),
            _call("get_invoice", customer="Orsa Logistics", month="this"),
            _result("get_invoice", '{"total_eur": 1840, "seats": 46}'),
            _agent("Your invoice is €1,840 for 46 seats."),
            _user("That I can see. Why is it more?"),
            _call("get_invoice", customer="Orsa Logistics", month="last"),
            _result("get_invoice", '{"total_eur": 1600, "seats": 40}'),
            _agent(
                "Last month you had 40 seats (€1,600), now 46. Six people were added on the 4th; I can list who "
                "added them."
            ),
            _user("Thanks, that is enough."),
        ],
        "errors": {
            "score": 69,
            "findings": [
                {
                    "category": "incomplete_answer",
                    "description": "A question about a change was answered with one side of it.",
                    "cause": "Only this month's invoice was fetched at first.",
                    "suggestion": "Fetch both sides before answering a question about a change.",
                }
            ],
        },
        "memories": [],
        "vary": {
            "Orsa Logistics": ("Kestrel Insurance", "Nordhus Bygg", "Halden Rail", "Brightwater Foods"),
            "1,840": ("2,280", "1,960"),
            "1840": ("2280", "1960"),
        },
    },
)

# Calls of tools that failed, as outside agents report them, and how the advice went.

FAILURES: tuple[dict[str, Any], ...] = (
    {
        "tool": "search_papers",
        "agent": "academic-researcher",
        "params": {"query": "agent memory", "limit": 200},
        "error_message": "Timeout after 30s",
        "worked": True,
        "changed": {"query": "agent memory", "limit": 50},
        "fix": "Asked for 50 papers instead of 200",
        "vary": {"agent memory": ("self-reflection", "tool use", "long context")},
    },
    {
        "tool": "crm_lookup",
        "agent": "billing-agent",
        "params": {"customer": "Orsa Logistics"},
        "error_message": "429 Too Many Requests",
        "status": 429,
        "retry_after_seconds": 20,
        "worked": True,
        "fix": "Waited 20 seconds",
        "vary": {"Orsa Logistics": ("Halden Rail", "Kestrel Insurance", "Nordhus Bygg")},
    },
    {
        "tool": "send_mail",
        "agent": "lifecycle-agent",
        "params": {"to": "mara@example.test", "subjct": "Welcome"},
        "error_message": "ValidationError: unknown field 'subjct'; required field 'subject' is missing",
        "status": 422,
        "worked": True,
        "changed": {"to": "mara@example.test", "subject": "Welcome"},
        "fix": "Spelled the field as the schema has it",
    },
    {
        "tool": "read_warehouse",
        "agent": "catalogue-agent",
        "params": {"table": "stock_eu"},
        "error_message": "403 Forbidden: role reporting may not read stock_eu",
        "status": 403,
        "worked": False,
        "fix": "",
    },
    {
        "tool": "geocode",
        "agent": "extractor",
        "params": {"address": "Storgata 1"},
        "error_message": "No result: the address is ambiguous (14 matches)",
        "worked": True,
        "changed": {"address": "Storgata 1, 0155 Oslo"},
        "fix": "Added the postcode and the city",
        "said": {
            "error_type": "invalid_params",
            "root_cause": "The street exists in fourteen towns; the call named none",
            "severity": "medium",
            "action": "Name the town and the postcode",
        },
        "vary": {"Storgata 1": ("Kirkegata 12", "Parkveien 7")},
    },
    {
        "tool": "legacy_search",
        "agent": "market-researcher",
        "params": {"q": "help desk prices"},
        "error_message": "Tool 'legacy_search' was retired; nothing answers here",
        "worked": True,
        "said": {
            "error_type": "wrong_tool",
            "root_cause": "The tool was retired; web_search took its place",
            "severity": "high",
            "action": "Use web_search",
            "fallback_tool": "web_search",
        },
        "tools": [{"name": "legacy_search"}, {"name": "web_search"}],
        "fix": "Used web_search",
        "other_tool": "web_search",
    },
    {
        "tool": "render_chart",
        "agent": "sql-analyst",
        "params": {"kind": "bar", "rows": 90000},
        "error_message": "MemoryError: cannot draw 90000 bars",
        "worked": None,
        "vary": {"90000": ("120000", "48000")},
    },
)

# Histories that were handed in to be checked for what they lack.

CHECKS: tuple[dict[str, Any], ...] = (
    {
        "objective": "Compare the two offers, say which is cheaper over three years, and save the result for the "
        "buyer.",
        "kind": "comparison",
        "agent": "purchasing-agent",
        "history": [
            {"operation": "Read the first offer", "tool": "read_file", "result": "€1,200 a year, set-up 300"},
            {"operation": "Read the second offer", "tool": "read_file", "result": "€1,050 a year, set-up 900"},
            {"operation": "Compute three years", "tool": "python", "result": "3900 and 4050"},
        ],
        "tools": [{"name": "read_file"}, {"name": "python"}, {"name": "write_file"}],
        "said": {
            "is_complete": False,
            "analysis": "Both offers were read and compared. The result was not saved for the buyer.",
            "missing_aspects": ["the saved result"],
            "supplements": [
                {
                    "operation": "Save the comparison for the buyer",
                    "reason": "The task asks for it.",
                    "quote": "save the result for the buyer",
                    "suggested_tools": ["write_file"],
                }
            ],
        },
    },
    {
        "objective": "Collect last week's failed payments, group them by reason, and notify the finance channel.",
        "kind": "reporting",
        "agent": "finance-agent",
        "history": [
            {"operation": "Query failed payments", "tool": "sql", "result": "212 rows"},
            {
                "operation": "Group by reason",
                "tool": "python",
                "result": "insufficient funds 131, expired 58, other 23",
            },
        ],
        "tools": [{"name": "sql"}, {"name": "python"}, {"name": "post_message"}],
        "said": {
            "is_complete": False,
            "analysis": "The figures are there; nobody was told.",
            "missing_aspects": ["the message"],
            "supplements": [
                {
                    "operation": "Notify the finance channel of the groups",
                    "reason": "Finance is to be notified.",
                    "quote": "notify the finance channel",
                    "suggested_tools": ["post_message"],
                }
            ],
        },
    },
    {
        "objective": "Translate the release note into German and check that all product names stay as they are.",
        "kind": "translation",
        "agent": "localiser",
        "history": [
            {"operation": "Translate the note", "tool": "translate", "result": "Die Ausfuhr …"},
            {"operation": "Compare product names", "tool": "python", "result": "all 7 the same"},
        ],
        "tools": [{"name": "translate"}, {"name": "python"}],
        "said": {
            "is_complete": True,
            "analysis": "Translated, and the names were compared.",
            "missing_aspects": [],
            "supplements": [],
        },
    },
)
