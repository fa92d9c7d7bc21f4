#!/bin/sh
# layout_complete.sh DIRECTORY GOLDEN: the golden table names exactly the structs and members that the headers of
# DIRECTORY define, so that a new one cannot be left out.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Comments first, so that a brace or semicolon in one is not taken for code.
for header in "$1"/*.h; do
  awk '
    { line = $0; text = ""
      while (line != "") {
        if (inside) {
          at = index(line, "*/"); if (at == 0) break
          line = substr(line, at + 2); inside = 0
        } else {
          at = index(line, "/*")
          if (at == 0) { text = text line; break }
          text = text substr(line, 1, at - 1); line = substr(line, at + 2); inside = 1
        }
      }
      print text }' "$header"
done | tr '\n' ' ' | sed 's/;/;\n/g' | awk '
  # One statement a line. A struct begins in the statement of its first member and ends with "} NAME;".
  /typedef struct [a-z_]* *\{/ { inside = 1; members = 0; sub(/.*\{/, "") }
  inside && /\}/ {
    name = $0; sub(/.*\} */, "", name); sub(/ *;.*/, "", name)
    print name " size"
    for (i = 1; i <= members; ++i) print name "." member[i]
    inside = 0; next
  }
  inside {
    text = $0
    if (match(text, /RMGR_CALL \*[a-z_0-9]+\)/)) {
      text = substr(text, RSTART, RLENGTH); sub(/RMGR_CALL \*/, "", text); sub(/\)/, "", text)
    } else {
      sub(/ *;.*/, "", text); sub(/.*[ *]/, "", text)
    }
    member[++members] = text
  }' | sort >"$scratch/headers"
awk '$2 == "size" { print $1 " size"; next } { print $1 }' "$2" | sort >"$scratch/golden"
if ! diff "$scratch/headers" "$scratch/golden" >"$scratch/diff"; then
  echo "The headers define what the golden table does not name (<), or the other way round (>):"
  cat "$scratch/diff"
  exit 1
fi
echo "$(grep -c ' size$' "$scratch/golden") structs, $(grep -vc ' size$' "$scratch/golden") members"
