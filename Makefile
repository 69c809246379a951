# Needs Python 3.12 or newer, make and git. Everything else is fetched into .tools/ and .venv/ by the first target run.

# The newest uv format is read by no older uv, so the one that wrote uv.lock is fetched, whatever stands on PATH.
UV_VERSION := 0.13.9
UV ?= .tools/uv/bin/uv
BIN := .venv/bin
export UV_PYTHON_DOWNLOADS := never
# Set by some images. Without compiled files each process of a desk, and of the tests, compiles 3,000 modules as it starts:
# litellm alone then takes twice the time.
unexport PYTHONDONTWRITEBYTECODE

IS_NEW_ENOUGH := import sys; sys.version_info >= (3, 12) and print(sys.executable)
FIND_PYTHON = for name in python3.13 python3 python3.14 python3.12 python; do \
	found=$$($$name -c '$(IS_NEW_ENOUGH)' 2>/dev/null); [ -n "$$found" ] && echo "$$found" && break; done
PYTHON = $(or $(shell $(FIND_PYTHON)),$(error Python 3.12 or newer is needed and was not found: install it, or name it with PYTHON=/path/to/python))

.PHONY: run test test-all check format messages backup restore login-link clean

## Starts the whole desk; Ctrl-C stops it. PORT, HOST and the README's other settings come from the environment.
run: .venv/synced-run
	@exec $(BIN)/python manage.py up

PYTEST = $(BIN)/python -m pytest -n auto --dist worksteal

## What one needs to know before a commit, on engines of its own. PYTEST_ARGS adds options: PYTEST_ARGS="tests/loops -x".
test: .venv/synced-dev
	$(PYTEST) -m "not exhaustive" $(PYTEST_ARGS)

## What `make test` leaves out: what is exhaustive by nature (each such test is marked, with the reason).
test-all: .venv/synced-dev
	$(PYTEST) -m exhaustive $(PYTEST_ARGS)

## Everything that reads the code without running it.
check: .venv/synced-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -n auto manage.py reflection_app notebook_app packages client tests
	$(BIN)/lint-imports
	DATABASE_POOL_SIZE=0 $(BIN)/python -W ignore manage.py makemigrations --check --dry-run

format: .venv/synced-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## Brings locale/ up to date with the words of pages and errors. Needs GNU gettext (apt-get install gettext), as only
## who changes words does: the compiled file is committed, and tests say when it is behind.
PO := locale/zh_Hans/LC_MESSAGES/django
messages: .venv/synced-dev
	$(BIN)/python -W ignore manage.py makemessages --locale zh_Hans --no-location --no-obsolete --no-wrap \
		--ignore .venv --ignore .tools --ignore build --ignore tests --ignore var
	$(BIN)/pybabel --quiet compile --input-file $(PO).po --output-file $(PO).mo --locale zh_Hans

## The whole desk as one file, running or not, and back again: make backup FILE=desk.backup
backup: .venv/synced-run
	@$(BIN)/python manage.py backup "$(or $(FILE),$(error Name the file to write: make backup FILE=desk.backup))"

restore: .venv/synced-run
	@$(BIN)/python manage.py restore "$(or $(FILE),$(error Name the backup: make restore FILE=desk.backup))"

## A link that logs in once, within 15 minutes: the way in without a password. USERNAME names another than admin.
login-link: .venv/synced-run
	@$(BIN)/python manage.py login_link "$(or $(USERNAME),admin)"

## Removes what make fetched and built; the data in var/ stays.
clean:
	rm -rf .venv .tools build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# The stamps spare a second run the look at every package; a changed lock outdates them.
.venv/synced-run: uv.lock pyproject.toml $(wildcard packages/*/pyproject.toml) | $(UV)
	@echo "Fetching packages; the first time takes a minute or two."
	@began=$$(date +%s); $(UV) sync --quiet --locked --no-dev --inexact --python "$(PYTHON)" \
		&& printf '✓ %-10s %5d   s\n' Packages $$(($$(date +%s) - began))
	@touch $@

.venv/synced-dev: uv.lock pyproject.toml $(wildcard packages/*/pyproject.toml) | $(UV)
	@echo "Fetching packages; the first time takes a minute or two."
	@began=$$(date +%s); $(UV) sync --quiet --locked --python "$(PYTHON)" \
		&& printf '✓ %-10s %5d   s\n' Packages $$(($$(date +%s) - began))
	@touch .venv/synced-run $@

.tools/uv/bin/uv:
	@echo "Fetching uv $(UV_VERSION) into .tools/"
	@"$(PYTHON)" -m venv .tools/uv && .tools/uv/bin/python -m pip install --quiet uv==$(UV_VERSION) \
		|| { echo "uv could not be fetched. Name one with UV=/path/to/uv (version $(UV_VERSION) or newer)."; exit 1; }
