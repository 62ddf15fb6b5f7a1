#!/usr/bin/env bash
# Prints the compiler's flags for what is shipped, as CARGO_ENCODED_RUSTFLAGS wants them, and further ones
# that it is given: no path of the
# machine that builds gets into an artifact, so that its bytes depend on the sources alone.
set -euo pipefail
cd "$(dirname "$0")/.."

# The folder of a registry's sources is named by the registry: it must be there before it is looked for.
cargo fetch --quiet --locked --target wasm32-wasip2

flags=("$@" "--remap-path-prefix=$PWD=.")
for home in "${CARGO_HOME:-$HOME/.cargo}" "$(realpath "${CARGO_HOME:-$HOME/.cargo}")"; do
  for sources in "$home"/registry/src/*/; do
    flags+=("--remap-path-prefix=${sources%/}=")
  done
done
# With the component rust-src, the compiler names the standard library's files where they lie.
commit=$(rustc -vV | sed -n 's/^commit-hash: //p')
flags+=("--remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$commit")

IFS=$'\x1f'
printf '%s' "${flags[*]}"
