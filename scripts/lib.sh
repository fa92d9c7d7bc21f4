# What the scripts share: packages, builds, and where things are. Sourced, not run.
# shellcheck shell=bash
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export ROOT

PACKAGES=(
  g++ clang cmake ninja-build ccache mold pkg-config git
  libboost1.81-dev libsqlite3-dev libyaml-cpp-dev libcurl4-openssl-dev libssl-dev libspdlog-dev libfmt-dev
  nlohmann-json3-dev libarchive-dev libcli11-dev libgtest-dev libgmock-dev
  librapidcheck-dev e2fsprogs mount
)
FUZZ_PACKAGES=(clang-14 libclang-rt-14-dev)
SYSTEMD_PACKAGES=(podman runc netavark fuse-overlayfs iptables debootstrap)
LINT_PACKAGES=(clang-format clang-tidy cppcheck)

# Installs what is missing; says nothing where nothing is.
need_packages() {
  local missing=() name
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' || missing+=("$name")
  done
  ((${#missing[@]} == 0)) && return 0
  local as_root=()
  ((EUID == 0)) || as_root=(sudo)
  echo "installing: ${missing[*]}" >&2
  "${as_root[@]}" apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}" >&2
}

# build PRESET TARGET…: everything a caller prints goes to standard error, so that answers stay clean.
build() {
  local preset=$1
  shift
  (cd "$ROOT" && cmake --preset "$preset" >"$ROOT/build/$preset.configure.log" 2>&1) || {
    cat "$ROOT/build/$preset.configure.log" >&2
    return 1
  }
  cmake --build "$ROOT/build/$preset" --parallel "$(nproc)" --target "$@" >&2
}
mkdir -p "$ROOT/build"
