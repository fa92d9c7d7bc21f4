#!/bin/sh
# Starts the listener, again when it asks for it.
DIR=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
if [ "$(id -u)" -eq 0 ] && [ -z "${RUNNER_ALLOW_RUNASROOT:-}" ]; then
  echo "Must not run interactively with sudo" >&2
  exit 1
fi
cp -f "$DIR/run-helper.sh.template" "$DIR/run-helper.sh"
while :; do
  sh "$DIR/run-helper.sh" "$@"
  code=$?
  case $code in
    2) "$DIR/safe_sleep.sh" 5 ;;
    *) exit $code ;;
  esac
done
