#!/usr/bin/env bash
# Puts Debian experimental's OpenSSL 4 into a private prefix, for a build of pqedge with Encrypted
# Client Hello:
#
#   tools/openssl4.sh [--force] [PREFIX]      (default: build/openssl4)
#   make build OPENSSL_PREFIX=build/openssl4
#
# The packages are downloaded and unpacked, not installed; nothing outside PREFIX changes. The prefix
# has bin/openssl, include/, lib/ (with lib/pkgconfig/) and may be moved as a whole.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tools/private_apt.sh
. "$top/tools/private_apt.sh"

force=0
prefix=$top/build/openssl4
while [ $# -gt 0 ]; do
  case $1 in
    --force) force=1 ;;
    -h | --help)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
      exit 0
      ;;
    -*) private_apt_die "unknown option $1" ;;
    *) prefix=$1 ;;
  esac
  shift
done
mkdir -p "$(dirname "$prefix")"
prefix=$(cd "$(dirname "$prefix")" && pwd)/$(basename "$prefix")

if [ $force = 0 ] && [ -e "$prefix/complete" ] && "$prefix/bin/openssl" version 2>/dev/null; then
  exit 0
fi
# A folder that is not ours is not emptied.
if [ -e "$prefix" ] && [ ! -e "$prefix/.pqedge-openssl4" ] &&
  [ -n "$(ls -A "$prefix" 2>/dev/null)" ]; then
  private_apt_die "$prefix is there and was not made by this script: name another folder"
fi

echo "Fetching OpenSSL 4 of Debian experimental ..."
work=$prefix.fetch
trap 'rm -rf "$work"' EXIT
private_apt_begin "$work/apt" experimental
private_apt_download "$work/apt" libssl4 libssl-dev openssl
mkdir -p "$work/root"
for package in "$work"/apt/debs/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work/root" -f -
done

libraries=$(dirname "$(find "$work/root" -name 'libssl.so.4' | head -n 1)")
[ -d "$libraries" ] || private_apt_die "Debian experimental's libssl4 has no libssl.so.4"
rm -rf "$prefix"
mkdir -p "$prefix"/{bin,include,lib}
touch "$prefix/.pqedge-openssl4"
cp -a "$work/root/usr/include/openssl" "$prefix/include/"
# Headers of the machine's architecture lie in a folder of their own.
for folder in "$work"/root/usr/include/*-linux-*/openssl; do
  [ ! -d "$folder" ] || cp -a "$folder/." "$prefix/include/openssl/"
done
cp -a "$libraries/." "$prefix/lib/"
cp -a "$work/root/usr/bin/openssl" "$prefix/bin/openssl.real"
for file in "$prefix"/lib/pkgconfig/*.pc; do
  sed -i -e 's|^prefix=.*|prefix=${pcfiledir}/../..|' -e 's|^exec_prefix=.*|exec_prefix=${prefix}|' \
    -e 's|^libdir=.*|libdir=${prefix}/lib|' -e 's|^includedir=.*|includedir=${prefix}/include|' "$file"
done
cat >"$prefix/bin/openssl" <<'WRAPPER'
#!/bin/sh
# OpenSSL 4 with its own libraries and no configuration file of the machine's.
here=$(cd "$(dirname "$0")/.." && pwd)
OPENSSL_CONF=${OPENSSL_CONF:-/dev/null} OPENSSL_MODULES=$here/lib/ossl-modules \
  LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$here/bin/openssl.real" "$@"
WRAPPER
chmod 755 "$prefix/bin/openssl"
"$prefix/bin/openssl" version || private_apt_die "the unpacked program does not run here"
touch "$prefix/complete"
echo "Installed under $prefix; build with: make build OPENSSL_PREFIX=$prefix"
