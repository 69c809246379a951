"""The desk as an MCP server: tools for agents, each of them a call of REST with the caller's own key."""
