"""Text from providers and exceptions made safe to store and show: no keys, no credentials, no endless pages."""

import os
import re

LONGEST_MESSAGE = 600
HIDDEN = "[redacted]"

# Shorter values would also match ordinary words in a message.
SHORTEST_SECRET = 8
SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_ID)?$", re.IGNORECASE)

PATTERNS = (
    # The header's whole value, whatever its scheme.
    (
        re.compile(r"(?i)(authorization|x-api-key|api-key)([\"']?\s*[:=]\s*[\"']?)(bearer\s+|basic\s+)?[^\s\"',}]+"),
        r"\1\2" + HIDDEN,
    ),
    (re.compile(r"(?i)\b(bearer|basic)\s+[a-z0-9._~+/=*-]{6,}"), r"\1 " + HIDDEN),
    # OpenAI answers a wrong key with its first and last letters and stars between them.
    (re.compile(r"\b(sk|pk|rk)-[\w*.…-]{4,}"), HIDDEN),
    (re.compile(r"\b(gsk_|xai-|hf_|AIza|AKIA|ghp_|r8_)[\w*-]{8,}"), HIDDEN),
    (re.compile(r"(?i)([?&](?:api[_-]?key|key|token|access_token|signature)=)[^&\s\"']+"), r"\1" + HIDDEN),
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@\"']+@"), r"\1" + HIDDEN + "@"),
)


def redact(text: str) -> str:
    """`text` without secrets: those in this process's environment, and all that look like one; cut if long."""
    for secret in _environment_secrets():
        text = text.replace(secret, HIDDEN)
    for pattern, replacement in PATTERNS:
        text = pattern.sub(replacement, text)
    return text if len(text) <= LONGEST_MESSAGE else text[:LONGEST_MESSAGE] + "…"


def _environment_secrets() -> list[str]:
    """The values of secret-looking variables, longest first so that one inside another leaves no rest."""
    values = {value.strip() for name, value in os.environ.items() if SECRET_NAME.search(name)}
    return sorted((value for value in values if len(value) >= SHORTEST_SECRET), key=len, reverse=True)
