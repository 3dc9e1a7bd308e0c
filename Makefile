# `make demo` and `make test` do all the set-up: each creates .venv and installs what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: demo test test-slow test-engines test-browser torture docs report lint kernels-labels kernels-models clean

demo: $(VENV)/.installed
	$(BIN)/geogae demo --out demo

test: $(VENV)/.installed-dev
	$(MAKE) -j $(JOBS) lint kernels-labels kernels-models
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

test-slow: $(VENV)/.installed-dev  # minutes each: longer trainings, large graphs
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "slow and not browser"

test-engines: $(VENV)/.installed-dev  # installs Dask and Ray, and starts a local cluster of each
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dask,ray]'
	$(BIN)/python -m pytest tests/engines -m "slow or not slow"

test-browser: $(VENV)/.installed-dev  # needs a Chromium: installs one where it may, else says how
	@$(BIN)/python tests/browser/find_chromium.py
	$(BIN)/python -m pytest -m browser

torture: $(VENV)/.installed-dev  # damaged files, kills, many writers, full disks: about four minutes
	$(BIN)/python benchmarks/torture.py

docs: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/report.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/site

report: $(VENV)/.installed-dev  # tables and pictures of README.md and docs/ from the committed results
	$(BIN)/python benchmarks/report.py

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

kernels-labels kernels-models: kernels-%: $(VENV)/.installed-dev  # compiled once: two test processes would compile all of them twice
	$(BIN)/python tests/warm_up.py $*

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build demo .pytest_cache .mypy_cache .ruff_cache
