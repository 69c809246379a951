"""Diagnosing failed calls of tools: what went wrong, of which type it is, and what to do about it."""
