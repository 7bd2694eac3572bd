# Needs python3 (3.11 or newer) and make; everything else is installed into .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SNAKEMAKE := $(BIN)/snakemake
SNAKEFILES := Snakefile workflow src/replirank/papers
# What the tests compile is kept from one run to the next.
PYTEST := JAX_COMPILATION_CACHE_DIR=$(CURDIR)/.cache/jax JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0.03 \
	$(BIN)/python -m pytest --numprocesses auto --dist loadscope

.PHONY: help reproduce quick check test report reference compare bench bench-lists bench-frank lint format lock clean

help:
	@echo "make reproduce  everything: data, training, tables, figures (snakemake --cores all)"
	@echo "make quick      all of it on tiny simulated data, into quick/"
	@echo "make check      before each commit: lint and the unit tests"
	@echo "make test       all tests"
	@echo "make report     results/report.html: all tables and figures on one page"
	@echo "make reference  docs/reference: the tables and figures of a run on real data, to be committed"
	@echo "make compare A=docs/reference B=results/tables  what differs between two folders of tables"
	@echo "make bench      speed, as ratios in one run"
	@echo "make bench-lists  the last part of that: four methods on 900,000 documents in strict order"
	@echo "make bench-frank  FRank at its paper's own size, on simulated data (long)"
	@echo "make lint       ruff, snakefmt, snakemake --lint, import-linter, mypy"
	@echo "make format     what of that can be mended by itself"
	@echo "make lock       pin the packages of pyproject.toml; UPGRADE=1: in their newest versions (needs uv)"
	@echo "make clean      remove results, figures and caches, but not .venv"

# The lock is the one source of versions: what it says is what is installed, checked by hash.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "replirank needs Python 3.11 or newer; this is " + sys.version + ". Say which to use: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

reproduce: $(READY)
	$(SNAKEMAKE) --cores all

quick: $(READY)
	mkdir -p quick
	$(SNAKEMAKE) --cores all --directory quick --configfile tests/quick.yaml

check: lint
	$(PYTEST) tests/unit src

test: $(READY)
	$(PYTEST)

report: $(READY)
	$(SNAKEMAKE) --cores all results/report.html

# Tables and figures of this run, to be committed; only after a run on real data, of what can be had of it.
reference: reproduce
	for dataset in ohsumed mq2008 mq2007 td2003 np2004_30; do \
		if grep '"origin": "simulated"' results/data/$$dataset/card.json; then echo "$$dataset is simulated"; exit 1; fi; done
	rm -rf docs/reference
	mkdir -p docs/reference
	cp -r results/tables/. figures/. results/provenance.json docs/reference/
	find docs/reference -type f -not -name '*.md' -not -name '*.csv' -not -name '*.png' -not -name provenance.json -delete
	rm docs/reference/README.md
	$(BIN)/python tools/readme_numbers.py

compare: $(READY)
	$(BIN)/python tools/compare_results.py $(A) $(B)

bench: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python tools/bench.py
	$(MAKE) bench-lists

bench-lists: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
		XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1" $(BIN)/python tools/bench_lists.py
	$(BIN)/python tools/readme_numbers.py

bench-frank: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python tools/bench_frank.py
	$(BIN)/python tools/readme_numbers.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check $(SNAKEFILES)
	$(SNAKEMAKE) --lint
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt $(SNAKEFILES)

lock:
	$(PYTHON) tools/lock.py $(if $(UPGRADE),--upgrade)

clean:
	rm -rf quick .snakemake .cache .mypy_cache
	find results figures -mindepth 1 -not -name README.md -delete
