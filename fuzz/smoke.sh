#!/usr/bin/env bash
# Builds every fuzz target and runs each from its seeds, on the pinned stable toolchain and without
# cargo-fuzz. A failing input stays in fuzz/artifacts/; give it to the target to see it again:
#   fuzz/target/<triple>/release/<target> fuzz/artifacts/<target>-crash-...
# FUZZ_RUNS: inputs per target (20000). FUZZ_SECONDS: the most time per target (60; 0 is no bound).
# FUZZ_TARGETS: which targets (all). FUZZ_LENGTH: the longest input (1024).
# FUZZ_KEEP: a folder for what a run finds new, per target (kept nowhere).
# FUZZ_SEED: where the random inputs start (1, so that CI repeats itself; 0 is a new one each time).
set -euo pipefail
cd "$(dirname "$0")/.."

targets=(${FUZZ_TARGETS:-origin request_head location exchange whatwg_origin whatwg_location client_address limit policy})
runs=${FUZZ_RUNS:-20000}
seconds=${FUZZ_SECONDS:-60}
seed=${FUZZ_SEED:-1}
triple=$(rustc -vV | sed -n 's/^host: //p')

command -v "${CXX:-c++}" >/dev/null || { echo "fuzzing needs a C++ compiler: libFuzzer is built from source" >&2; exit 1; }

# What cargo-fuzz sets with `--sanitizer none`: coverage for libFuzzer, from stable codegen options.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares"
# With a named target the flags leave build scripts alone.
cargo build --quiet --locked --release --manifest-path fuzz/Cargo.toml --target "$triple" --target-dir fuzz/target

mkdir -p fuzz/artifacts
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
found=${FUZZ_KEEP:-$temporary}
for target in "${targets[@]}"; do
  mkdir -p "$found/$target"
  log="$temporary/$target.log"
  if ! "fuzz/target/$triple/release/$target" \
    -runs="$runs" -max_total_time="$seconds" -seed="$seed" -max_len="${FUZZ_LENGTH:-1024}" -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="fuzz/artifacts/$target-" "$found/$target" "fuzz/seeds/$target" >"$log" 2>&1; then
    cat "$log" >&2
    echo "fuzz target $target failed" >&2
    exit 1
  fi
  echo "fuzz $target: $(grep -E '^Done ' "$log" || tail -n 1 "$log")"
done
