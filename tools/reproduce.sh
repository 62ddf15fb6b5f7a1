#!/usr/bin/env bash
# Builds what is shipped twice, in two folders with a cargo home each, and compares the bytes with each
# other, with those in dist/, and with dist/SHA256SUMS if there is one.
set -euo pipefail
cd "$(dirname "$0")/.."

artifacts=(dist/messageweave-lb.wasm dist/messageweave-lb-p3.wasm dist/messageweave-lb-envoy.wasm)
home=${CARGO_HOME:-$HOME/.cargo}
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

build() {
  local folder=$room/$1 cargo_home=$room/$2
  mkdir -p "$folder" "$cargo_home/registry"
  # What git has or would take: nothing that was built.
  git ls-files -z --cached --others --exclude-standard | tar --null -cf - -T - | tar -xf - -C "$folder"
  # The packages as they were published spare the download; their sources are unpacked anew.
  for part in config.toml registry/index registry/cache; do
    if [ -e "$home/$part" ]; then cp -R "$home/$part" "$cargo_home/$part"; fi
  done
  CARGO_HOME=$cargo_home make --no-print-directory -C "$folder" "${artifacts[@]}" >/dev/null
  (cd "$folder" && sha256sum "${artifacts[@]}") >"$room/$1.sums"
}

build first one-home
build second/at/another/depth another-cargo-home

mv "$room/second/at/another/depth.sums" "$room/second.sums"
if grep -alF -e "$PWD/" -e "$home/" -e "$room/" "${artifacts[@]}" "${artifacts[@]/#/$room/first/}"; then
  echo "these hold a path of this machine" >&2
  exit 1
fi
diff "$room/first.sums" "$room/second.sums" || { echo "two clean builds differ" >&2; exit 1; }
sha256sum --quiet --check "$room/first.sums" || { echo "dist/ is not what a clean build makes" >&2; exit 1; }
[ ! -e dist/SHA256SUMS ] || (cd dist && sha256sum --quiet --check SHA256SUMS)
cat "$room/first.sums"
