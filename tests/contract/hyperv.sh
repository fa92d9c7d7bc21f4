#!/usr/bin/env bash
# hyperv.sh ENGINE CONFORM PLUGIN: the suite on the Hyper-V provider with a scripted Windows engine; afterwards nothing
# may be left in the engine.
set -euo pipefail
engine=$1 conform=$2 plugin=$3
scratch=$(mktemp -d)
trap 'exec 9>&-; rm -rf "$scratch"' EXIT
mkfifo "$scratch/input"
"$engine" "$scratch/address" <"$scratch/input" >"$scratch/left" &
pid=$!
exec 9>"$scratch/input"
for ((i = 0; i < 200; i++)); do [[ -e $scratch/address ]] && break; sleep 0.05; done
echo 'stands in for the program that takes the secret in a container' >"$scratch/bootstrap"
cat >"$scratch/config.json" <<JSON
{"conform": {"image": "registry.test/windows/runner:1", "os": "windows"},
 "config": {"host": "$(cat "$scratch/address")", "pull": "never", "bootstrap": "$scratch/bootstrap"}}
JSON
status=0
"$conform" run "$plugin" --config "$scratch/config.json" --repeat 3 --timeout 60 ${RMGR_CONFORM_OPTIONS:-} || status=$?
exec 9>&-
wait "$pid" || status=1
cat "$scratch/left"
exit "$status"
