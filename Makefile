# Everything runs in .venv, which is made here; PYTHON chooses the interpreter (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LOCK = $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock"
IMAGE ?= fabric-injector
ENGINE ?= $(shell for tool in docker podman buildah; do $$tool info >/dev/null 2>&1 && echo $$tool && break; done)
VERSION = $(shell $(BIN)/python -c "import webhook; print(webhook.__version__)")
COMPILED := build/compiled
# Folders of tests that need more than the core does: not collected for it, which every worker would do anew.
TIERS := apiserver bench broken dra image node operators page peer sockets
TESTS := check sockets test-page apiserver test-image test-node

.PHONY: setup $(shell sed -n 's/^\([a-z-]*\):.*## .*/\1/p' $(MAKEFILE_LIST))
help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: # what the targets of this command line need of the machine, before any of them begins
	@PYTHON="$(PYTHON)" sh tests/setup.sh $(patsubst test,$(TESTS),$(MAKECMDGOALS))
$(STAMP): pyproject.toml | setup
	@echo "making $(VENV): about a minute the first time" >&2
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

run: $(STAMP) ## a real webhook on sample data, and a TorchX job sent through it (ONCE=1: end after the print)
	@$(BIN)/fabric-injector demo $(if $(ONCE),--once)

test: $(TESTS) ## everything: format, lint, types, layers, all test tiers (installs what it needs first, as root on Debian; SETUP=no forbids it)

check: format lint types layers core ## the fast part: needs Python, dash, bash and busybox

format: $(STAMP) ## check the formatting
	@$(BIN)/ruff format --check .
lint: $(STAMP) ## lint
	@$(BIN)/ruff check .
types: $(STAMP) ## check the types
	@$(BIN)/mypy
layers: $(STAMP) ## check the import contracts
	@$(BIN)/lint-imports
core: $(STAMP) ## tests that need nothing but Python, dash, bash and busybox
	@$(BIN)/pytest -q -m core $(TIERS:%=--ignore=tests/%) --numprocesses=auto --maxprocesses=8 --dist=worksteal
sockets: $(STAMP) ## tests with real server processes on loopback
	@$(BIN)/pytest -q -m sockets
apiserver: $(STAMP) ## tests behind a real kube-apiserver, and the Helm chart (built once with Go, about 10 minutes)
	@$(BIN)/pytest -q -m apiserver
test-image: $(STAMP) ## tests of the container image, built and run (needs root, buildah, mmdebstrap and runc)
	@$(BIN)/pytest -q -m image
test-node: $(STAMP) ## tests with pods that run: a real kubelet, containerd, Multus (needs root; built once with Go, about 5 minutes)
	@$(BIN)/pytest -q -m node
operators: $(STAMP) ## jobs that TorchX and Volcano, Kubeflow, JobSet, LWS and Kueue themselves run, with torch (as test-node; built once, about 45 minutes)
	@$(BIN)/pytest -q -m operators
broken: $(STAMP) ## broken situations on two nodes, by Jobs and by Volcano, each named first by explain and status (as operators, without torch)
	@$(BIN)/pytest -q -m broken
dra: $(STAMP) ## jobs whose cards are claims: DRANET, Kubernetes' DRA test driver, containerd 2, torch (as test-node; built once, about 7 minutes)
	@$(BIN)/pytest -q -m dra

node: $(STAMP) ## a cluster of one node with the product and a job on it, until Ctrl-C (as test-node; ONCE=1: end after the job)
	@$(BIN)/python -m tests.node $(if $(ONCE),--once)
kind: $(STAMP) ## the same in kind, where docker is: never run by the tests (needs docker, kind, kubectl and the internet)
	@$(MAKE) image ENGINE=docker
	@sh tests/kind/up.sh $(IMAGE):$(VERSION)

coverage: $(STAMP) ## branch coverage of the core and socket tests: 100 % of the pure core, the rest shown
	@$(BIN)/python -m tests.coverage
mutation: $(STAMP) ## change webhook/core in 2,000 places, one at a time, and see a test fail; goes on where it was stopped
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group mutation
	@$(BIN)/python -m tests.mutation
peer: $(STAMP) ## network-resources-injector's own end-to-end suite, run against fabric-injector (needs Go)
	@$(BIN)/python -m tests.peer

test-page: $(STAMP) ## tests of the page in a real Chromium; pictures go to build/screenshots
	@$(BIN)/pytest -q -m page

page-images: $(STAMP) ## take the documentation's pictures of the page anew: docs/images
	@$(BIN)/pytest -q -m page tests/page/test_images.py
	@mkdir -p docs/images && cp build/screenshots/docs/*.png docs/images/

image: $(STAMP) ## build the container image with docker, podman or buildah: IMAGE is its name, BUILDER and BASE are what it is built on
	$(or $(ENGINE),$(error install and start docker, podman or buildah)) build $(BUILD_OPTIONS) --build-arg VERSION=$(VERSION) --build-arg REVISION=$(shell git rev-parse HEAD) \
	  $(foreach name,SOURCE BUILDER BASE COMPILE,$(if $($(name)),--build-arg $(name)=$($(name)))) --tag $(IMAGE):$(VERSION) .
lock: $(STAMP) ## lock the current releases of what the image is made of
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --group lock
	@$(LOCK) pyproject.toml --output-file requirements.lock
	@$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); print(*p["build-system"]["requires"], *p["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["mypyc"]["dependencies"], sep="\n")' \
	  | $(LOCK) - --output-file requirements-build.lock

$(COMPILED)/.built: $(STAMP) $(shell find webhook certs -type f ! -path '*/__pycache__/*')
	@echo "compiling the admission path: about two minutes" >&2
	@rm -rf $(COMPILED) && mkdir -p $(COMPILED)
	@cp -r $(shell git ls-files | cut -d/ -f1 | sort -u) $(COMPILED)
	@cd $(COMPILED) && HATCH_BUILD_HOOK_ENABLE_MYPYC=1 $(CURDIR)/$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@$(BIN)/python -m compileall -q --invalidation-mode unchecked-hash $(COMPILED)/webhook $(COMPILED)/certs
	@touch $@
compiled: $(COMPILED)/.built ## compile the admission path as the image does, and run the core and socket tests on it (needs gcc)
	@cp -r tests $(COMPILED)
	@cd $(COMPILED) && $(CURDIR)/$(BIN)/pytest -q -p no:cacheprovider -m "core or sockets"

bench: $(COMPILED)/.built ## measure the webhook, compiled as in the image, beside a floor (needs Go and gcc; ARGUMENTS="--load 14": beside 14 busy processes)
	@cp -r tests $(COMPILED)
	@cd $(COMPILED) && $(CURDIR)/$(BIN)/python -m tests.bench.admission $(ARGUMENTS)
bench-hostile: $(COMPILED)/.built ## measure what hostile pods cost beside reading them, compiled as in the image (needs gcc; about 5 minutes; ARGUMENTS="--shapes 0" for all, an hour)
	@cp -r tests $(COMPILED)
	@cd $(COMPILED) && $(CURDIR)/$(BIN)/python -m tests.bench.hostile $(ARGUMENTS)
bench-beside-dry-runs: $(STAMP) ## measure admissions at 300 a second beside dry runs that come back to back (needs Go; 2 minutes)
	@$(BIN)/python -m tests.bench.beside_dry_runs $(ARGUMENTS)
bench-broken: $(COMPILED)/.built ## have 1.6 million broken reviews answered twice, and their pods again, compiled as in the image (needs gcc; about 30 minutes; ARGUMENTS="--count 10000 --sample 1000" for fewer)
	@cp -r tests $(COMPILED)
	@cd $(COMPILED) && $(CURDIR)/$(BIN)/python -m tests.bench.broken $(ARGUMENTS)
bench-rate: $(COMPILED)/.built ## measure admissions a second of two replicas behind a real API server, compiled as in the image, and check a model of more cores (needs Go and gcc; 3 minutes)
	@cp -r tests $(COMPILED)
	@cd $(COMPILED) && $(CURDIR)/$(BIN)/python -m tests.bench.rate $(ARGUMENTS)
bench-scale: $(STAMP) ## measure how fast a job of 10,000 pods is told its address, beside bare patches (needs Go; about 6 minutes)
	@$(BIN)/python -m tests.bench.scale $(ARGUMENTS)
bench-memory: $(STAMP) ## measure the memory of webhook and controller beside 100,000 pods (needs Go; about 3 minutes)
	@$(BIN)/python -m tests.bench.memory $(ARGUMENTS)
bench-starve: $(STAMP) ## measure what hostile pods cost a job of another namespace, and what their list costs webhook and controller (needs Go)
	@$(BIN)/python -m tests.bench.starve
bench-survey: $(STAMP) ## measure what survey costs on 10,000 pods: processor time and memory
	@$(BIN)/python -m tests.bench.survey
bench-status: $(STAMP) ## measure what status costs on 10,000 pods of 200 jobs: processor time and memory
	@$(BIN)/python -m tests.bench.status
bench-simulation: $(STAMP) ## model 100,000 pods in 1,000 jobs, and say what saturates first
	@$(BIN)/python -m tests.bench.simulation

chaos: $(STAMP) ## kill controllers and the API server 50 times while jobs run (needs Go; about 7 minutes)
	@$(BIN)/python -m tests.bench.chaos

soak: $(STAMP) ## rotate, roll out and end replicas under load, and count failed admissions (needs Go; about 10 minutes)
	@$(BIN)/python -m tests.bench.soak

bench-nodes: $(STAMP) ## roll out on two nodes, let nodes die under load, and count failed admissions (needs Go; about 8 minutes)
	@$(BIN)/python -m tests.bench.nodes

CHART_FILES := $(addprefix manifests/base/,custom-resource-definition.yaml rbac-webhook.yaml admission-policy.yaml admission-policy-copies.yaml rbac-users.yaml anti-affinity-policy.yaml service.yaml priority-class.yaml) \
	$(wildcard manifests/base/pod-disruption-budget-*.yaml) $(addprefix manifests/components/,cert-manager/issuers.yaml \
	cert-manager/certificates.yaml prometheus/service-metrics.yaml prometheus/service-monitor.yaml \
	prometheus-rules/prometheus-rule.yaml profile-viewer/profile-viewer.yaml grafana-dashboard/fabric-injector.json) $(wildcard manifests/components/network-policy/n*.yaml)
manifests: $(STAMP) ## write the CRD, render manifests/install.yaml from the default overlay, copy what the chart shares, write its schema and README (kubectl is built once with Go)
	@$(BIN)/python -m tests.manifests.custom_resource_definition manifests/base/custom-resource-definition.yaml
	@cp $(CHART_FILES) manifests/chart/files/
	@$(BIN)/python -m tests.manifests.values_schema manifests/chart/values.schema.json
	@$(BIN)/python -m tests.manifests.chart_readme manifests/chart/README.md
	@$(BIN)/python -m tests.apiserver.kustomize manifests/overlays/default manifests/install.yaml

reference: $(STAMP) ## write the pages of docs/ that are made of the code: fields, flags, labels, metrics, what was run, findings
	@$(BIN)/python -m tests.docs.reference
	@$(BIN)/python -m webhook.diagnose.manual > docs/findings.md

scan: .venv-scan/.installed ## Checkov over install.yaml, and the schemas of the oldest and the newest Kubernetes (PyPI; some minutes the first time)
	@.venv-scan/bin/checkov --config-file manifests/.checkov.yaml
	@for version in 1.30 1.37; do .venv-scan/bin/kubernetes-validate --strict --kubernetes-version $$version manifests/install.yaml || exit; done
.venv-scan/.installed: pyproject.toml | setup
	@test -x .venv-scan/bin/pip || $(PYTHON) -m venv .venv-scan
	@.venv-scan/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@.venv-scan/bin/python -m pip install --quiet --disable-pip-version-check --group scan
	@touch $@

docs: .venv-docs/.installed ## build the documentation into build/docs; a broken link fails (SOURCE=URL: links to files of the repository lead there)
	@SOURCE=$(SOURCE) NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet
	@echo "built: build/docs/index.html"
.venv-docs/.installed: pyproject.toml | setup
	@test -x .venv-docs/bin/pip || $(PYTHON) -m venv .venv-docs
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --group docs
	@touch $@

release-dry-run: .venv-release/.installed ## all of a release that can be made here, into build/release: nothing is signed or published (Go for Helm; as root with buildah and mmdebstrap the image too)
	@rm -rf build/release
	@.venv-release/bin/python -m tests.release dry-run
.venv-release/.installed: pyproject.toml requirements-build.lock | setup
	@test -x .venv-release/bin/pip || $(PYTHON) -m venv .venv-release
	@.venv-release/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@.venv-release/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-build.lock
	@.venv-release/bin/python -m pip install --quiet --disable-pip-version-check --group release
	@touch $@

clean: ## remove the virtual environments and caches
	rm -rf $(VENV) .venv-scan .venv-docs .venv-release build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
