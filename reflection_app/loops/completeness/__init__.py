"""The completeness check before a task is summed up, after the second design seed (Sentra-MCP)."""
