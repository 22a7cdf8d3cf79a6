# Needs Go, git and a C compiler (for the race detector); everything else is
# built from Go modules. Build outputs go to .cache, which git ignores.
SHELL := /usr/bin/env bash
# What is compiled with and without cgo has nothing in common. Only the race detector needs it.
export CGO_ENABLED := 0
RACE := CGO_ENABLED=1 go test -race
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
CLI := github.com/karmada-target/karmada-mirror/cli
# The modules to check: not goreleaser's, which make test does not compile.
MODULES := $(filter-out tools/goreleaser,$(patsubst %/,%,$(dir $(wildcard go.mod */go.mod */*/go.mod))))
# The sandbox packages to test with the race detector. The others would compile all of
# Kubernetes with it; the daemon of the end-to-end tests always has it.
RACED := ./build ./process ./proxy
# The packages that start a Karmada, the longest first. Two run at once: with three, the
# components would need more inotify instances than Linux gives a user (128).
E2E := ./e2e/shared ./docs ./e2e/apart ./command ./karmada
# What builds the programs that tests start.
PROGRAMS := programs
# How long random worlds are tried; empty is about a minute in all.
export SIMULATION ?=
# Tests on real parts mostly wait: this many of a package run at once.
PARALLEL ?= 6
FUZZTIME ?= 10s
# The package in which make mutants changes operators; without one it tries the faults whose names begin
# with FAULT.
PACKAGE ?=
FAULT ?=
# An earlier revision that make bench compares with.
AGAINST ?=
export SOAK ?= 3m
export SEED ?= 0
# The oldest supported Karmada, and the newest Kubernetes that can be its API server; docs/reference/versions.md.
OLDEST_KARMADA := 1.17
NEWEST_KUBERNETES := 1.37

.PHONY: help demo recording check simulation pinned e2e alerts parity helm health test levels test-long test-compatibility bench-test programs build sandbox fuzz mutants vulnerabilities soak bench bench-quick sandbox-up sandbox-down goreleaser release-ready release-notes release-snapshot

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The go command compiles silently.
compiling = @echo "compiling $(1): takes minutes the first time, then seconds"
# go run would not pass the exit code on.
compile = echo "compiling what a sandbox needs: 8 to 15 minutes on 2 cores the first time, then seconds" && go build -o ../.cache/bin/compile ./compile && ../.cache/bin/compile

# Ctrl-C is not an error, whatever it ends.
demo: ## See it work on a real Karmada on this machine, until Ctrl-C
	@cd sandbox && if $(compile); then exec ../.cache/bin/sandbox demo; elif [[ $$? -ne 130 ]]; then exit 1; fi

# From the first command that mirrors, with the commands in bold. The first frame has it already: --from drops the empty one.
# What is printed at the end shows nothing, and makes the last frame stay until then.
recording: sandbox ## Record the demo as docs/demo.svg; needs asciinema and npx
	cd sandbox && asciinema rec --quiet --overwrite --idle-time-limit 3 --cols 118 --rows 34 ../.cache/demo.cast --command \
	  '../.cache/bin/sandbox demo --exit --pause 2s | sed -u -n "/^\$$ kubectl apply -k/,/^stopping/ { /^stopping/d; s/^\$$ .*/\x1b[1m&\x1b[0m/; p }"; for i in 1 2; do sleep 3; printf "\033[0m"; done'
	npx --yes svg-term-cli@2.0.4 --in .cache/demo.cast --out docs/demo.svg --window --no-cursor --from 1

# What follows are the levels of make test. The test cache does not notice changes of files outside
# a module, or of programs that a test starts: tests that read or start such things run every time.

# staticcheck reads all that a package imports, so it skips hyperkarmada, which imports all of Karmada.
check: ## Check format, module files, vet, staticcheck, the mutants and the budget, and run the unit tests with the race detector
	@unformatted=$$(gofmt -l .); if [[ -n "$$unformatted" ]]; then echo "run gofmt on:"; echo "$$unformatted"; exit 1; fi
	@for module in $(MODULES); do echo "go mod tidy -diff in $$module"; (cd "$$module" && go mod tidy -diff); done
	@for module in $(MODULES); do echo "go vet in $$module"; (cd "$$module" && go vet -tags long ./...); done
	cd tools && go build -o ../.cache/bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	@for module in $(MODULES); do echo "staticcheck in $$module"; (cd "$$module" && "$(CURDIR)/.cache/bin/staticcheck" -tags long $$(go list -tags long ./... | grep -v hyperkarmada)); done
	@for fault in tools/mutants/faults/*.patch; do git apply --check "$$fault"; done
	cd tools && go test -count=1 ./...
	$(RACE) ./...
	go test -run '^TestCost' ./render ./mirror/gather ./mirror/memory # the race detector allocates as well
	cd sandbox && $(RACE) -count=1 $(RACED)

# Without SIMULATION the worlds are the same each time, so that make test judges the change. With it, all scenes
# share the time.
simulation: ## Play users, faults and daemons against a control plane in memory, for two minutes or, at random, for SIMULATION
	cd simulation && go test -count=1 ./apiserver ./fault ./karmada/... ./model
	cd simulation && go test -count=1 -timeout $(if $(SIMULATION),3h,20m) ./machine $(if $(SIMULATION),-parallel 16,-rapid.seed=1 -rapid.checks=12)
	cd simulation && SIMULATION=2s $(RACE) -count=1 -timeout 20m -run '^TestRandom$$' -skip '/tenants' ./machine -rapid.seed=1 -rapid.checks=4 # tenants measures

pinned: $(PROGRAMS) ## Compare the control plane in memory with a real etcd and kube-apiserver, by random requests
	cd sandbox && go test -count=1 ./pinned/...

parity: ## Compare what is rendered with Karmada's own functions
	$(call compiling,the parts of Karmada that the parity tests compare with)
	cd sandbox && go test ./parity

e2e: $(PROGRAMS) ## Run the end-to-end tests, and the commands of the docs, on real Karmadas
	@echo "running the end-to-end tests: each package reports when it ends, after some minutes"
	cd sandbox && go test -count=1 -p 2 -timeout 60m -parallel $(PARALLEL) $(E2E)

alerts: ## Test the alerts with promtool, and the names in them and in the dashboard
	$(call compiling,promtool)
	cd tools/prometheus && go test -count=1 ./...

helm: ## Test the chart with Helm
	$(call compiling,Helm)
	cd tools/helm && go test -count=1 ./...

health: ## Test aggregated statuses with the health libraries of Argo CD and Flux
	$(call compiling,the health libraries of Argo CD and Flux)
	cd tools/health && go test ./...

# e2e, which mostly waits, is one job, and the others, which use a core each, are the other: a job that begins with the
# programs would lose its turn.
levels: e2e check simulation pinned alerts helm health parity

test: ## Run all of these: about half an hour on 2 cores
	@mkdir -p .cache
	@$(MAKE) --no-print-directory programs
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target PROGRAMS= levels 2>&1 | tee .cache/test.log
	cd tools && go run ./budget < ../.cache/test.log

# Real Karmadas mostly wait, while random worlds and mutants compute.
test-long: export SIMULATION := 25m
test-long: programs ## Run what is too long for make test: 25 minutes of random worlds, a soak, many crashes, the oldest Karmada, all mutants; an hour
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target simulation long-tests mutants
	cd sandbox && $(RACE) -count=1 ./bench
	cd tools/goreleaser && go mod tidy -diff

.PHONY: long-tests
long-tests:
	cd sandbox && go test -count=1 -p 1 -timeout 40m -tags long ./e2e/... ./parity
	@$(MAKE) --no-print-directory test-compatibility

test-compatibility: programs ## Run the end-to-end tests on the oldest supported Karmada, and with a newer Kubernetes
	cd sandbox && SANDBOX_KARMADA=$(OLDEST_KARMADA) go test -count=1 -p 1 -timeout 40m ./e2e/...
	cd sandbox && SANDBOX_KUBERNETES=$(NEWEST_KUBERNETES) go test -count=1 -p 1 -timeout 40m ./e2e/...

bench-test: ## Test the benchmark's own code
	cd sandbox && $(RACE) -count=1 ./bench

vulnerabilities: ## Check the daemon against the known vulnerabilities of https://vuln.go.dev
	@mkdir -p .cache
	@cd tools && go tool govulncheck -C .. ./... 2>&1 | tee ../.cache/vulnerabilities.log || { grep -q '^govulncheck: fetching' ../.cache/vulnerabilities.log && \
	    echo "warning: on $$(date -u +%F) the vulnerabilities could not be read, so nothing was checked"; }

build: ## Compile the daemon to .cache/bin/karmada-mirror
	@echo "compiling karmada-mirror: minutes the first time, then seconds"
	go build -trimpath -ldflags "-s -w -X $(CLI).version=$(VERSION) -X $(CLI).revision=$(REVISION)" -o .cache/bin/karmada-mirror .

sandbox: ## Compile Karmada and karmada-mirror for the sandbox; minutes the first time
	@cd sandbox && $(compile)

# Otherwise test packages that run at once would compile it at once, all to the same file.
programs:
	@cd sandbox && $(compile) --checked

fuzz: ## Run each fuzz target for FUZZTIME
	@for package in ./render ./render/override ./render/aggregate ./config ./mirror/judge; do \
	  for target in $$(go test -list '^Fuzz' $$package | grep ^Fuzz); do \
	    go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
	  done; \
	done

mutants: ## Break the daemon on purpose, and check that a test notices: by the patches in tools/mutants/faults, or with PACKAGE=./render by gremlins
	@$(if $(PACKAGE),tools/mutants/gremlins.sh $(PACKAGE),tools/mutants/faults.sh $(FAULT))

soak: programs ## Run a random workload with faults on a real Karmada for SOAK; SEED repeats one
	cd sandbox && go test -v -count=1 -timeout 3h -tags long -run '^TestSoak$$' ./e2e/apart

bench: sandbox ## Measure karmada-mirror against a bare loop and Karmada's policies in 25 minutes, and print a table; AGAINST names an earlier revision
	$(call compiling,the benchmark)
	cd sandbox && go run ./measure bench --json ../.cache/bench.json --against "$(AGAINST)"

bench-quick: sandbox ## Measure a part of that in some minutes
	$(call compiling,the benchmark)
	cd sandbox && go run ./measure bench --quick

sandbox-up: sandbox ## Start a Karmada and leave it running
	@cd sandbox && exec ../.cache/bin/sandbox up

sandbox-down: ## Stop it
	@cd sandbox && go run . down

goreleaser: ## Compile goreleaser to .cache/bin/goreleaser; minutes the first time
	$(call compiling,goreleaser)
	cd tools/goreleaser && go build -o $(CURDIR)/.cache/bin/goreleaser github.com/goreleaser/goreleaser/v2

release-ready: ## Check that the changelog and the manifests name VERSION, such as v0.1.0
	@grep -q '^## \[$(VERSION:v%=%)\] - ' CHANGELOG.md || { echo "CHANGELOG.md has no section [$(VERSION:v%=%)] with a date"; exit 1; }
	@grep -q 'newTag: $(VERSION)$$' manifests/host/kustomization.yaml || { echo "manifests/host/kustomization.yaml does not name the image of $(VERSION)"; exit 1; }
	@grep -q '^appVersion: $(VERSION)$$' manifests/chart/Chart.yaml || { echo "manifests/chart/Chart.yaml does not name the image of $(VERSION)"; exit 1; }

release-notes: ## Print the section of the changelog for VERSION
	@awk -v heading='[$(VERSION:v%=%)]' '/^## / { inside = $$2 == heading; next } /^\[[^]]*\]: / { next } inside' CHANGELOG.md

release-snapshot: goreleaser ## Build the archives of a release in dist/, without SBOMs and signatures
	.cache/bin/goreleaser check
	.cache/bin/goreleaser release --snapshot --clean --skip=publish,sign,sbom
	cd dist && sha256sum --check --quiet *_checksums.txt
