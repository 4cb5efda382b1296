# `make demo` and `make test` need Python 3.11 or newer and make, and set up all else in .venv.

PYTHON ?= $(firstword $(foreach name,python3.11 python3,$(shell command -v $(name))))
BIN := .venv/bin
$(if $(PYTHON),,$(error no python3.11 or python3 on the PATH))

.PHONY: demo test lint types filecheck unit docs package clean

demo: .venv/installed
	$(BIN)/python examples/demo.py

test: lint
	@# The type checker runs on one core; lit keeps the other busy meanwhile.
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target types filecheck
	$(MAKE) --no-print-directory unit

lint: .venv/installed-dev
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --quiet --check

types: .venv/installed-dev
	$(BIN)/pyright --warnings

filecheck: .venv/installed-dev
	$(BIN)/lit --verbose --workers=2 test/filecheck

unit: .venv/installed-dev
	$(BIN)/pytest --quiet --numprocesses=2 --dist=worksteal

# The dialect reference, from the definitions; a test asserts that it is current.
docs: .venv/installed-dev
	$(BIN)/python docs/generate.py

# What users get: the sdist, the wheel built from it, and the tools of an installation of that wheel.
package: .venv/installed-dev
	rm -rf build/package
	$(BIN)/python -m build --outdir build/package
	$(PYTHON) -m venv build/package/venv
	build/package/venv/bin/pip install --quiet build/package/*.whl
	cd build/package && venv/bin/coconet-opt ../../examples/adam.mlir -o adam.mlir
	cd build/package && venv/bin/xdsl-opt --help | grep --quiet coconet-split

clean:
	rm -rf .venv build dist *.egg-info

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/installed-dev: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@ .venv/installed
