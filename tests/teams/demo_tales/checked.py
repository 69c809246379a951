"""Tasks that something outside of a model checks: code with tests, data against a schema; and reasoning."""

from tests.teams.demo_tales.tale import Fault, Tale

CODER = "coder"
EXTRACTOR = "extractor"


def _python(code: str, *, before: str = "") -> str:
    return f"{before}\n\n```python\n{code.strip()}\n```\n".lstrip()


def _cases(*pairs: tuple[str, list[object], object]) -> list[dict[str, object]]:
    return [{"name": name, "args": args, "expected": expected} for name, args, expected in pairs]


WHERE = (
    "for the import job",
    "for the billing service",
    "for the reporting API",
    "for the mobile backend",
    "for the CLI",
)

CODE = (
    Tale(
        name="slugify",
        agent=CODER,
        kind="code_generation",
        objective="Write `slugify(title)` for the import job: lower case, words joined by single hyphens, accents "
        "removed, "
        "nothing else than a-z, 0-9 and hyphens, none at the ends.",
        good=_python(
            """
import re
import unicodedata


def slugify(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
"""
        ),
        flawed=_python(
            """
def slugify(title: str) -> str:
    return title.lower().replace(" ", "-")
"""
        ),
        task={
            "tests": {
                "entry_point": "slugify",
                "cases": _cases(
                    ("plain words", ["Hello World"], "hello-world"),
                    ("accents", ["Café Crème"], "cafe-creme"),
                    ("many spaces", ["  a   b "], "a-b"),
                    ("signs", ["Q&A: what's new?"], "q-a-what-s-new"),
                ),
            }
        },
        vary={"for the import job": WHERE},
    ),
    Tale(
        name="merge-ranges",
        agent=CODER,
        kind="code_generation",
        objective="Write `merge(ranges)` for the import job: a list of [start, end] pairs, end included, in any "
        "order, comes "
        "back sorted with overlapping and touching ones merged.",
        good=_python(
            """
def merge(ranges: list[list[int]]) -> list[list[int]]:
    merged: list[list[int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1] + 1:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged
"""
        ),
        flawed=_python(
            """
def merge(ranges: list[list[int]]) -> list[list[int]]:
    merged: list[list[int]] = []
    for start, end in ranges:
        if merged and start <= merged[-1][1]:
            merged[-1][1] = end
        else:
            merged.append([start, end])
    return merged
"""
        ),
        task={
            "tests": {
                "entry_point": "merge",
                "cases": _cases(
                    ("apart", [[[1, 2], [5, 6]]], [[1, 2], [5, 6]]),
                    ("unsorted", [[[5, 6], [1, 2]]], [[1, 2], [5, 6]]),
                    ("touching", [[[1, 2], [3, 4]]], [[1, 4]]),
                    ("contained", [[[1, 9], [2, 3]]], [[1, 9]]),
                    ("nothing", [[]], []),
                ),
            }
        },
        vary={"for the import job": WHERE},
    ),
    Tale(
        name="iban",
        agent=CODER,
        kind="code_generation",
        objective="Write `is_iban(text)` for the billing service: whether the text is an IBAN by its check digits "
        "(ISO 13616, "
        "mod 97). Spaces are allowed, lower case as well; anything too short is none.",
        good=_python(
            """
def is_iban(text: str) -> bool:
    code = text.replace(" ", "").upper()
    if not 15 <= len(code) <= 34 or not code.isalnum() or not code.isascii():
        return False
    turned = code[4:] + code[:4]
    return int("".join(str(int(sign, 36)) for sign in turned)) % 97 == 1
"""
        ),
        flawed=_python(
            """
def is_iban(text: str) -> bool:
    return len(text) >= 15 and text[:2].isalpha() and text[2:4].isdigit()
"""
        ),
        task={
            "tests": {
                "entry_point": "is_iban",
                "cases": _cases(
                    ("German", ["DE89 3704 0044 0532 0130 00"], True),
                    ("British", ["gb82west12345698765432"], True),
                    ("wrong digit", ["DE88 3704 0044 0532 0130 00"], False),
                    ("too short", ["DE89"], False),
                    ("empty", [""], False),
                ),
            }
        },
        vary={"for the billing service": WHERE[1:]},
    ),
    Tale(
        name="parse-price",
        agent=CODER,
        kind="code_generation",
        objective="Write `cents(text)` for the reporting API: prices such as “1.234,50 €”, “€ 12.50” or “7” as a "
        "number of "
        "cents. The last separator with one or two digits after it is the decimal one.",
        good=_python(
            """
import re


def cents(text: str) -> int:
    number = re.sub(r"[^0-9.,]", "", text)
    found = re.fullmatch(r"(.*?)(?:[.,](\\d{1,2}))?", number)
    whole = re.sub(r"[.,]", "", found[1]) or "0"
    return int(whole) * 100 + int((found[2] or "0").ljust(2, "0"))
"""
        ),
        flawed=_python(
            """
def cents(text: str) -> int:
    number = text.replace("€", "").replace(",", ".").strip()
    return int(float(number) * 100)
"""
        ),
        task={
            "tests": {
                "entry_point": "cents",
                "cases": _cases(
                    ("German thousands", ["1.234,50 €"], 123450),
                    ("English", ["€ 12.50"], 1250),
                    ("whole", ["7"], 700),
                    ("one digit", ["3,5"], 350),
                    ("thousands alone", ["1.234"], 123400),
                ),
            }
        },
        vary={"for the reporting API": WHERE[2:]},
    ),
    Tale(
        name="retry-delays",
        agent=CODER,
        kind="code_generation",
        objective="Write `delays(tries, first, most)` for the mobile backend: how long to wait before each try "
        "after the first, "
        "doubling from `first` seconds, never more than `most`.",
        good=_python(
            """
def delays(tries: int, first: float, most: float) -> list[float]:
    return [min(first * 2**number, most) for number in range(max(tries - 1, 0))]
"""
        ),
        flawed=_python(
            """
def delays(tries: int, first: float, most: float) -> list[float]:
    return [first * 2**number for number in range(tries)]
"""
        ),
        task={
            "tests": {
                "entry_point": "delays",
                "cases": _cases(
                    ("three tries", [3, 1, 60], [1, 2]),
                    ("capped", [5, 10, 30], [10, 20, 30, 30]),
                    ("one try", [1, 1, 60], []),
                    ("no try", [0, 1, 60], []),
                ),
            }
        },
        vary={"for the mobile backend": WHERE[3:]},
    ),
    Tale(
        name="working-days",
        agent=CODER,
        kind="code_generation",
        objective="Write `due(day, working_days)` for the CLI: the ISO date that lies so many working days after an "
        "ISO date; "
        "Saturdays and Sundays do not count.",
        good=_python(
            """
from datetime import date, timedelta


def due(day: str, working_days: int) -> str:
    at = date.fromisoformat(day)
    while working_days > 0:
        at += timedelta(days=1)
        working_days -= at.weekday() < 5
    return at.isoformat()
"""
        ),
        flawed=_python(
            """
from datetime import date, timedelta


def due(day: str, working_days: int) -> str:
    weeks, rest = divmod(working_days, 5)
    return (date.fromisoformat(day) + timedelta(days=7 * weeks + rest)).isoformat()
"""
        ),
        task={
            "tests": {
                "entry_point": "due",
                "cases": _cases(
                    ("within a week", ["2026-03-02", 3], "2026-03-05"),
                    ("over a weekend", ["2026-03-06", 1], "2026-03-09"),
                    ("from a Sunday", ["2026-03-08", 1], "2026-03-09"),
                    ("two weeks", ["2026-03-02", 10], "2026-03-16"),
                ),
            }
        },
        vary={"for the CLI": WHERE},
    ),
    Tale(
        name="group-anagrams",
        agent=CODER,
        kind="code_generation",
        objective="写一个函数 `group(words)`：把字母相同的单词归为一组，忽略大小写；组内保持原来的顺序，"
        "组按首次出现的顺序排列。",
        good=_python(
            """
def group(words: list[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault("".join(sorted(word.lower())), []).append(word)
    return list(groups.values())
"""
        ),
        flawed=_python(
            """
def group(words: list[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for word in sorted(words):
        groups.setdefault("".join(sorted(word)), []).append(word)
    return list(groups.values())
"""
        ),
        task={
            "tests": {
                "entry_point": "group",
                "cases": _cases(
                    ("两组", [["tea", "tan", "eat"]], [["tea", "eat"], ["tan"]]),
                    ("大小写", [["Listen", "silent"]], [["Listen", "silent"]]),
                    ("顺序", [["b", "a"]], [["b"], ["a"]]),
                ),
            }
        },
    ),
)

INVOICE = {
    "type": "object",
    "required": ["supplier", "number", "date", "total"],
    "additionalProperties": False,
    "properties": {
        "supplier": {"type": "string"},
        "number": {"type": "string"},
        "date": {"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"},
        "total": {"type": "number"},
    },
}
CONTACT = {
    "type": "object",
    "required": ["name", "email", "phone"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "email": {"type": "string", "pattern": "@"},
        "phone": {"type": ["string", "null"], "pattern": "^\\+[0-9]+$"},
    },
}
JOB = {
    "type": "object",
    "required": ["title", "city", "remote", "salary"],
    "properties": {
        "title": {"type": "string"},
        "city": {"type": "string"},
        "remote": {"type": "boolean"},
        "salary": {
            "type": "object",
            "required": ["from", "to", "currency"],
            "properties": {
                "from": {"type": "integer"},
                "to": {"type": "integer"},
                "currency": {"enum": ["EUR", "GBP", "SEK"]},
            },
        },
    },
}

DATA = (
    Tale(
        name="invoice",
        agent=EXTRACTOR,
        kind="extraction",
        objective="Extract the invoice as JSON. “Rechnung Nr. 2026-1187 vom 3.10.2026, Papierhaus Weiß GmbH, Betrag "
        "1.249,90 EUR "
        "inkl. MwSt., zahlbar in 14 Tagen.”",
        good='{"supplier": "Papierhaus Weiß GmbH", "number": "2026-1187", "date": "2026-10-03", "total": 1249.9}',
        flawed='{"supplier": "Papierhaus Weiß GmbH", "number": "2026-1187", "date": "3.10.2026", "total": "1.249,90 '
        'EUR"}',
        task={"output_schema": INVOICE},
        vary={
            "Papierhaus Weiß GmbH": ("Druckerei Sommer", "Kaffeekontor Nord", "Elektro Pahl KG", "Gärtnerei Moos"),
            "2026-1187": ("2026-0931", "R-20418", "2026-1502", "A/7731"),
        },
    ),
    Tale(
        name="contact",
        agent=EXTRACTOR,
        kind="extraction",
        objective="Extract the sender as JSON; the phone in E.164, null where there is none. “Best, Ingrid Solberg "
        "– Fjord "
        "Design AS – ingrid@fjord.example – tel 22 41 88 07 (Oslo)”",
        good='{"name": "Ingrid Solberg", "email": "ingrid@fjord.example", "phone": "+4722418807"}',
        flawed='{"name": "Ingrid Solberg", "company": "Fjord Design AS", "email": "ingrid@fjord.example", "phone": '
        '"22 41 88 07"}',
        task={"output_schema": CONTACT},
        vary={
            "Ingrid Solberg": ("Lars Vik", "Nora Dahl", "Even Bakke", "Tuva Strand"),
            "ingrid@": ("lars@", "nora@", "even@", "post@"),
            "Fjord Design AS": ("Bryggen Arkitekter", "Nordlys Media", "Havn & Co"),
        },
    ),
    Tale(
        name="job-advert",
        agent=EXTRACTOR,
        kind="extraction",
        objective="Read the advert into JSON: “Backend engineer (m/f/x), Göteborg or remote, 52–64 tSEK per month, "
        "Python and "
        "PostgreSQL, start in January.” Salaries as whole numbers of the currency.",
        good='{"title": "Backend engineer", "city": "Göteborg", "remote": true, "salary": {"from": 52000, "to": 64000, '
        '"currency": "SEK"}}',
        flawed='{"title": "Backend engineer", "city": "Göteborg", "remote": "or remote", "salary": {"from": "52", '
        '"to": "64", '
        '"currency": "tSEK"}}',
        task={"output_schema": JOB},
        vary={
            "Backend engineer": (
                "Data engineer",
                "Site reliability engineer",
                "Platform engineer",
                "Frontend engineer",
            ),
            "Göteborg": ("Malmö", "Uppsala", "Umeå", "Stockholm"),
        },
    ),
    Tale(
        name="order-zh",
        agent=EXTRACTOR,
        kind="extraction",
        objective="把订单整理成 JSON：“王女士订了 3 箱龙井（每箱 180 元）和 1 套茶具（420 元），送到杭州西湖区，"
        "周五前到。”",
        good='{"customer": "王女士", "items": [{"name": "龙井", "count": 3, "price": 180}, {"name": "茶具", '
        '"count": 1, "price": 420}], '
        '"total": 960}',
        flawed='{"customer": "王女士", "items": "3 箱龙井和 1 套茶具", "total": "600 元"}',
        task={
            "output_schema": {
                "type": "object",
                "required": ["customer", "items", "total"],
                "properties": {
                    "customer": {"type": "string"},
                    "items": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["name", "count", "price"],
                            "properties": {"count": {"type": "integer"}, "price": {"type": "number"}},
                        },
                    },
                    "total": {"type": "number"},
                },
            }
        },
        vary={"王女士": ("李先生", "陈女士", "赵先生", "周女士"), "龙井": ("碧螺春", "铁观音", "普洱")},
    ),
)

REASONING = (
    Tale(
        name="train-puzzle",
        agent="planner",
        kind="reasoning",
        objective="A train leaves at 09:40 and runs 84 km at 72 km/h, then waits 15 minutes, then runs 60 km at 80 "
        "km/h. When does "
        "it arrive? Show the steps.",
        good="84 km at 72 km/h take 70 minutes: 10:50. The stop of 15 minutes: 11:05. 60 km at 80 km/h take 45 "
        "minutes: 11:50. It "
        "arrives at 11:50.",
        flawed="84 km at 72 km/h take about an hour: 10:40. 60 km at 80 km/h take 45 minutes: 11:25. It arrives at "
        "11:25.",
        faults=(
            Fault("84 km at 72 km/h take 70 minutes, not an hour.", "Compute 84 / 72 × 60.", category="correctness"),
            Fault("The stop of 15 minutes was left out.", "Add it."),
        ),
        praise="Each leg is computed and added up.",
        vary={"A train": ("A regional train", "The night train", "A freight train")},
    ),
    Tale(
        name="shift-plan",
        agent="planner",
        kind="reasoning",
        objective="Ada, Ben and Cem share five shifts, Monday to Friday. Ada cannot on Tuesday, Ben wants two days "
        "in a row, Cem takes "
        "one shift at most. Is there a plan, and is it the only one? Give your reasoning.",
        good="Cem takes at most one shift, so Ada and Ben take at least four. Ben's two days can be Monday and "
        "Tuesday; Ada then takes "
        "Wednesday and Thursday, Cem Friday. It is not the only plan: with Ben on Tuesday and Wednesday, Ada can "
        "take Monday and "
        "Thursday and Cem Friday as well.",
        flawed="Ada takes Monday and Tuesday, Ben Wednesday and Thursday, Cem Friday. This is the only plan.",
        faults=(
            Fault("Ada cannot work on Tuesday.", "Give Tuesday to Ben or Cem.", category="correctness"),
            Fault("That it is the only plan is claimed and not shown.", "Look for a second one."),
        ),
        praise="A plan, and a second one that answers the question.",
        vary={"Ada": ("Ada", "Ana", "Aino"), "Cem": ("Cem", "Cal", "Chen")},
    ),
)
