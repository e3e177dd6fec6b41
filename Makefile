# What a developer runs. Tools other than Go's own are pinned in internal/devtools/go.mod.

GO       ?= go
DEVTOOLS := $(CURDIR)/internal/devtools/go.mod
# The longest span of simulated market that is ready within two seconds of the start.
BACKFILL ?= 25h
FUZZTIME ?= 60s

.PHONY: build run test soak fuzz bench bench-scale pgo lint fmt

build:
	$(GO) build -trimpath -o bin/tickhive ./cmd/tickhive

# Starts the exchange with the built-in pairs and a simulated market.
run: build
	@echo "page and API     http://127.0.0.1:8080/"
	@echo "API description  http://127.0.0.1:8080/swagger"
	@echo "internal API     http://127.0.0.1:8081/internal/v1/ready"
	@echo "metrics          http://127.0.0.1:8081/metrics"
	@exec bin/tickhive serve --backfill $(BACKFILL)

# Everything that must hold before a change goes in; the last lines are go test's own. The
# profile is left out: every package would be compiled twice. The long runs have it.
test: lint
	$(GO) test -pgo=off -timeout 280s ./...
	GO=$(GO) .ci/race

lint:
	$(GO) vet ./...
	$(GO) run -modfile=$(DEVTOOLS) honnef.co/go/tools/cmd/staticcheck ./...
	@out=$$($(GO) run -modfile=$(DEVTOOLS) mvdan.cc/gofumpt -l $$(git ls-files '*.go')); \
		if [ -n "$$out" ]; then echo "not formatted (make fmt):"; echo "$$out"; exit 1; fi

fmt:
	$(GO) run -modfile=$(DEVTOOLS) mvdan.cc/gofumpt -w $$(git ls-files '*.go')

# The long runs: large random counts, crash loops.
soak:
	TICKHIVE_SOAK=1 $(GO) test -timeout 3h ./...

# Each fuzz target for FUZZTIME, one after the other.
fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

# The bench is a program apart from the exchange; both are built by the same profile.
.PHONY: bench-build
bench-build: build
	$(GO) build -trimpath -pgo=cmd/tickhive/default.pgo -o bin/tickhive-bench ./cmd/tickhive-bench

# Every scenario against its reference, in at most ten minutes on two cores. It writes the
# report to bin/bench/report.html and report.json and prints the table of goals last.
bench: bench-build
	@mkdir -p bin/bench
	bin/tickhive-bench all --html bin/bench/report.html --json bin/bench/report.json

# The profile that the compiler uses, cmd/tickhive/default.pgo: merged from every process of
# a shorter whole bench, references included, so that both gain by it. Time in system calls,
# in idling, in the collector and in the load generator is left out.
PROFILED_OUT := linux.Syscall6|runtime.mcall|runtime.gcBgMarkWorker|bench/load
pgo: bench-build
	@rm -rf bin/profile && mkdir -p bin/profile
	CPUPROFILE_DIR=$(CURDIR)/bin/profile bin/tickhive-bench all --quick > bin/profile/goals.txt
	$(GO) tool pprof -proto -ignore='$(PROFILED_OUT)' bin/profile/*.pprof > bin/profile/merged.pgo
	mv bin/profile/merged.pgo cmd/tickhive/default.pgo

# How costs grow: pairs, resting orders, kept trades, connections, pollers.
bench-scale: bench-build
	@mkdir -p bin/bench
	bin/tickhive-bench scale --html bin/bench/scale.html --json bin/bench/scale.json
