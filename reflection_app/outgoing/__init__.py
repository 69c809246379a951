"""Requests to addresses that users name: checked, pinned, bounded. The only importer of httpx for them."""
