"""Queues are for their members: who had the skills that a queue asked for becomes one. Pins of views are deleted.

Examples that were kept beside the guidelines are written into the guidelines, as a new version of them.
"""

from django.db import migrations

MAY_REVIEW = ("reviewer", "curator", "admin")


def make_members(apps, schema_editor):
    """Those with all skills of a queue; where there is nobody, the project's admins, so that it is not open to all."""
    queue_model, membership = apps.get_model("reflection_app", "ReviewQueue"), apps.get_model("reflection_app", "Membership")
    member = apps.get_model("reflection_app", "QueueMember")
    for queue in queue_model.objects.exclude(skills=[]).filter(deleted_at=None):
        people = membership.objects.filter(project=queue.project_id, role__in=MAY_REVIEW)
        named = set(member.objects.filter(queue=queue).values_list("user_id", flat=True))
        able = set(people.filter(skills__contains=queue.skills).values_list("user_id", flat=True))
        wanted = (named & able if named else able) or set(people.filter(role="admin").values_list("user_id", flat=True))
        member.objects.filter(queue=queue).exclude(user_id__in=wanted).delete()
        member.objects.bulk_create([member(queue=queue, user_id=user) for user in wanted], ignore_conflicts=True)


def write_examples(apps, schema_editor):
    """Each example as a link to its review with its note."""
    project_model = apps.get_model("reflection_app", "Project")
    example_model = apps.get_model("reflection_app", "ReviewExample")
    version_model = apps.get_model("reflection_app", "GuidelinesVersion")
    for project in project_model.objects.filter(pk__in=example_model.objects.values("project")):
        newest = version_model.objects.filter(project=project).order_by("-number").first()
        examples = example_model.objects.filter(project=project).order_by("-created_at", "-id")
        lines = [
            f"- [example](/p/{project.slug}/reviews/{example.review_id}/): {' '.join(example.note.split())}"
            for example in examples
        ]
        text = "\n\n".join(part for part in (newest.text if newest else "", "## Examples\n\n" + "\n".join(lines)) if part)
        version_model.objects.create(
            project=project,
            number=newest.number + 1 if newest else 1,
            text=text,
            note="Examples are part of the guidelines.",
            made_by_label="upgrade",
        )


class Migration(migrations.Migration):
    dependencies = [("reflection_app", "0047_no_referee_measurements")]

    operations = [
        migrations.RunPython(make_members, migrations.RunPython.noop),
        migrations.RemoveField(model_name="reviewqueue", name="skills"),
        migrations.RemoveField(model_name="membership", name="skills"),
        migrations.DeleteModel(name="ViewPin"),
        migrations.RunPython(write_examples, migrations.RunPython.noop),
        migrations.DeleteModel(name="ReviewExample"),
    ]
