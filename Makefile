PROFILE ?= mini
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Notebook tests share nothing with a run's cache but the downloads.
SHELL := /bin/bash

.DEFAULT_GOAL := help
.PHONY: help install reproduce check train external test test-unit test-notebooks lint lab readme clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

$(INSTALLED): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("error: Python 3.11 or newer is needed: set PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=26"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

install: $(INSTALLED) ## Make the virtual environment

reproduce: $(INSTALLED) ## Run all notebooks; PROFILE=smoke|mini|full|paper or a .yaml file
	$(BIN)/python -m rag.reproduce $(PROFILE)

check: $(INSTALLED) ## The papers' claims beside the results of a profile
	$(BIN)/python -m rag.claims $(PROFILE)

train: $(INSTALLED) ## Train the adapters below data/adapters again, where they were deleted
	$(BIN)/python -m crag.self_rag.training
	$(BIN)/python -m diva.training

external: $(INSTALLED) ## Tables on the real data in the folder RAG_EXTERNAL_DATA
	$(BIN)/python -m crag.external $(PROFILE)
	$(BIN)/python -m diva.external $(PROFILE)

test: lint test-unit test-notebooks ## Unit tests, then the notebooks on the smoke profile

test-unit: $(INSTALLED) ## Unit tests only
	$(BIN)/python -m pytest

test-notebooks: $(INSTALLED) ## The notebooks on the smoke profile, through nbmake
	$(BIN)/python -m pytest --nbmake --nbmake-timeout=1800 notebooks

lint: $(INSTALLED) ## Style and obvious errors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lab: $(INSTALLED) ## JupyterLab on the notebooks
	$(BIN)/jupyter lab --notebook-dir=.

readme: $(INSTALLED) ## Write the result tables into README.md
	$(BIN)/python -m rag.readme

clean: ## Remove executed notebooks and everything cached, but not the virtual environment
	rm -rf build .cache
