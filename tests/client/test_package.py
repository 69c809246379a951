"""The client as a package of its own: its wheel, what stands in it, and its changelog."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.conf import settings
from reflection_desk import __version__

CLIENT = Path(settings.BASE_DIR) / "client"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)),
        cwd=CLIENT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    [wheel] = folder.glob("*.whl")
    return wheel


def test_the_wheel_has_all_that_is_in_the_source_and_nothing_that_runs_by_itself(wheel: Path) -> None:
    source = CLIENT / "src"
    wanted = {str(path.relative_to(source)) for path in source.rglob("*") if path.suffix in {".py", ".typed"}}
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"reflection_desk/py.typed", "reflection_desk/integrations/langgraph.py"} <= wanted <= names
    assert {name for name in names if not name.startswith("reflection_desk/")} == {
        f"reflection_desk_client-{__version__}.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD")
    }


def test_the_wheel_is_imported_without_any_framework(wheel: Path) -> None:
    asked = (
        "import reflection_desk, sys; print(reflection_desk.__file__); "
        "print(*({name.partition('.')[0] for name in sys.modules} & "
        "{'langchain_core', 'langgraph', 'agents', 'openai', 'pydantic_ai', 'django'}))"
    )
    done = subprocess.run(
        (sys.executable, "-c", asked), env={"PYTHONPATH": str(wheel)}, check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == [f"{wheel}/reflection_desk/__init__.py", ""]
