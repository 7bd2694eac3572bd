# Needs python3 (3.11 or newer) and make; everything else is installed into .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SNAKEMAKE := $(BIN)/snakemake

.PHONY: help reproduce quick test report reference bench bench-frank lint format lock clean

help:
	@echo "make reproduce  everything: data, training, tables, figures (snakemake --cores all)"
	@echo "make quick      all of it on tiny simulated data, into quick/"
	@echo "make test       the tests"
	@echo "make report     results/report.html: all tables and figures on one page"
	@echo "make reference  docs/reference: the tables and figures of a run on real data, to be committed"
	@echo "make bench      speed, as ratios in one run"
	@echo "make bench-frank  FRank at its paper's own size, on simulated data (almost an hour)"
	@echo "make lint       ruff, snakefmt, snakemake --lint"
	@echo "make format     what of that can be mended by itself"
	@echo "make lock       pin the packages anew (needs uv)"
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

test: $(READY)
	$(BIN)/python -m pytest --numprocesses auto --dist loadscope

report: $(READY)
	$(SNAKEMAKE) --cores all results/report.html

# Tables and figures of this run, to be committed; only after a run on real data, of what can be had of it.
reference: reproduce
	for dataset in ohsumed mq2008 mq2007 td2003_30; do \
		if grep '"origin": "simulated"' results/data/$$dataset/card.json; then echo "$$dataset is simulated"; exit 1; fi; done
	rm -rf docs/reference
	mkdir -p docs/reference
	cp -r results/tables/. figures/. results/provenance.json docs/reference/
	find docs/reference -type f -not -name '*.md' -not -name '*.csv' -not -name '*.png' -not -name provenance.json -delete
	rm docs/reference/README.md

bench: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python tools/bench.py

bench-frank: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python tools/bench_frank.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(SNAKEMAKE) --lint

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

lock:
	$(PYTHON) tools/lock.py

clean:
	rm -rf quick .snakemake
	find results figures -mindepth 1 -not -name README.md -delete
