#!/bin/sh
# exported_symbols.sh DIRECTORY: each plugin library in it defines exactly one dynamic symbol, rmgr_plugin_entry.
set -u
failures=0
libraries=0
for library in "$1"/*.so; do
  [ -f "$library" ] || continue
  libraries=$((libraries + 1))
  symbols=$(nm -D --defined-only "$library" | awk '{print $NF}')
  if [ "$symbols" != "rmgr_plugin_entry" ]; then
    failures=$((failures + 1))
    echo "$library exports something else than rmgr_plugin_entry alone:"
    echo "$symbols"
  fi
done
if [ "$libraries" -eq 0 ]; then
  echo "there is no plugin library in $1"
  exit 1
fi
echo "$libraries libraries looked at, $failures failed"
[ "$failures" -eq 0 ]
