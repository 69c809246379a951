"""The calls of the REST, by subject. They only describe requests; a client sends them."""
