#!/usr/bin/env bash
# oci.sh podman|docker CONFORM PLUGIN [SOURCE]: the suite on the container provider, with a real engine of its own;
# afterwards nothing may be left in the engine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [[ -z ${RMGR_TEST_ENGINE:-} ]]; then exec "$here/../support/with-engine" "$1" "$0" "$@"; fi
conform=$2 plugin=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/config.json" <<JSON
{"conform": {"image": "$RMGR_TEST_ENGINE_TAG"},
 "config": {"engine": "$RMGR_TEST_ENGINE", "host": "unix://$RMGR_TEST_ENGINE_SOCKET", "pull": "never"}}
JSON
status=0
"$conform" run "$plugin" --config "$scratch/config.json" --repeat 3 --timeout 60 ${RMGR_CONFORM_OPTIONS:-} || status=$?
left() { curl --silent --fail --unix-socket "$RMGR_TEST_ENGINE_SOCKET" "http://engine/v1.40/$1"; }
for what in 'containers/json?all=true' 'volumes' 'networks?filters=%7B%22label%22%3A%5B%22runner-manager.host%22%5D%7D'; do
  if left "$what" | grep -qE '"(Id|Mountpoint)"'; then
    echo "oci.sh: something is left of $what: $(left "$what" | head -c 600)" >&2
    status=1
  fi
done
exit "$status"
