# Needs Go, git and a C compiler (for the race detector); everything else is
# built from Go modules. Build outputs go to .cache, which git ignores.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
PACKAGE := github.com/karmada-target/karmada-mirror/cli
# The daemon, and the modules of what it does not depend on.
MODULES := . sandbox tools tools/helm tools/prometheus
# The sandbox's packages that are tested with the race detector, besides the
# end-to-end tests. The others would compile the whole of Kubernetes with it.
RACED := ./build ./karmada ./command ./fault ./dashboard ./docs
# A copy of what concerns the daemon; https://vuln.go.dev is the newest.
VULNDB ?= file://$(CURDIR)/tools/vulndb/db
# Tests of faults mostly wait: this many run at once.
PARALLEL ?= 8
FUZZTIME ?= 10s
SOAK ?= 10m
SEED ?= 0
# The oldest Karmada that is supported; docs/reference/versions.md.
OLDEST_KARMADA := 1.16

.PHONY: help demo test test-compatibility check alerts dashboard build sandbox fuzz mutants reliability soak bench bench-quick sandbox-up sandbox-down goreleaser release-ready release-notes release-snapshot

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## See it work on a real Karmada on this machine, until Ctrl-C
	@cd sandbox && go run . demo

test: check alerts sandbox ## All tests, the end-to-end tests on a real Karmada among them
	cd sandbox && go test ./parity
	cd tools/helm && go test -count=1 ./... # the cache does not see changes of files outside of the module
	cd sandbox && go test -race -p 2 -timeout 80m -parallel $(PARALLEL) ./e2e $(RACED)

test-compatibility: export SANDBOX_KARMADA = $(OLDEST_KARMADA)
test-compatibility: sandbox ## The end-to-end tests on the oldest Karmada that is supported
	cd sandbox/hyperkarmada && go mod tidy -diff
	cd sandbox && go test -race -timeout 80m -parallel $(PARALLEL) ./e2e

check: ## Format, vet, module files, known vulnerabilities, and the daemon's unit tests with the race detector
	@unformatted=$$(gofmt -l .); if [[ -n "$$unformatted" ]]; then echo "run gofmt on:"; echo "$$unformatted"; exit 1; fi
	@set -x; for module in $(MODULES); do (cd "$$module" && go vet ./... && go mod tidy -diff); done
	cd sandbox && go vet github.com/karmada-target/karmada-mirror/sandbox/hyperkarmada
	cd tools && go tool govulncheck -C .. -db $(VULNDB) ./...
	go test -race ./...
	go test -run '^TestCost' ./render ./mirror # the race detector allocates as well

alerts: ## Unit tests of the alerts by promtool, and the names in them and in the dashboard; minutes the first time
	cd tools/prometheus && go test ./...

dashboard: sandbox ## Run karmada-mirror under a workload for some minutes, and draw the dashboard from it
	cd tools/prometheus && go build -tags remove_all_sd -o ../../.cache/bin/prometheus github.com/prometheus/prometheus/cmd/prometheus
	cd sandbox && go run . dashboard --prometheus ../.cache/bin/prometheus --picture ../docs/dashboard.png

build: ## Compile the daemon to .cache/bin/karmada-mirror
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X $(PACKAGE).version=$(VERSION) -X $(PACKAGE).revision=$(REVISION)" -o .cache/bin/karmada-mirror .

sandbox: ## Compile Karmada for the sandbox; minutes the first time
	cd sandbox && go run . build

fuzz: ## Run each fuzz target for FUZZTIME
	@for package in ./render ./config ./mirror; do \
	  for target in $$(go test -list '^Fuzz' $$package | grep ^Fuzz); do \
	    go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
	  done; \
	done

mutants: ## Break the daemon at one place at a time, and see that a unit test notices
	cd tools && go test ./mutants && go run ./mutants

reliability: export KARMADA_MIRROR_RELIABILITY_PAGE = $(CURDIR)/docs/reliability.md
reliability: test ## Run all tests, and write docs/reliability.md's table

soak: sandbox ## A random workload with faults for SOAK; SEED repeats one
	cd sandbox && go test -race -v -count=1 -timeout 3h -run '^TestSoak$$' ./e2e -soak $(SOAK) -soak-seed $(SEED)

bench: sandbox ## Measure karmada-mirror against a bare loop and Karmada's policies, and write docs/performance.md
	cd sandbox && go run . bench --page ../docs/performance.md

bench-quick: sandbox ## The same in less than ten minutes, printed
	cd sandbox && go run . bench --quick

sandbox-up: ## Start a Karmada and leave it running
	@cd sandbox && go run . up

sandbox-down: ## Stop it
	@cd sandbox && go run . down

goreleaser: ## Compile goreleaser to .cache/bin/goreleaser; minutes the first time
	cd tools/goreleaser && go build -o $(CURDIR)/.cache/bin/goreleaser github.com/goreleaser/goreleaser/v2

release-ready: ## Say whether the changelog and the manifests are those of VERSION, such as v0.1.0
	@grep -q '^## \[$(VERSION:v%=%)\] - ' CHANGELOG.md || { echo "CHANGELOG.md has no section [$(VERSION:v%=%)] with a date"; exit 1; }
	@grep -q 'newTag: $(VERSION)$$' manifests/host/kustomization.yaml || { echo "manifests/host/kustomization.yaml does not name the image of $(VERSION)"; exit 1; }
	@grep -q '^appVersion: $(VERSION)$$' manifests/chart/Chart.yaml || { echo "manifests/chart/Chart.yaml does not name the image of $(VERSION)"; exit 1; }

release-notes: ## The section of the changelog for VERSION
	@awk -v heading='[$(VERSION:v%=%)]' '/^## / { inside = $$2 == heading; next } /^\[[^]]*\]: / { next } inside' CHANGELOG.md

release-snapshot: goreleaser ## The archives of a release in dist/, without SBOMs and signatures
	.cache/bin/goreleaser check
	.cache/bin/goreleaser release --snapshot --clean --skip=publish,sign,sbom
	cd dist && sha256sum --check --quiet *_checksums.txt
