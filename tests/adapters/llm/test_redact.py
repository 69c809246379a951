import pytest

from reflection_app.adapters.llm.errors import HIDDEN, LONGEST_MESSAGE, redact


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Incorrect API key provided: sk-abc1234567890.", "sk-abc1234567890"),
        ("Incorrect API key provided: sk-proj-ab***************yz.", "ab***************yz"),
        ("Authorization: Bearer abc.def.ghi", "abc.def.ghi"),
        ("{'Authorization': 'Basic dXNlcjpwYXNz'}", "dXNlcjpwYXNz"),
        ('{"x-api-key": "0123456789"}', "0123456789"),
        ("bearer eyJhbGciOi.J9-_x", "eyJhbGciOi"),
        ("cannot reach https://user:hunter22@proxy.example/v1", "hunter22"),
        ("GET https://api.example/v1?key=AIzaSyA0123456&alt=json", "AIzaSyA0123456"),
        ("gsk_0123456789abcdef is wrong", "gsk_0123456789abcdef"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, secret: str) -> None:
    cleaned = redact(text)
    assert secret not in cleaned
    assert HIDDEN in cleaned


def test_the_values_of_secret_variables_are_hidden_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "correct horse battery")
    monkeypatch.setenv("ACME_TOKEN", "correct horse")
    assert redact("you sent <correct horse battery>") == f"you sent <{HIDDEN}>"


def test_ordinary_words_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT_KEY", "model")
    text = "The model's task-oriented context is 4096 tokens; see https://example.com/docs?page=2."
    assert redact(text) == text


def test_no_part_of_a_secret_is_shown_at_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "s3cret" * 500
    monkeypatch.setenv("OTHER_API_KEY", secret)
    for before in ("x" * length for length in range(0, 700, 50)):
        for text in (before + secret, f"{secret} " * 4 + before + secret, before + f" a://u:{secret}@b"):
            assert "s3cret" not in redact(text + " and more" * 2_000)


def test_a_message_is_cut_before_it_is_searched() -> None:
    """Only as much is read as may be shown, and what a secret's length beyond that may hide."""
    assert redact("a.a." * 5) == "a.a." * 5
    assert redact("a" * 700) == "a" * LONGEST_MESSAGE + "…"
    assert redact("a.a." * 20_000) == redact("a.a." * 2_000) == ("a.a." * 150) + "…"
