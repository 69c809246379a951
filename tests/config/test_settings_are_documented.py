from reflection_app.config import env
from reflection_app.management.commands.write_reference import REFERENCE, configuration_page


def test_every_setting_is_in_a_section() -> None:
    assert all(variable.section for variable in env.DOCUMENTED.values())


def test_the_reference_lists_the_settings_with_their_defaults() -> None:
    page = (REFERENCE / "configuration.md").read_text()

    assert page == configuration_page(), "write it again: manage.py write_reference"
