"""Completeness check before a task is summarized. Source: the second design seed (Sentra-MCP)."""
