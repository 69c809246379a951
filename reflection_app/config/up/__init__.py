"""PostgreSQL and Valkey from wheels, for a machine that has neither: `manage.py up` and the tests run them."""
