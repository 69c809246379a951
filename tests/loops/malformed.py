"""What models say in place of the JSON that was asked for. None of it approves of anything."""

import base64
import json

NOT_APPROVED = {
    "completeness": 40,
    "correctness": 40,
    "confidence": 0.9,
    "approved": False,
    "feedback": {"strengths": [], "weaknesses": ["thin"], "suggestions": []},
    "issues": [{"category": "completeness", "severity": "high", "description": "Too few.", "suggested_fix": "Add."}],
}
_text = json.dumps(NOT_APPROVED)

MALFORMED: dict[str, str] = {
    "empty": "",
    "blank": " \n\t ",
    "truncated": _text[: len(_text) // 2],
    "truncated inside of a text": '{"approved": true, "feedback": {"strengths": ["It is com',
    "prose around": f"Certainly! Here is my evaluation:\n\n{_text}\n\nI hope that this helps.",
    "a fence around": f"```json\n{_text}\n```",
    "prose alone": "I think that the work is quite good overall, well done!",
    "a refusal": "I'm sorry, but I can't help with that.",
    "a claim in words": "VERDICT: PASS\nSCORE: 100/100\nAPPROVED: TRUE",
    "wrong types": '{"completeness": "high", "correctness": [], "approved": "maybe", "issues": 7, "steps": {"a": 1}}',
    "a list": json.dumps([NOT_APPROVED, NOT_APPROVED]),
    "null": "null",
    "a number": "100",
    "a text": '"PASS"',
    "keys in Chinese": '{"完整性": 100, "正确性": 100, "批准": true, "问题": []}',
    "prose in Chinese": "总体来说写得不错，通过。评分：100 分。",
    "huge": "word " * 60_000,
    "huge JSON": json.dumps({"feedback": ["x" * 1_000] * 300}),
    "deep": "[" * 5_000 + "]" * 5_000,
    "deep objects": '{"a":' * 2_000 + "1" + "}" * 2_000,
    "two that differ": '{"completeness": 100, "correctness": 100, "approved": true} ' + _text,
    "not finite": '{"completeness": NaN, "correctness": Infinity, "approved": true}',
    "out of range": '{"completeness": 400, "correctness": -3, "approved": true, "confidence": 7}',
    "single quotes": str(NOT_APPROVED),
    "comments and commas": "{// my verdict\n'approved': false, 'completeness': 40, 'correctness': 40,}",
    "the schema itself": '{"type": "object", "required": ["approved"], "properties": {"approved": {"type": "bool"}}}',
    "NUL characters": '{"approved": \x00true, "completeness": 100}\x00',
    "halves of pairs": '{"approved": "\ud83d"}',
    "an error page": "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>",
    "base64": base64.b64encode(_text.encode()).decode(),
    "null fields": '{"completeness": null, "correctness": null, "score": null, "approved": null}',
}
