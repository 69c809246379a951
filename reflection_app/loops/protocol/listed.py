"""Texts of models and agents as items of a prompt's list, where none can pass for a line of the prompt itself."""

INDENT = "  "


def item(text: str) -> str:
    """The text as one item: what follows its first line is indented, so that it begins no line of its own."""
    lines = [line.strip() for line in text.splitlines()]
    return "- " + f"\n{INDENT}".join(line for line in lines if line)


def one_line(text: str) -> str:
    return " ".join(text.split())
