#!/usr/bin/env bash
# Installs strace and the static tool, whose sum is checked: $RUNNER_TEMP/vectored/vectored.
set -euo pipefail
version=0.1.0
folder=$RUNNER_TEMP/vectored
tool=${TOOL:-$RELEASES/v$version/vectored-$version-$(uname -m)-linux}
mkdir -p "$folder"
cd "${GITHUB_WORKSPACE:-.}"
# get FROM TO: a file or an address.
get() {
    case $1 in
    *://*) curl --fail --silent --show-error --location --retry 3 --output "$2" "$1" ;;
    *) cp "$1" "$2" ;;
    esac
}
get "$tool" "$folder/vectored"
sum=${SHA256:-}
if [ -z "$sum" ] && [[ $tool == *://* ]]; then
    get "${tool%/*}/SHA256SUMS" "$folder/sums"
    sum=$(awk -v name="${tool##*/}" '$2 == name { print $1 }' "$folder/sums")
    rm "$folder/sums"
    [ -n "$sum" ] || { echo "::error::SHA256SUMS beside $tool does not name it" && exit 1; }
fi
# A file of the repository needs no sum: git has one.
[ -z "$sum" ] || echo "$sum  $folder/vectored" | sha256sum --check --quiet - || {
    rm "$folder/vectored"
    echo "::error::$tool does not have the SHA-256 sum $sum"
    exit 1
}
chmod +x "$folder/vectored"
"$folder/vectored" --version
if ! command -v strace >/dev/null; then
    sudo apt-get update -qq && sudo apt-get install -y -qq strace
fi
