#!/bin/sh
# A just-in-time runner is not configured by hand.
if [ "$(id -u)" -eq 0 ] && [ -z "${RUNNER_ALLOW_RUNASROOT:-}" ]; then
  echo "Must not run with sudo" >&2
  exit 1
fi
echo "this runner is configured by a just-in-time configuration only" >&2
exit 1
