#!/usr/bin/env bash
# Builds AWS-LC's libcrypto, from the sources in Debian sid's librust-aws-lc-sys-dev, into a private
# prefix, for pqedge-fast.so (src/fastcrypto):
#
#   tools/fast_crypto.sh [--force] [PREFIX]      (default: build/fast-crypto)
#
# The package is downloaded and unpacked, not installed; nothing outside PREFIX changes.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tools/private_apt.sh
. "$top/tools/private_apt.sh"

force=0
prefix=$top/build/fast-crypto
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

# The last header that was added tells a prefix of an older version of this script.
readonly newest=include/crypto/fipsmodule/ml_dsa/ml_dsa.h
if [ $force = 0 ] && [ -e "$prefix/complete" ] && [ -e "$prefix/$newest" ]; then
  echo "AWS-LC $(cat "$prefix/complete") is there: $prefix"
  exit 0
fi
# A folder that is not ours is not emptied.
if [ -e "$prefix" ] && [ ! -e "$prefix/.pqedge-fast-crypto" ] &&
  [ -n "$(ls -A "$prefix" 2>/dev/null)" ]; then
  private_apt_die "$prefix is there and was not made by this script: name another folder"
fi
for tool in cmake ninja gcc-14 g++-14; do
  command -v "$tool" >/dev/null || private_apt_die "$tool is missing: make deps"
done

work=$prefix.fetch
trap 'rm -rf "$work"' EXIT
echo "Fetching AWS-LC's sources of Debian sid ..."
private_apt_begin "$work/apt" sid
private_apt_download "$work/apt" librust-aws-lc-sys-dev
mkdir -p "$work/root"
dpkg-deb --fsys-tarfile "$work"/apt/debs/librust-aws-lc-sys-dev_*.deb | tar -x -C "$work/root" -f -
source=$(find "$work/root/usr/share/cargo/registry" -maxdepth 2 -type d -name aws-lc | head -n 1)
[ -n "$source" ] || private_apt_die "the package has no folder aws-lc"
version=$(dpkg-deb --field "$work"/apt/debs/librust-aws-lc-sys-dev_*.deb Version)

echo "Building its libcrypto ..."
{
  cmake -S "$source" -B "$work/build" -G Ninja \
    -DCMAKE_C_COMPILER=gcc-14 -DCMAKE_CXX_COMPILER=g++-14 -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF \
    -DDISABLE_GO=ON -DDISABLE_PERL=ON -DBUILD_TESTING=OFF -DBUILD_TOOL=OFF -DBUILD_LIBSSL=OFF &&
    cmake --build "$work/build" --target crypto
} >"$work/build.log" 2>&1 || {
  tail -n 30 "$work/build.log" >&2
  private_apt_die "AWS-LC does not build"
}
library=$(find "$work/build" -name libcrypto.a | head -n 1)
[ -n "$library" ] || private_apt_die "there is no libcrypto.a"

rm -rf "$prefix"
mkdir -p "$prefix"/{lib,include/crypto/fipsmodule/{ml_kem,ml_dsa}}
touch "$prefix/.pqedge-fast-crypto"
cp "$library" "$prefix/lib/"
cp -a "$source/include/openssl" "$prefix/include/"
cp "$source/crypto/fipsmodule/ml_kem/ml_kem.h" "$prefix/include/crypto/fipsmodule/ml_kem/"
cp "$source/crypto/fipsmodule/ml_dsa/ml_dsa.h" "$prefix/$newest"
cp "$source/LICENSE" "$prefix/"
echo "$version" >"$prefix/complete"
echo "AWS-LC $version is built: $prefix"
