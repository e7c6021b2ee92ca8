# All commands of this project. `make setup` installs what is missing; the others call it.

BASE_PYTHON ?= $(shell test -x /usr/bin/python3 && echo /usr/bin/python3 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := -m pip install --quiet --disable-pip-version-check --no-input -c requirements/constraints.txt

.PHONY: setup demo fix check test bench clean

setup: $(STAMP)

# Debian's Python where it is there: one that lies in somebody's home can't be reached by the
# unprivileged user that submissions run as.
$(STAMP): pyproject.toml requirements/constraints.txt requirements/worker.txt
	sh tools/system_packages.sh
	$(BASE_PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) --upgrade pip
	$(BIN)/python $(PIP) -e '.[dev]'
	$(BASE_PYTHON) -m venv $(VENV)/worker
	$(VENV)/worker/bin/python $(PIP) -r requirements/worker.txt
	touch $@

demo: setup
	$(BIN)/re-bench anchors prefix_sum --profile small --if-missing
	$(BIN)/re-bench run prefix_sum --agent literal_search --time-limit 2m --attempts-dir demo/attempts
	$(BIN)/re-bench report demo/attempts -o report
	@echo "open report/index.html"

fix: setup
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

test: setup check
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

bench: setup
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/re-bench anchors prefix_sum --if-missing
	$(BIN)/python benchmarks/repeatability.py

clean:
	rm -rf $(VENV) demo report .mypy_cache .ruff_cache .pytest_cache
