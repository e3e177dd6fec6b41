# What a developer runs; `make` lists it. Tools other than Go's own are pinned in
# internal/devtools/go.mod.

GO       ?= go
DEVTOOLS := $(CURDIR)/internal/devtools/go.mod
LINT     := $(GO) run -modfile=$(CURDIR)/internal/devtools/lint.mod github.com/golangci/golangci-lint/v2/cmd/golangci-lint
# The longest span of simulated market that is ready within two seconds of the start.
BACKFILL ?= 25h

# Every target has a line "name: ... ## what it does", which help prints.
.DEFAULT_GOAL := help
.PHONY: help build run compile test check race lint fmt cover deadcode drift soak vopr teeth fuzz sbom release deb govulncheck cluster cluster-soak clients browser thirdparty bots recordings bench-build bench bench-scale pgo

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# -w leaves out the data of debuggers, a quarter of the program. Stack traces and profiles do not need it.
build: ## write bin/tickhive
	$(GO) build -trimpath -ldflags=-w -o bin/tickhive ./cmd/tickhive

run: build ## build and start the exchange with the built-in pairs and a simulated market
	@echo "page and API     http://127.0.0.1:8080/"
	@echo "API description  http://127.0.0.1:8080/swagger"
	@echo "internal API     http://127.0.0.1:8081/internal/v1/ready"
	@echo "metrics          http://127.0.0.1:8081/metrics"
	@echo "Binance's API    http://127.0.0.1:8090/api/v3/exchangeInfo"
	@exec bin/tickhive serve --binance-listen 127.0.0.1:8090 --console loopback --backfill $(BACKFILL)

# The last lines are go test's own. Everything that tests compile has these settings, so each package is compiled once: also
# what they build themselves, the program and the image, which has no cgo and no paths. The profile of the compiler would
# double the time, the data of debuggers costs a third of the linker's, and make lint has what vet finds. Many tests wait for a
# disk, a browser or another program, so twice as many packages run at a time as the machine has cores. Those that take longest
# begin first. GOGC=400 saves a fifth of the processor time and takes up to 1 GB.
TESTS := CGO_ENABLED=0 GOFLAGS='-trimpath -pgo=off -vet=off -ldflags=-w' $(GO)
compile: ## compile everything as the tests do
	$(TESTS) build ./...

# Where neither a package nor a file that its tests read has changed, go test repeats the last result. It does not see what
# scripts and git read, so the packages whose tests start these run each time; those that start the exchange read the folders of
# its sources (test/harness). SHUFFLE=-shuffle=on runs all, in random order; go test prints the seed.
STARTING := ./test/recipes ./test/deploy ./client/... ./internal/tidy
SHUFFLE  ?=
test: compile ## the tests; make clients has the others of the page in a browser
	@export GOGC=400; p=$$((2 * $$(getconf _NPROCESSORS_ONLN))); failed=0; \
	$(TESTS) test -p $$p -timeout 15m $(SHUFFLE) ./test/cluster ./test/cli $$($(GO) list ./... | grep -vxF "$$($(GO) list $(STARTING))") || failed=1; \
	$(TESTS) test -p $$p -timeout 15m -shuffle=on $(STARTING) || failed=1; \
	exit $$failed

check: lint test race ## everything that must hold before a change goes in

race: ## the tests of packages with goroutines under the race detector
	GO=$(GO) .ci/race

lint: ## golangci-lint with .golangci.yml, and the module files
	$(LINT) run ./...
	$(GO) mod tidy -diff
	$(GO) -C internal/devtools mod tidy -diff

fmt: ## format every Go file
	$(LINT) fmt

# The least statement coverage of the core, in per cent.
COVER_ENGINE := 95

cover: ## statement coverage by package and in all; fails when engine has less than 95 %
	@mkdir -p bin
	@$(TESTS) test -timeout 560s -coverprofile=bin/cover.out ./... > bin/cover.txt || { cat bin/cover.txt; exit 1; }
	@cat bin/cover.txt
	@$(GO) tool cover -func=bin/cover.out | awk '/^total:/ { print "total        " $$3 }'
	@awk -v least=$(COVER_ENGINE) '$$2 == "github.com/tickhive/tickhive/engine" { sub(/.*coverage: /, ""); sub(/%.*/, ""); seen = 1; \
		print "engine       " $$0 "%, at least " least "%"; if ($$0 + 0 < least) exit 1 } \
		END { if (!seen) exit 1 }' bin/cover.txt

# Packages that only tests import, and what others import: the clients, and the floor of the bench, a copy.
NOT_LINKED := ^(client|bench/limits/floor|engine/enginetest|sim/replay/format/dbn/dbntest|internal/(differ|exchange/exchangetest|machine/audit|markettest|stream/jet/jettest|tidy|vfs/vfstest|vopr)|server/servertest|test)/
DEADCODE   := $(GO) run -modfile=$(DEVTOOLS) golang.org/x/tools/cmd/deadcode

deadcode: ## functions that no program reaches, and in packages of tests those that no test reaches
	@out=$$($(DEADCODE) ./... | grep -vE '$(NOT_LINKED)'; $(DEADCODE) -test ./... | grep -vE '^(client|bench/limits/floor)/'); \
		if [ -n "$$out" ]; then echo "$$out" | sort -u; exit 1; fi

clients: ## the program against third-party clients (ccxt and others, pinned in client/thirdparty), generated ones, a browser
	@if command -v npm >/dev/null; then npm ci --prefix client/thirdparty --no-audit --no-fund --ignore-scripts --loglevel=error; \
		else echo "no npm: the packages of client/thirdparty are not installed"; fi
	$(MAKE) -j4 -Otarget browser thirdparty bots recordings # side by side: they wait more than they work

browser: ## the pages in a browser
	TICKHIVE_CLIENTS=1 $(TESTS) test -count=1 -timeout 60m ./test/browser -v

thirdparty: ## third-party and generated clients; make clients installs their packages
	TICKHIVE_CLIENTS=1 $(TESTS) test -count=1 -timeout 60m ./client/thirdparty -v

bots: ## a grid bot and an OCO bot for a minute, with kill -9 and a takeover
	$(TESTS) test -count=1 -timeout 10m ./test/cluster -run TestBotsKnowWhatTheyHave -bots.time=1m -v

recordings: ## files that people hold (../shared/data/forms) against a reading in Python; skipped where they are missing
	$(TESTS) build -o bin/test/ ./cmd/tickhive
	test/recordings/forms.py bin/test/tickhive

# A run that failed is repeated with CLUSTER='-cluster.runs=1 -cluster.seed=n'.
CLUSTER ?= -cluster.runs=60 -cluster.time=8m
cluster: ## the long tests of processes and clusters, and fault runs of a writer, replicas and a stream, for eight minutes
	TICKHIVE_LONG=1 $(TESTS) test -count=1 -timeout 30m -skip TestClusterLosesNothing ./test/cluster ./test/cli \
		./test/deploy ./test/recipes
	$(TESTS) test -count=1 -timeout 2h ./test/cluster -run TestClusterLosesNothing -v $(CLUSTER)

cluster-soak: ## an hour of fault runs with random seeds
	$(TESTS) test -count=1 -timeout 2h ./test/cluster -run TestClusterLosesNothing -v \
		-cluster.runs=1000000 -cluster.time=1h

drift: ## are generated files what their generators make: golden bytes, docs/contract/commands.md, bundles, notices, module files
	$(TESTS) test -count=1 ./cmd/tickhive ./server/binance -run 'Golden'
	$(GO) generate ./server/web && git diff --exit-code server/web
	$(TESTS) test -count=1 ./internal/tidy -run 'Notices'
	$(GO) mod tidy -diff
	$(GO) -C internal/devtools mod tidy -diff

# As many packages at a time as in make test: internal/vopr takes half an hour, and others wait for processes.
soak: ## the long runs, an hour at most on two cores: large random counts, crash loops, new seeds of vopr for 20 minutes, fault runs of a cluster under the race detector
	@failed=0; \
	GOGC=400 TICKHIVE_SOAK=1 $(TESTS) test -count=1 -p $$((2 * $$(getconf _NPROCESSORS_ONLN))) -timeout 3h ./... || failed=1; \
	$(GO) test -race -pgo=off -count=1 -timeout 30m ./test/cluster -run TestClusterLosesNothing -v \
		-cluster.runs=1000 -cluster.time=5m || failed=1; \
	exit $$failed

# A seed that failed is repeated with SEEDS=1 SEED=n; VOPR='-vopr.trace' prints what it did.
SEEDS ?= 1000
SEED  ?= 1
vopr: ## simulate the whole exchange with faults: SEEDS seeds from SEED on
	$(TESTS) test -count=1 -timeout 24h ./internal/vopr -run TestSeeds -v -vopr.seeds=$(SEEDS) -vopr.first=$(SEED) $(VOPR)

teeth: ## plant each bug of test/teeth in a copy of the last commit: does the test that it names find it?
	GO=$(GO) .ci/teeth

fuzz: ## every fuzz target, cheapest first, in FUZZ_SECONDS (600) together
	GO=$(GO) internal/devtools/fuzz.sh

sbom: build ## write bin/sbom.cdx.json, the modules and vendored files of the program (CycloneDX)
	$(GO) run ./internal/tidy/sbom bin/tickhive > bin/sbom.cdx.json
	@awk '/"bom-ref"/ { n++ } END { print "bin/sbom.cdx.json: " n-1 " components" }' bin/sbom.cdx.json

# Programs without cgo are static. Nothing of the machine goes into them: equal commits and equal toolchains give equal
# bytes, so everyone can check an archive. The archives have the README and the files that it and docs/operating.md name,
# the manual page, completions and a configuration.
VERSION   := $(shell sed -n 's/^const Version = "\(.*\)"$$/\1/p' internal/cmdline/build.go)
PLATFORMS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64
SHIPPED   := README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md LICENSE SECURITY.md THIRD_PARTY_NOTICES \
	bench/RESULTS.md client deploy docs server/web/grafana.json
PACKAGE   := internal/devtools/package

release deb: export CGO_ENABLED := 0
release: export GOFLAGS := -trimpath -buildvcs=true
release: export GOWORK := off
release: build ## write bin/release: the commit's archives, Debian packages, bills of materials, SHA256SUMS
	@test -z "$$(git status --porcelain)" || { echo "a release is made from a commit: commit or stash your changes"; exit 1; }
	@rm -rf bin/release && mkdir -p bin/release
	@$(PACKAGE)/pages.sh bin/tickhive bin/release/pages
	@set -e; for p in $(PLATFORMS); do \
		dir=bin/release/$$p; name=tickhive-$(VERSION)-$$p; \
		GOOS=$${p%-*} GOARCH=$${p#*-} $(GO) build -ldflags=-w -o $$dir/tickhive ./cmd/tickhive; \
		$(GO) run ./internal/tidy/sbom $$dir/tickhive > bin/release/$$name.cdx.json; \
		pages=$$(cd bin/release/pages && find * -type f | sort | \
			sed "s|\(.*\)/.*|--prefix=$$name/\1/ --add-file=bin/release/pages/&|"); \
		git -c tar.umask=0022 archive -o bin/release/$$name.tar $$pages \
			--prefix=$$name/bin/ --add-file=$$dir/tickhive --prefix=$$name/ HEAD $(SHIPPED); \
		gzip -9n bin/release/$$name.tar; \
		case $$p in linux-*) GO=$(GO) $(PACKAGE)/deb.sh $$dir/tickhive $${p#*-} bin/release/pages bin/release ;; esac; \
		rm -r $$dir; \
	done; rm -r bin/release/pages
	@cd bin/release && sha256sum *.tar.gz *.deb *.cdx.json > SHA256SUMS && cat SHA256SUMS

deb: build ## write bin/tickhive_*.deb, the Debian package for this machine
	@$(PACKAGE)/pages.sh bin/tickhive bin/pages
	@GO=$(GO) $(PACKAGE)/deb.sh bin/tickhive $$($(GO) env GOARCH) bin/pages bin

# Pinned: the newest version that the module proxy has with all it needs.
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4

govulncheck: ## known vulnerabilities in the linked code; says so when the database cannot be reached
	GO=$(GO) internal/devtools/govulncheck.sh $(GOVULNCHECK) ./cmd/tickhive

# The bench is a program apart from the exchange; both are built by the same profile.
bench-build: build ## write bin/tickhive and bin/tickhive-bench
	$(GO) build -trimpath -pgo=cmd/tickhive/default.pgo -o bin/tickhive-bench ./cmd/tickhive-bench

# It writes the report to bin/bench/report.html and report.json and prints the table of goals last.
bench: bench-build ## every benchmark scenario against its reference, at most eight minutes on two cores
	@mkdir -p bin/bench
	bin/tickhive-bench all --html bin/bench/report.html --json bin/bench/report.json

bench-scale: bench-build ## how costs grow: pairs, resting orders, kept trades, connections, pollers
	@mkdir -p bin/bench
	bin/tickhive-bench scale --html bin/bench/scale.html --json bin/bench/scale.json

# Merged from every process of a shorter whole bench, references included, so that both gain by
# it: matching w3 takes 61 ns instead of 72, folded and published 165 instead of 188, for a program that is 1 % larger.
# A profile of the engine alone is as fast there and gains nothing for handlers. Time in system calls, in idling, in the
# collector and in the load generator is left out.
PROFILED_OUT := linux.Syscall6|runtime.mcall|runtime.gcBgMarkWorker|bench/load
pgo: bench-build ## refresh cmd/tickhive/default.pgo, the profile that the compiler uses (3 min)
	@rm -rf bin/profile && mkdir -p bin/profile
	CPUPROFILE_DIR=$(CURDIR)/bin/profile bin/tickhive-bench all --quick > bin/profile/goals.txt
	$(GO) tool pprof -proto -ignore='$(PROFILED_OUT)' bin/profile/*.pprof > bin/profile/merged.pgo
	mv bin/profile/merged.pgo cmd/tickhive/default.pgo
