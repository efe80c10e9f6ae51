#!/bin/bash
# Installs Debian forky's haproxy and nginx into a private root, build/rivals/root, for the
# side-by-side benchmark. Nothing of it touches the machine's own packages: apt runs with its own
# state, its own sources and an empty package database, only downloads (and verifies), and the
# packages are unpacked, not configured. No service is started. The benchmark runs the programs by
# chroot, so each has its own libc and its own OpenSSL.
#
# Usage: bench/rivals.sh [--force] [--root DIR]
#   --force   fetch and unpack anew, even when the rivals are already there
#   --root    where to put the private root (default: build/rivals/root)
#
# The mirror and the proxy settings are the machine's own, as apt knows them.
set -euo pipefail

suite=forky
packages=(haproxy nginx)
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
root=$top/build/rivals/root
force=0
while (($#)); do
  case $1 in
    --force) force=1 ;;
    --root) root=${2:?--root needs a directory}; shift ;;
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "rivals.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift
done

die() { echo "rivals.sh: $*" >&2; exit 1; }

in_root() { chroot "$root" "$@"; }

# The versions as the programs themselves print them, TLS library included.
show_versions() {
  in_root /usr/sbin/haproxy -vv 2>/dev/null | grep -E '^(HAProxy version|Running on SSL library version)'
  in_root /usr/sbin/nginx -V 2>&1 | grep -E '^(nginx version|built with OpenSSL|running with OpenSSL)'
  echo "libssl3 package: $(cat "$root/bench/libssl-version")"
}

[[ $(id -u) == 0 ]] || die "needs root (chroot): run it with sudo"
mkdir -p "$root"
root=$(cd "$root" && pwd)
[[ $root != / ]] || die "refusing to use / as the private root"

if ((!force)) && [[ -e $root/bench/complete ]]; then
  show_versions && exit 0
  echo "rivals.sh: the private root is there but its programs do not run: installing anew" >&2
fi

for tool in apt-get dpkg-deb tar chroot; do
  command -v "$tool" >/dev/null || die "$tool is missing: this script needs a Debian machine"
done
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[[ -e $keyring ]] || keyring=${keyring%.gpg}.pgp
[[ -e $keyring ]] || die "no Debian archive keyring: apt-get install debian-archive-keyring"

# The mirror of Debian itself (not of security updates or other vendors), wherever this machine
# gets it from. Before the first `apt-get update` apt knows no origins: then the first source that
# has the path of a Debian mirror.
mirror=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 2>/dev/null |
  awk -F'|' '$1 == "Debian" && $2 == "Debian" { print $3; exit }')
if [[ -z $mirror ]]; then
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null |
    grep -E '/debian/?$' | head -n 1 || true)
fi
[[ -n $mirror ]] || die "no Debian mirror in this machine's apt sources"

apt_home=$(dirname "$root")/apt
rm -rf "$apt_home"
mkdir -p "$apt_home"/{etc,lists/partial,archives/partial}
: >"$apt_home/status"
echo "deb [signed-by=$keyring] $mirror $suite main" >"$apt_home/etc/sources.list"
# The machine's hooks (cache cleaners, notifiers) must not run for a private download.
cat >"$apt_home/apt.conf" <<CONF
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
Dir::Etc::SourceList "$apt_home/etc/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::Etc::Trusted "/dev/null";
Dir::Etc::TrustedParts "/dev/null";
Dir::State::Lists "$apt_home/lists";
Dir::State::status "$apt_home/status";
Dir::State::extended_states "$apt_home/extended_states";
Dir::Cache::Archives "$apt_home/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Log "$apt_home";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
CONF
private_apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -c "$apt_home/apt.conf" "$@"; }

echo "Fetching ${packages[*]} of Debian $suite ..."
private_apt update >"$apt_home/update.log" 2>&1 ||
  { tail -n 5 "$apt_home/update.log" >&2; die "apt-get update failed for $suite"; }
private_apt install -y --download-only "${packages[@]}" base-files >"$apt_home/install.log" 2>&1 ||
  { tail -n 15 "$apt_home/install.log" >&2; die "could not fetch ${packages[*]}"; }

find "$root" -mindepth 1 -delete
mkdir -p "$root"/usr/{bin,sbin,lib,lib64} "$root"/{dev,etc,proc,run,tmp,var/log,bench}
for directory in bin sbin lib lib64; do ln -s "usr/$directory" "$root/$directory"; done
for package in "$apt_home"/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink -f -
done

# What maintainer scripts would have made, as far as the two programs look at it.
cat >"$root/etc/passwd" <<'PASSWD'
root:x:0:0:root:/root:/bin/sh
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin
haproxy:x:101:101::/var/lib/haproxy:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
PASSWD
cat >"$root/etc/group" <<'GROUP'
root:x:0:
www-data:x:33:
haproxy:x:101:
nogroup:x:65534:
GROUP
printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/urandom" c 1 9
chmod 1777 "$root/tmp"
mkdir -p "$root"/var/{log,lib}/nginx "$root/var/lib/haproxy"

libssl=$(find "$apt_home/archives" -name 'libssl3*.deb' | head -n 1)
dpkg-deb --field "$libssl" Version >"$root/bench/libssl-version"
show_versions || die "the unpacked programs do not run"
rm -rf "$apt_home"
touch "$root/bench/complete"
echo "Installed under $root"
