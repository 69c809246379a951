"""The cheat sheet as Markdown: a table for each tool, to be put into an agent's prompt or a team's notes."""

import re

from reflection_app.repairs.cheat_sheet import CheatRow, CheatSheet

HEAD = "| Usual failure | Type | Seen | Fix | Worked |\n|---|---|---:|---|---|"
SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
LONGEST_CELL = 300


def markdown_of(sheet: CheatSheet) -> str:
    """The whole sheet. Nothing that tools, agents or models said can end a cell or become markup."""
    parts = ["# Cheat sheet of tool failures"]
    for tool, rows in sheet.by_tool:
        parts.append("\n".join([f"## {_plain(tool)}\n", HEAD, *(_line(row) for row in rows)]))
    if not sheet.rows:
        parts.append("Nothing is known yet.")
    return "\n\n".join(parts) + "\n"


def _line(row: CheatRow) -> str:
    changed = f" ({', '.join(_plain(name) for name in row.changed)})" if row.changed else ""
    worked = f"{row.successes} of {row.tried}" if row.tried else "not proven"
    cells = ("; ".join(_plain(one) for one in row.symptoms), row.error_type.value, str(row.times))
    return f"| {' | '.join((*cells, _plain(row.fix) + changed, worked))} |"


def _plain(text: str) -> str:
    short = " ".join(text.split())
    short = short if len(short) <= LONGEST_CELL else short[: LONGEST_CELL - 1] + "…"
    return SPECIAL.sub(r"\\\1", short)
