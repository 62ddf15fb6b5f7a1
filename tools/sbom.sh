#!/usr/bin/env bash
# Writes a CycloneDX bill of materials beside each artifact in dist/: every crate that is compiled into it or for
# its build scripts and macros, with version and licence, and the hash of what came from a registry. The tools that
# run behind the compiler (tools/trim) are in none: of theirs nothing is in the artifact.
set -euo pipefail
cd "$(dirname "$0")/.."

# Its time is that of the sources, so that it can be made again byte for byte.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH

scratch=.bill-of-materials
sweep() { find . -path ./target -prune -o -name "$scratch.json" -exec rm {} +; }
trap sweep EXIT

bill() {
  local artifact=$1 package=$2
  shift 2
  .tools/bin/cargo-cyclonedx cyclonedx --quiet --format json --spec-version 1.5 --override-filename "$scratch" "$@"
  # The tool names local packages by where they lie; one of each workspace member is written.
  sed "s#file://$PWD#file:///messageweave-lb#g" "$package/$scratch.json" >"dist/$artifact.cdx.json"
  sweep
}

bill messageweave-lb . --target wasm32-wasip2 --features component
bill messageweave-lb-p3 . --target wasm32-wasip2 --features p3
bill messageweave-lb-envoy envoy --target wasm32-wasip1
