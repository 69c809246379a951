"""What screening found, in the words of the pages; the rules are those of notebook_app/screening.py."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

RULES: dict[str, str | Promise] = {
    "override": _("tells to drop instructions"),
    "new orders": _("gives new orders"),
    "persona": _("gives another role"),
    "prompt theft": _("asks for the system prompt"),
    "exfiltration": _("sends something away"),
    "secrecy": _("is to be kept from the user"),
    "judging": _("tells how to judge"),
    "order to agents": _("orders agents"),
    "role tag": _("marks of a chat template"),
    "script": _("script"),
    "hidden comment": _("hidden comment"),
    "link that tells": _("link that carries data away"),
    "hidden text": _("text that nobody sees"),
    "turned text": _("text that runs the other way"),
    "hidden characters": _("characters that nobody sees"),
    "look-alikes": _("letters that look like others"),
    "too long": _("too long to be screened"),
}


def rule_words(rule: str) -> str:
    """What the rule is called, or its name where the pages know none."""
    return str(RULES.get(rule, rule.replace("_", " ")))
