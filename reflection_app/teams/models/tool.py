"""Tools that a project's runs may call, and the secrets that their headers refer to."""

from django.conf import settings
from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.tool_calls import ToolSpec


class ToolKind(models.TextChoices):
    HTTP = "http", "HTTP"
    MCP = "mcp", "MCP server"
    BUILTIN = "builtin", "Built in"


class Tool(models.Model):
    """`config` is what its kind needs, see adapters/tools/config.py: never a secret's value, only names of secrets."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tools")
    name = models.CharField(max_length=64)
    description = models.TextField(blank=True, default="")
    parameters = models.JSONField(default=dict, blank=True)
    kind = models.CharField(max_length=10, choices=ToolKind)
    config = models.JSONField(default=dict, blank=True)
    timeout_s = models.FloatField(default=10.0)
    is_enabled = models.BooleanField(default=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=("project", "name"), name="tool_name_once"),)

    def __str__(self) -> str:
        return self.name

    def get_spec(self) -> ToolSpec:
        """The tool as loops know it."""
        return ToolSpec(name=self.name, description=self.description, parameters=self.parameters)


class Secret(models.Model):
    """A value that headers of tools refer to by name. It is sent to `origin` alone, the one it was entered for."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="secrets")
    name = models.CharField(max_length=64)
    origin = models.CharField(max_length=300)
    ciphertext = models.TextField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        constraints = (models.UniqueConstraint(fields=("project", "name"), name="secret_name_once"),)

    def __str__(self) -> str:
        return self.name
