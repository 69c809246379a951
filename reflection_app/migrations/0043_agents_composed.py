from django.db import migrations

# Agents' names in Unicode's composed form, as they are stored and filtered from now on.
COLUMNS = (
    ("reflection_app_task", "agent"),
    ("reflection_app_runfigure", "agent"),
    ("reflection_app_dayfigure", "agent"),
    ("reflection_app_daycount", "agent"),
    ("reflection_app_dayspend", "agent"),
    ("reflection_app_ticket", "target_agent"),
    ("reflection_app_report", "agent"),
    ("reflection_app_toolfailure", "agent"),
    ("reflection_app_transcript", "agent"),
)
# The same instruction of both forms of a name stays as it is: one of the two is in the prompts of either form's runs.
INSTRUCTIONS = """
UPDATE reflection_app_agentinstruction AS row SET agent = left(normalize(agent, NFC), 120)
WHERE agent IS NOT NFC NORMALIZED AND NOT EXISTS (
    SELECT FROM reflection_app_agentinstruction AS other
    WHERE other.project_id = row.project_id AND other.id <> row.id AND other.text = row.text
    AND normalize(other.agent, NFC) = normalize(row.agent, NFC)
)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("reflection_app", "0042_stored_thought"),
    ]

    operations = [
        *(
            migrations.RunSQL(
                f"UPDATE {table} SET {column} = left(normalize({column}, NFC), 120) WHERE {column} IS NOT NFC NORMALIZED",
                reverse_sql=migrations.RunSQL.noop,
            )
            for table, column in COLUMNS
        ),
        migrations.RunSQL(INSTRUCTIONS, reverse_sql=migrations.RunSQL.noop),
    ]
