# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test test-browser test-cluster check docs bench bench-deep format clean

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(INSTALLED)

test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2

CHROMIUM ?= $(or $(shell command -v chromium),$(shell command -v chromium-browser))

test-browser: $(INSTALLED)
	@test -x "$(CHROMIUM)" || { echo "Chromium is missing: apt-get install chromium, \
	or CHROMIUM=/path/to/it make test-browser" >&2; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[browser]"
	CHROMIUM="$(CHROMIUM)" $(BIN)/python -m pytest tests/browser

test-cluster: $(INSTALLED)
	$(BIN)/python -m pytest tests/cluster

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	$(BIN)/python -m sphinx -b html -d docs/_build/doctrees -j auto -W --keep-going -q docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: $(INSTALLED)
	$(BIN)/python benchmarks/online.py
	$(BIN)/python benchmarks/paper.py

bench-deep: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[peers]"
	$(BIN)/python benchmarks/deep.py
	$(BIN)/python benchmarks/continuous.py
	$(BIN)/python benchmarks/roofline.py
	$(BIN)/python benchmarks/executor.py
	$(BIN)/python benchmarks/solve.py
	$(BIN)/python benchmarks/kills.py

demo: $(INSTALLED)
	$(BIN)/fhtd reproduce all
	$(BIN)/fhtd train CartPole-v1 --frames 50000 --out runs/cartpole
	$(BIN)/fhtd evaluate runs/cartpole
	$(BIN)/fhtd watch runs/cartpole
	$(BIN)/fhtd explore slippery-maze --out runs/explore-slippery-maze.html

clean:
	rm -rf $(VENV) .numba_cache .jax_cache docs/_build docs/_generated
