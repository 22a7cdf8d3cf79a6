# Needs Go, git and a C compiler (for the race detector); everything else is
# built from Go modules. Build outputs go to .cache, which git ignores.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
PACKAGE := github.com/karmada-target/karmada-mirror/cli
# The daemon's module, and those that it does not depend on.
MODULES := . sandbox sandbox/kwok tools tools/health tools/helm tools/prometheus
# The sandbox packages to test with the race detector. The others would compile all of
# Kubernetes with it; the daemon of the end-to-end tests always has it.
RACED := ./build ./fault ./process ./written ./dashboard ./waves ./bench
# The packages that start a Karmada, the longest first. Two run at once: with three, the
# components would need more inotify instances than Linux gives a user (128).
E2E := ./e2e/shared ./docs ./e2e/apart ./e2e/machine ./command ./karmada
# The tests that make test leaves to make test-long.
ONLY_LONG := TestFleet|TestMachineInMembers
# With those, the tests that take longer with the build tag long.
LONG := $(ONLY_LONG)|TestMachine|TestAdmission|TestInstall|TestUpgrade|TestCrash|TestSoak
# A copy of the entries that concern the daemon; https://vuln.go.dev is the newest.
VULNDB ?= file://$(CURDIR)/.cache/vulndb
# How many days old the copy may be.
VULNDB_DAYS ?= 120
# The source from which make vulndb makes the copy.
VULNDB_WHOLE ?= https://vuln.go.dev/vulndb.zip
# Fault tests mostly wait: this many run at once. With more, two cores are so busy that
# daemons lose their Leases.
PARALLEL ?= 3
FUZZTIME ?= 10s
# The part of the mutants to try. make test-long tries a tenth, another one after each
# commit: all take 20 minutes.
PART ?= 0/1
NEXT_PART = $(shell echo $$(($$(git rev-list --count HEAD) % 10)))/10
export SOAK ?= 3m
export SEED ?= 0
# The oldest supported Karmada; docs/reference/versions.md.
OLDEST_KARMADA := 1.16

.PHONY: help demo recording test test-long long-tests checked test-compatibility check vulndb alerts dashboard waves build sandbox fuzz mutants soak machine bench bench-quick sandbox-up sandbox-down goreleaser release-ready release-notes release-snapshot

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The go command compiles silently.
compiling = @echo "compiling $(1): takes minutes the first time, then seconds"

demo: ## See it work on a real Karmada on this machine, until Ctrl-C
	$(call compiling,the sandbox command)
	@cd sandbox && go run . demo

# From the start of Karmada, with the commands in bold; the last frame stays for some seconds.
recording: sandbox ## Record the demo as docs/demo.svg; needs asciinema and npx
	cd sandbox && go build -o ../.cache/bin/sandbox .
	cd sandbox && asciinema rec --quiet --overwrite --idle-time-limit 3 --cols 118 --rows 34 ../.cache/demo.cast --command \
	  '../.cache/bin/sandbox demo --exit --pause 2s | sed -u -n "/^starting/,/^stopping/ { /^stopping/d; s/^\$$ .*/\x1b[1m&\x1b[0m/; p }"; sleep 3'
	npx --yes svg-term-cli@2.0.4 --in .cache/demo.cast --out docs/demo.svg --window --no-cursor

# The test cache does not notice changes of files outside a module, or of programs that a
# test starts: tests that read or start such things run every time.
test: check alerts checked ## Run all tests but the longest, including end-to-end tests on real Karmadas: 40 minutes on 2 cores, or 55 including compilation
	$(call compiling,the parts of Karmada that the parity tests compare with)
	cd sandbox && go test ./parity
	$(call compiling,Helm)
	cd tools/helm && go test -count=1 ./...
	$(call compiling,the health libraries of Argo CD and Flux)
	cd tools/health && go test ./...
	cd sandbox && go test -race -count=1 $(RACED)
	@echo "running the end-to-end tests: each package reports when it ends, after some minutes"
	cd sandbox && go test -count=1 -p 2 -timeout 40m -parallel $(PARALLEL) -skip '^($(ONLY_LONG))$$' $(E2E)

test-long: checked ## Run the long tests: many crashes, a soak of SOAK, mass changes, Helm, a tenth of the mutants; 55 minutes at most
	timeout --kill-after=1m 55m $(MAKE) --no-print-directory long-tests mutants PART=$(NEXT_PART)

long-tests:
	@for name in $(subst |, ,$(LONG)); do grep -rqs "^func $$name(" sandbox/e2e || { echo "cannot find $$name, which make test-long should run"; exit 1; }; done
	@echo "running the long end-to-end tests: each package reports when it ends, after some minutes"
	cd sandbox && go vet -tags long ./e2e/...
	cd sandbox && go test -count=1 -p 2 -timeout 40m -parallel 2 -tags long -run '^($(LONG))$$' ./e2e/machine ./e2e/shared ./e2e/apart
	cd sandbox && go test -count=1 -tags long -run '^(TestWorkName|TestNeeds)$$' ./parity

test-compatibility: export SANDBOX_KARMADA = $(OLDEST_KARMADA)
test-compatibility: checked ## Run the end-to-end tests on the oldest supported Karmada
	cd sandbox/hyperkarmada && go mod tidy -diff
	cd sandbox && go test -count=1 -p 2 -timeout 80m -parallel $(PARALLEL) ./e2e/...

check: .cache/vulndb/index/db.json ## Check format, vet, module files and known vulnerabilities, and run the daemon's unit tests with the race detector
	@unformatted=$$(gofmt -l .); if [[ -n "$$unformatted" ]]; then echo "run gofmt on:"; echo "$$unformatted"; exit 1; fi
	@set -x; for module in $(MODULES); do (cd "$$module" && go vet ./... && go mod tidy -diff); done
	cd sandbox && go vet github.com/karmada-target/karmada-mirror/sandbox/hyperkarmada
	cd tools && go test -count=1 ./...
	cd tools && go run ./vulndb age $(VULNDB) $(VULNDB_DAYS)
	cd tools && go tool govulncheck -C .. -db $(VULNDB) ./...
	go test -race ./...
	go test -run '^TestCost' ./render ./mirror/gather ./mirror/write # the race detector allocates as well

.cache/vulndb/index/db.json: tools/vulndb/db.zip tools/vulndb/unpack.go
	cd tools && go run ./vulndb unpack vulndb/db.zip ../.cache/vulndb

vulndb: ## Update the copy of the known vulnerabilities that make check uses
	@mkdir -p .cache
	curl --fail --silent --show-error --location --output .cache/vulndb.zip $(VULNDB_WHOLE)
	go list -m -f '{{.Path}}' all > .cache/vulndb.modules
	cd tools && go run ./vulndb reduce ../.cache/vulndb.zip vulndb/db.zip < ../.cache/vulndb.modules

alerts: ## Test the alerts with promtool, and the names in them and in the dashboard; minutes the first time
	$(call compiling,promtool)
	cd tools/prometheus && go test -count=1 ./...

dashboard: sandbox ## Run karmada-mirror under a workload for some minutes, and draw the dashboard from it
	$(call compiling,Prometheus and the renderer)
	cd tools/prometheus && go build -tags remove_all_sd -o ../../.cache/bin/prometheus github.com/prometheus/prometheus/cmd/prometheus
	cd sandbox && go run ./measure dashboard --prometheus ../.cache/bin/prometheus --picture ../docs/dashboard.png

waves: sandbox ## Roll out in waves to twelve members, and draw docs/waves.svg from it; minutes
	$(call compiling,the drawing code)
	cd sandbox && go run ./measure waves --picture ../docs/waves.svg

build: ## Compile the daemon to .cache/bin/karmada-mirror
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X $(PACKAGE).version=$(VERSION) -X $(PACKAGE).revision=$(REVISION)" -o .cache/bin/karmada-mirror .

sandbox: ## Compile Karmada for the sandbox; minutes the first time
	$(call compiling,the sandbox command)
	cd sandbox && go run . build

# Otherwise test packages that run at once would compile it at once, all to the same file.
checked:
	$(call compiling,the sandbox command)
	cd sandbox && go run . build --checked

fuzz: ## Run each fuzz target for FUZZTIME
	@for package in ./render ./render/override ./render/aggregate ./config ./mirror/judge; do \
	  for target in $$(go test -list '^Fuzz' $$package | grep ^Fuzz); do \
	    go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
	  done; \
	done

mutants: ## Break the daemon at one place at a time, and check that a unit test notices; PART=0/10 tries a tenth
	cd tools && go test -count=1 ./mutants && go run ./mutants -part $(PART)

soak: checked ## Run a random workload with faults for SOAK; SEED repeats one
	cd sandbox && go test -v -count=1 -timeout 3h -tags long -run '^TestSoak$$' ./e2e/apart

machine: export MACHINE ?= 1h
machine: checked ## Run random users, networks and daemons for MACHINE, and check them against a model
	cd sandbox && go test -v -count=1 -timeout 3h -run '^TestMachine$$' ./e2e/machine

bench: sandbox ## Measure karmada-mirror against a bare loop and Karmada's policies, and write docs/performance.md
	$(call compiling,the benchmark)
	cd sandbox && go run ./measure bench --page ../docs/performance.md

bench-quick: sandbox ## Measure the same in less than ten minutes, and print it
	$(call compiling,the benchmark)
	cd sandbox && go run ./measure bench --quick

sandbox-up: ## Start a Karmada and leave it running
	$(call compiling,the sandbox command)
	@cd sandbox && go run . up

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
