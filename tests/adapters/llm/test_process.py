"""What only a process of its own can show: what is imported, what is printed, how it ends."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.openai_server import OpenAIServer
from tests.pace import PATIENCE_S

CALL = """
import django; django.setup()
from reflection_app.adapters.llm import CompletionRequest, Message, complete
request = CompletionRequest(model="openai/house-model", messages=(Message(role="user", content="a private prompt"),),
                            key="k", timeout_s=30.0)
print(complete(request).text)
"""


async def _python(code: str, environment: Mapping[str, str]) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-X", "dev", "-c", code, env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), timeout=PATIENCE_S)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def run(code: str, **environment: str) -> tuple[int, str, str]:
    return asyncio.run(_python(code, environment))


def test_importing_the_package_does_not_import_litellm() -> None:
    code, out, _ = run(
        "import sys, reflection_app.adapters.llm; print('litellm' in sys.modules, 'openai' in sys.modules)"
    )
    assert (code, out.strip()) == (0, "False False")


@pytest.mark.exhaustive("imports litellm in a process of its own")
@pytest.mark.parametrize("debug", ["", "DEBUG"], ids=["quiet", "litellm asked to debug"])
def test_a_call_prints_nothing_and_the_process_ends_cleanly(debug: str) -> None:
    key = "sk-private-0123456789"
    with OpenAIServer(lambda _: "a private answer") as server:
        code, out, err = run(
            CALL, OPENAI_API_BASE=server.url, OPENAI_API_KEY=key, LITELLM_LOG=debug or "INFO",
            OPENAI_LOG=debug.lower(), DJANGO_SETTINGS_MODULE="reflection_app.config.settings",
        )  # fmt: skip
    assert (code, out.strip()) == (0, "a private answer")
    for private in (
        "a private prompt",
        "a private answer",
        key,
        "Unclosed",
        "Traceback",
        "was destroyed",
        "ResourceWarning",
    ):
        assert private not in err, err


@pytest.mark.exhaustive("imports litellm in a process of its own")
def test_the_folders_env_file_is_not_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / ".env").write_text("A_STRAY_VARIABLE=read\n")
    code, out, _ = run(
        f"import os; os.chdir({str(folder)!r})\n"
        "from reflection_app.adapters.llm import preload; preload()\n"
        "print(os.environ.get('A_STRAY_VARIABLE', 'unset'))",
        PYTHONPATH=str(Path.cwd()),
    )  # fmt: skip
    assert (code, out.strip()) == (0, "unset")
