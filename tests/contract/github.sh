#!/usr/bin/env bash
# github.sh EMULATOR CONFORM PLUGIN PACKAGE: the suite on the github plugin, against an emulated GitHub of its own.
set -euo pipefail
scratch=$(mktemp -d)
coproc EMULATOR { exec "$1" --stop-on-input-end --token contract-token --target acme/widgets --package "$4"; }
emulator=$EMULATOR_PID
trap 'kill "$emulator" 2>/dev/null || true; rm -rf "$scratch"' EXIT
read -r line <&"${EMULATOR[0]}"
url=${line#*\"url\":\"}
url=${url%%\"*}
cat >"$scratch/config.json" <<JSON
{"conform": {"target": "acme/widgets"},
 "config": {"url": "$url", "token": "env:CONTRACT_TOKEN", "allow_http": true}}
JSON
CONTRACT_TOKEN=contract-token "$2" run "$3" --config "$scratch/config.json" --repeat 4
