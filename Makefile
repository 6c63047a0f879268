# Needs make and Python 3.11 or later. Everything is installed into .venv, from setup.cfg.
#   make demo                        a first look
#   make test                        the tests, but for those that are thorough, or take a process, a page or a data set
#   make coverage                    these too, and how many lines of the package they run
#   make kernels                     tests of numbers, by the arithmetic of other processors
#   make PYTHON=python3.12 test      with another Python (after make clean)
#   make INSTALL=".venv/bin/pip install" test    with pip and its index, not uv

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL ?= $(BIN)/uv pip install --compile-bytecode --python $(BIN)/python
TESTS := $(VENV)/with-solvers,exact,natural,dask,tests
CHECKS := $(VENV)/with-solvers,exact,lint,docs,pages

.PHONY: environment demo test coverage kernels bench reproduce lint types contracts docs pages notebooks student slides dist clean
.NOTPARALLEL:

# With it set, each worker and each process compiles the package and the tests anew.
unexport PYTHONDONTWRITEBYTECODE

# All that the checks need, for runs of several of them at once.
environment: $(TESTS) $(CHECKS)

demo: $(VENV)/package
	$(BIN)/propcvx demo --output build/demo

# One worker per core, and one thread per worker: more only get in each other's way.
test coverage kernels: export OMP_NUM_THREADS = 1
test coverage kernels: export OPENBLAS_NUM_THREADS = 1
PYTEST := -m pytest -n auto --dist worksteal --durations 25
MOST := -m "not process and not thorough and not slow and not pages"

test: $(TESTS)
	$(BIN)/python $(PYTEST) $(MOST)

# OpenBLAS has a kernel for each kind of processor, and each rounds in its own way.
KERNELS := Prescott Haswell
NUMBERS := $(addprefix tests/,solvers svm test_alternating.py relaxation estimators bounds)
# Errors, warnings and interfaces are the same with each of them.
INTERFACES := --ignore tests/solvers/test_failures.py -k "not scikit_learn_checks"
kernels: $(TESTS)
	failed=; for kernel in $(KERNELS); do \
		echo "OPENBLAS_CORETYPE=$$kernel"; \
		OPENBLAS_CORETYPE=$$kernel $(BIN)/python $(PYTEST) $(MOST) $(NUMBERS) $(INTERFACES) || failed="$$failed $$kernel"; \
	done; test -z "$$failed"

# The lines that are run are judged in a step of its own: slipcover 1.1.0 leaves out what the workers
# ran if it does both.
coverage: $(TESTS)
	mkdir -p build
	$(BIN)/slipcover --source propcvx --branch --json --dont-wrap-pytest --out build/tests.json \
		$(PYTEST) --hypothesis-profile full -m "not slow and not pages"
	$(BIN)/slipcover --merge build/tests.json --out build/lines.json --branch --skip-covered --fail-under 95

# Ratios inside a group are what counts; real sets are read from the folder that PROPCVX_DATA names.
# A run is kept in build/benchmarks, named by its commit, and the next one is printed beside it.
bench: $(TESTS)
	$(BIN)/python -m pytest tests/benchmarks --benchmark-enable --benchmark-timer=time.process_time \
		--benchmark-sort=name --benchmark-columns=median,min,rounds \
		--benchmark-storage=build/benchmarks --benchmark-autosave --benchmark-compare

# One data set of Table 2 after the other, as `make reproduce ROW=heart`; a run that is stopped goes on.
reproduce: $(TESTS)
	mkdir -p build
	cd docs && ../$(BIN)/python -m reproduction run table-linear --data $(ROW) --jobs 2 \
		--results ../build/reproduction.jsonl
	cd docs && ../$(BIN)/python -m reproduction report ../build/reproduction.jsonl

# A soft check of words that readers stumble over: it prints their number, and never fails.
AVOID := tells?|told|speaks?|but for|anew|beside|hardly|that of|those of|whatever|is over|as of|of one's own
lint: $(CHECKS)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	@echo "words to avoid:"; git grep -ohiwE "$(AVOID)" -- README.md docs/*.md notebooks propcvx | sort -f | uniq -ci

# With every solver that ships its types, so that the answer does not depend on what else is there.
types: $(CHECKS)
	$(BIN)/mypy

contracts: $(CHECKS)
	$(BIN)/lint-imports

# The notebooks are executed where they changed; the files in notebooks/ are left as they are.
# Sphinx writes pages with all processes but one.
docs: export OMP_NUM_THREADS = 1
docs: $(CHECKS)
	$(BIN)/sphinx-build -j $$(($$(getconf _NPROCESSORS_ONLN) + 1)) -W --keep-going -q docs build/docs

# The documentation in a browser; skipped, saying so, where there is none.
pages: docs $(TESTS)
	$(BIN)/pytest -n auto -m "pages and not slow" tests/project/test_pages.py

# The outputs stored in the notebooks whose code has changed, or in those named, as in
# `make notebooks NAMES="notebooks/03*"`.
notebooks: $(CHECKS)
	$(BIN)/python docs/stored_outputs.py $(NAMES)

# The notebooks without solutions, with cells that check an answer.
student:
	$(PYTHON) docs/student.py build/student

# Slides of the lectures; a browser fetches reveal.js and MathJax to show them.
slides: $(CHECKS)
	$(BIN)/jupyter nbconvert --to slides --output-dir build/slides \
		notebooks/01_learning_from_proportions.ipynb notebooks/05_labelings_to_hull.ipynb \
		notebooks/06_cutting_planes.ipynb

# What a release publishes, in dist/, and the tests on it, installed by itself.
dist: $(VENV)/with-dist
	.ci/dist -n auto --dist worksteal

clean:
	rm -rf $(VENV) build dist docs/generated docs/notebooks *.egg-info
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find propcvx tests docs -name __pycache__ -prune -exec rm -rf {} +

# The environment: made anew when the project's description changes, extras added when first needed.
# "compat": otherwise a folder of the name propcvx beside a script, as the clone is, hides the package.
$(VENV)/package: setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("propcvx needs Python 3.11 or later, and $(PYTHON) is " + sys.version.split()[0] + ": try make PYTHON=python3.12 with one you have")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet uv
	$(INSTALL) --quiet --config-settings editable_mode=compat --editable '.[groups]'
	@touch $@

$(VENV)/with-%: $(VENV)/package
	$(INSTALL) --quiet --config-settings editable_mode=compat --editable '.[$*]'
	@touch $@
