#!/usr/bin/env bash
# tool.sh CONFORM PLUGINS ZOO: the command line of the suite, and how it tells a crash, a hang and an exit apart.
set -uo pipefail
conform=$1 plugins=$2 zoo=$3
failures=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# wants CODE PATTERN WORD…: the exit code, and a pattern that the output matches.
wants() {
  local code=$1 pattern=$2 output status=0
  shift 2
  output=$("$conform" "$@" 2>&1) || status=$?
  if [[ $status -ne $code ]] || ! grep -qE -- "$pattern" <<<"$output"; then
    failures=$((failures + 1))
    echo "rmgr-conform $*: exit code $status instead of $code, or no \"$pattern\" in:"
    echo "$output"
  fi
}

wants 2 'run and one plugin are wanted'
wants 2 'is unknown' run "$plugins/sample.so" --wrong
wants 2 'there is no plugin library' run "$zoo/no-such-plugin.so"
wants 2 'wants 1 to 1000' run "$plugins/sample.so" --repeat 0
wants 2 'regular expression' run "$plugins/sample.so" --include '('
wants 2 'no test was chosen' run "$plugins/sample.so" --include 'no-such-test'
echo '{"conform": {"tarket": "a/b"}}' >"$scratch/wrong.json"
wants 2 'knows target' run "$plugins/sample.so" --config "$scratch/wrong.json"
wants 0 'usage' --help
wants 0 '^static.magic +The entry object' --list
wants 0 '"id":"static.magic"' --list --json
wants 0 '<testcase classname="static" name="static.magic"' run "$plugins/sample.so" --include '^static' --junit
wants 0 '^9 success, 0 failed' run "$plugins/sample.so" --include '^static' --exclude magic
wants 0 '^1 success' run "$plugins/sample.so" --include '^static.magic$' --in-process
echo '{"conform": {}, "config": {"level": 3}, "gateway": {}, "package-source": {}}' >"$scratch/each.json"
wants 0 '3 success' run "$plugins/sample.so" --config "$scratch/each.json" --include 'config.accepted'
echo '{"level": 30}' >"$scratch/large.json"
wants 1 'too large' run "$plugins/sample.so" --config "$scratch/large.json" --include 'config.accepted'
wants 1 'crashed +load.init: .*signal 6' run "$zoo/crashes-in-init.so" --include 'load.init'
wants 1 'crashed +load.init: .*exit code 0' run "$zoo/exits-in-init.so" --include 'load.init'
wants 1 'failed +load.init: It did not end within 1 s' run "$zoo/hangs-in-init.so" --include 'load.init' --timeout 1
echo "$failures failed"
[[ $failures -eq 0 ]]
