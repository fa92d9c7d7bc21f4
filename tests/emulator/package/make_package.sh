#!/bin/sh
# Makes a runner package with the real layout around the two programs of the emulated runner, and its .sha256 beside it.
# The same inputs give the same bytes. --files and --bytes add filler, to reach the size of a real package.
set -eu

usage() {
  echo "usage: make_package.sh --listener FILE --worker FILE --out DIR [--version V] [--filler PROGRAM --files N --bytes B]" >&2
  exit 2
}

listener='' worker='' out='' version=2.330.0 filler='' files=0 bytes=0
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || usage
  case $1 in
    --listener) listener=$2 ;;
    --worker) worker=$2 ;;
    --out) out=$2 ;;
    --version) version=$2 ;;
    --filler) filler=$2 ;;
    --files) files=$2 ;;
    --bytes) bytes=$2 ;;
    *) usage ;;
  esac
  shift 2
done
if [ -z "$listener" ] || [ -z "$worker" ] || [ -z "$out" ]; then usage; fi

umask 022
mkdir -p "$out"
tree=$(mktemp -d "$out/package.XXXXXX")
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"
layout=$(dirname "$0")/layout
npm=externals/node20/lib/node_modules/npm
mkdir -p "$tree/bin" "$tree/externals/node20/bin" "$tree/$npm/bin" "$tree/$npm/docs/content"

cp "$layout"/*.sh "$layout"/*.template "$tree/"
cp "$listener" "$tree/bin/Runner.Listener"
cp "$worker" "$tree/bin/Runner.Worker"
printf '%s\n' "$version" > "$tree/bin/Runner.Version"
printf '{"runtimeOptions":{"configProperties":{}}}\n' > "$tree/bin/Runner.Listener.runtimeconfig.json"
printf '#!/bin/sh\necho v20.0.0\n' > "$tree/externals/node20/bin/node"
printf '#!/usr/bin/env node\n' > "$tree/$npm/bin/npm-cli.js"
printf '{"name":"npm","version":"10.0.0"}\n' > "$tree/$npm/package.json"
printf '# npm\n' > "$tree/$npm/docs/content/index.md"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$tree/externals/node20/bin/npm"
chmod 755 "$tree"/*.sh "$tree"/bin/Runner.Listener "$tree"/bin/Runner.Worker "$tree/externals/node20/bin/node" \
  "$tree/$npm/bin/npm-cli.js"
chmod 644 "$tree"/*.template

level=6
if [ "$files" -gt 0 ]; then
  "$filler" "$tree/externals/node20/include" "$files" "$bytes"
  level=1
fi

name=actions-runner-linux-x64-$version.tar.gz
(cd "$tree" && tar --sort=name --mtime=@1700000000 --owner=0 --group=0 --numeric-owner --format=gnu -cf - .) |
  gzip -n -$level > "$tree.tar.gz"
mv -f "$tree.tar.gz" "$out/$name"
(cd "$out" && sha256sum "$name" > "$name.sha256")
