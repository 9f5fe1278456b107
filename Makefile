# Everything runs in .venv, which is made here; PYTHON chooses the interpreter (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COMMAND := $(VENV)/.command
STAMP := $(VENV)/.installed
LOCK = $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock"
PIP = -m pip install --quiet --disable-pip-version-check
IMAGE ?= fabric-injector
SITE ?= build/docs
ENGINE ?= $(shell for tool in docker podman buildah; do $$tool info >/dev/null 2>&1 && echo $$tool && break; done)
VERSION = $(shell $(BIN)/python -c "import webhook; print(webhook.__version__)")
# Kept bytecode halves the time of the tests, which start hundreds of Pythons; the environment of some images forbids it.
unexport PYTHONDONTWRITEBYTECODE
PARALLEL := --numprocesses=auto --maxprocesses=8 --dist=worksteal
# Folders of tests that need more than the core does: not collected for it, which every worker would do anew.
FOLDERS := apiserver bench broken dra image node operators page peer sockets
# The tiers of make test, two at a time: the long ones begin first. The page's is not beside the node's: Chromium drops its
# requests whenever an interface of the machine comes or goes.
ALL := format lint types layers test-node apiserver core test-page sockets test-image

.PHONY: setup $(shell sed -n 's/^\([a-z-]*\):.* ## .*/\1/p; s/^\([a-z-]*\):.* # .*/\1/p' $(MAKEFILE_LIST))
help: # what make prints without a target; those with one # are for maintainers, CONTRIBUTING lists them
	@awk -F':.* ## ' '/^[a-z-]+:.* ## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: # what the targets of this command line need of the machine, before any of them begins
	@PYTHON="$(PYTHON)" sh tests/setup.sh $(patsubst test,$(ALL),$(MAKECMDGOALS))
$(COMMAND): pyproject.toml | setup
	@echo "making $(VENV): a minute or more the first time" >&2
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(PIP) --upgrade 'pip>=25.1'
	@$(BIN)/python $(PIP) --editable '.[validate]'
	@touch $@
$(STAMP): $(COMMAND)
	@echo "installing what the tests need" >&2
	@$(BIN)/python $(PIP) --group dev
	@touch $@
# Environments of their own for tools that pin half of PyPI: .venv-NAME is made of the dependency group NAME.
.venv-%/.installed: pyproject.toml requirements-build.lock | setup
	@test -x .venv-$*/bin/pip || $(PYTHON) -m venv .venv-$*
	@.venv-$*/bin/python $(PIP) --upgrade 'pip>=25.1'
	@$(if $(filter release,$*),.venv-$*/bin/python $(PIP) --require-hashes --no-deps -r requirements-build.lock)
	@.venv-$*/bin/python $(PIP) --group $*
	@touch $@
.PRECIOUS: .venv-%/.installed

run: $(COMMAND) ## what a TorchX job becomes, on sample data
	@$(BIN)/fabric-injector demo
node: $(STAMP) ## a cluster of one node with the product and a job on it, until Ctrl-C (as test-node; ONCE=1: end after the job)
	@$(BIN)/python -m tests.node $(if $(ONCE),--once)
manifests: ## print what to apply: make manifests IMAGE=registry.example.com/fabric-injector (needs kubectl; OVERLAY=default)
	@kubectl kustomize manifests/overlays/$(or $(OVERLAY),default) | sed -E 's#((image|value): )fabric-injector:#\1$(IMAGE):#'
image: $(STAMP) ## build the container image with docker, podman or buildah (IMAGE: its name; BUILDER, BASE: what it is built on)
	$(or $(ENGINE),$(error install and start docker, podman or buildah)) build $(BUILD_OPTIONS) --build-arg VERSION=$(VERSION) --build-arg REVISION=$(shell git rev-parse HEAD) \
	  $(foreach name,SOURCE BUILDER BASE,$(if $($(name)),--build-arg $(name)=$($(name)))) --tag $(IMAGE):$(VERSION) .

test: $(STAMP) ## all tests but the longer ones below (as root on Debian installs what it needs; SETUP=no forbids it)
	@echo "two tiers run at a time; each prints what it found when it ends" >&2
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target PAGE_AFTER=test-node $(ALL)
check: format lint types layers core ## format, lint, types, import contracts, core: before each commit
format: $(STAMP) # check the formatting
	@$(BIN)/ruff format --check .
lint: $(STAMP) # lint
	@$(BIN)/ruff check .
types: $(STAMP) # check the types
	@$(BIN)/mypy
layers: $(STAMP) # check the import contracts
	@$(BIN)/lint-imports
core: $(STAMP) ## tests that need Python, dash, bash and busybox (TESTS="tests/core/workloads …": these only)
	@$(BIN)/pytest -q -m core $(or $(TESTS),$(FOLDERS:%=--ignore=tests/%) $(PARALLEL))
sockets: $(STAMP) ## tests with real server processes on loopback
	@$(BIN)/pytest -q -m sockets tests/sockets $(PARALLEL)
test-page: $(STAMP) .venv-docs/.installed | $(PAGE_AFTER) ## tests of the page and of this documentation in a real Chromium
	@$(BIN)/pytest -q -m page tests/page --ignore=tests/page/test_images.py $(PARALLEL)
apiserver: $(STAMP) ## tests behind a real kube-apiserver, and the Helm chart (built once with Go, about 10 minutes)
	@$(BIN)/pytest -q -m apiserver tests/apiserver --numprocesses=3 --dist=loadfile --no-loadscope-reorder
test-image: $(STAMP) ## tests of the container image, built and run (needs root, buildah, mmdebstrap and runc)
	@$(BIN)/pytest -q -m image
test-node: $(STAMP) ## tests with pods that run: kubelet, containerd, Multus (needs root; built once with Go, about 5 minutes)
	@$(BIN)/pytest -q -m node
operators: $(STAMP) ## jobs that operators themselves run, with torch (as test-node; built once, about 45 minutes)
	@$(BIN)/pytest -q -m operators
broken: $(STAMP) ## broken situations on two nodes, each named first by explain and status (as operators, without torch)
	@$(BIN)/pytest -q -m broken
dra: $(STAMP) ## jobs whose cards are claims: DRANET, containerd 2, torch (as test-node; built once, about 7 minutes)
	@$(BIN)/pytest -q -m dra
bench: $(STAMP) ## measure admissions (Go); NAME=chaos, soak, hostile, scale …: CONTRIBUTING has the list
	@$(BIN)/python -m tests.bench.$(or $(NAME),admission) $(ARGUMENTS)
presets-fit: $(STAMP) ## how many jobs of real manifests the presets of their cloud serve (CORPUS="FOLDER…"; FULL=1: names the others)
	@$(BIN)/python -m tests.presets.fit $(or $(CORPUS),$(error name folders of manifests: CORPUS=FOLDER)) $(if $(FULL),-v)
compare: $(STAMP) ## what the checkout makes of real manifests otherwise than a commit (BASE=COMMIT CORPUS="FOLDER…"; FULL=1: all)
	@$(BIN)/python -m tests.compare $(or $(BASE),$(error name a commit: BASE=main)) $(or $(CORPUS),$(error name folders of manifests: CORPUS=FOLDER)) $(if $(FULL),-v)
faults: $(STAMP) ## put forty mistakes into a copy, one at a time, and see a test find each (TIERS=core,sockets; also page, apiserver, node)
	@$(BIN)/python -m tests.mutation.faults $(TIERS)
mutation: $(STAMP) ## change webhook/core in 2,000 places, one at a time, and see a test fail; goes on where it was stopped
	@$(BIN)/python $(PIP) --group mutation
	@$(BIN)/python -m tests.mutation

coverage: $(STAMP) # branch coverage of the core and socket tests: 100 % of the pure core, the rest shown
	@$(BIN)/python -m tests.coverage
peer: $(STAMP) # network-resources-injector's own end-to-end suite, run against fabric-injector (needs Go)
	@$(BIN)/python -m tests.peer
page-images: $(STAMP) # take the documentation's pictures of the page anew: docs/images
	@$(BIN)/pytest -q -m page tests/page/test_images.py
	@mkdir -p docs/images && cp build/screenshots/docs/*.png docs/images/
reference: $(STAMP) # write the chart's README, which is made of its values
	@$(BIN)/python -m tests.manifests.chart_readme manifests/chart/README.md
lock: $(STAMP) # lock the current releases of what the image and the extra are made of
	@$(BIN)/python $(PIP) --group lock
	@$(LOCK) pyproject.toml --output-file requirements.lock
	@$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); print(*p["build-system"]["requires"], sep="\n")' \
	  | $(LOCK) - --output-file requirements-build.lock
	@$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); print(*p["project"]["optional-dependencies"]["validate"], sep="\n")' \
	  | $(LOCK) - --output-file requirements-validate.lock
scan: .venv-scan/.installed # Checkov over the manifests, and the schemas of the oldest and the newest Kubernetes (kubectl)
	@mkdir -p build && $(MAKE) --silent manifests >build/install.yaml
	@.venv-scan/bin/checkov --config-file manifests/.checkov.yaml
	@for version in 1.30 1.37; do .venv-scan/bin/kubernetes-validate --strict --kubernetes-version $$version build/install.yaml || exit; done
docs: $(STAMP) .venv-docs/.installed ## build the documentation into build/docs; a broken link fails
	@PYTHON=$(BIN)/python SOURCE=$(SOURCE) NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet --site-dir "$(SITE)"
	@echo "built: $(SITE)/index.html"
release-dry-run: .venv-release/.installed # all of a release that can be made here, into build/release (Go for Helm; as root with buildah the image too)
	@rm -rf build/release
	@.venv-release/bin/python -m tests.release dry-run
clean: # remove the virtual environments and caches
	rm -rf $(VENV) .venv-scan .venv-docs .venv-release build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
