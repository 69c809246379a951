from reflection_app.management.commands.write_reference import REFERENCE, configuration_page


def test_the_reference_lists_the_settings_with_their_defaults() -> None:
    page = (REFERENCE / "configuration.md").read_text()

    assert page == configuration_page(), "write it again: manage.py write_reference"
