# One virtual environment for everything; both main commands start from nothing but Python 3.11 to 3.13.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-local check benchmark schemas screenshots clean

demo: $(VENV)/.demo
	$(BIN)/python -m runner -m experiment=top_k

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m "not local_models and not benchmark"

test-local: $(VENV)/.dev
	$(BIN)/python -m pytest -m local_models -s

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

benchmark: $(VENV)/.dev
	$(BIN)/python -m benchmarks

schemas: $(VENV)/.dev
	$(BIN)/python -m runner.config.json_schema

screenshots: $(VENV)/.dev
	$(BIN)/python -m tests.screenshots

clean:
	rm -rf $(VENV)

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] <= (3, 13) else "$(PYTHON) is Python %d.%d; Python 3.11 to 3.13 is needed: make PYTHON=python3.12 ..." % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.python pyproject.toml constraints.txt
	@echo "installing runner and what it needs into $(VENV) (about 1.5 GB, once; some minutes)"
	$(INSTALL) --editable '.[local]'
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml constraints.txt
	@echo "installing runner and its test tools into $(VENV) (about 1.6 GB, once; some minutes)"
	$(INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/.demo
