#!/usr/bin/env bash
# Installs what pqedge is built and tested with, from Debian's own packages, and
# the npm packages of package-lock.json into node_modules/.
#
#   tools/deps.sh [GROUP...]     groups: build test bench dev all (default: build test)
#   tools/deps.sh check [GROUP...]   only say what is missing; exit 1 if anything is
#   tools/deps.sh undo           take away the apt sources and pins added here
#
# It calls neither apt nor npm when everything is there. On Debian 13 it adds
# trixie-backports, on Debian 12 also trixie and trixie-security, with pins that
# keep the rest of the machine as it is. Debian 12 gets newer system libraries
# by that: on a terminal it lists them and asks first; YES=1 answers yes.
# The mirror is the one that the machine's own apt sources name.
set -euo pipefail
export LC_ALL=C

readonly sources_file=/etc/apt/sources.list.d/pqedge.sources
readonly pins_file=/etc/apt/preferences.d/pqedge
readonly state_dir=/var/lib/pqedge-deps
readonly keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Needed to build and run the two programs.
readonly build_packages=(
  g++-14 cmake ninja-build pkgconf ccache make git ca-certificates
  libssl-dev openssl
  libngtcp2-dev libngtcp2-crypto-ossl-dev libnghttp3-dev libnghttp2-dev
  libtomlplusplus-dev libcli11-dev nlohmann-json3-dev
  libmimalloc-dev libvectorscan-dev libre2-dev
  zlib1g-dev libbrotli-dev libzstd-dev
  libc-ares-dev libcurl4-openssl-dev
  libbotan-3-dev libwolfssl-dev libgcrypt20-dev libntruprime-dev
  curl
)
# Needed by `make test`: libraries, and clients and servers that are not ours.
readonly test_packages=(
  libgtest-dev libllhttp-dev
  nghttp2-client nginx-light haproxy varnish gnutls-bin
  python3 python3-aioquic python3-h2 python3-hpack python3-websockets python3-grpcio python3-cryptography
  python3-jsonschema openssh-server openssh-client openssl-provider-fips
  chromium tshark iproute2 procps
  pebble knot knot-dnsutils testssl.sh
)
# Needed by `make bench` and `make bench-rivals`.
readonly bench_packages=(
  libbenchmark-dev nghttp2-client valgrind linux-perf debootstrap iproute2
)
# Needed to work on the code: `make lint`, the fuzz and clang presets.
readonly dev_packages=(
  clang-19 libclang-rt-19-dev llvm-19 clang-tidy-19 clang-format-19 shellcheck gdb
)
# Older versions of these do not do: "package minimum".
readonly minimums=(
  "libssl-dev 3.5" "openssl 3.5"
  "libngtcp2-dev 1.22" "libngtcp2-crypto-ossl-dev 1.22" "libnghttp3-dev 1.15"
  "libnghttp2-dev 1.64" "curl 8.21" "libcurl4-openssl-dev 8.21"
  "libbotan-3-dev 3.7" "libwolfssl-dev 5.7" "libgcrypt20-dev 1.11"
  "openssh-server 1:9.9" "openssh-client 1:9.9" "libgtest-dev 1.15" "haproxy 3.0" "python3 3.13" "valgrind 1:3.24"
)
# Programs that come as services: installing them for tests must not start them.
readonly services=(nginx haproxy varnish varnishncsa ssh knot)

say() { printf 'deps: %s\n' "$*"; }
die() {
  printf 'deps: %s\n' "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "this needs root: run it as root, or install sudo"
  fi
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q \
    -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \
    -o Dpkg::Use-Pty=0 "$@"
}

# Prints the packages of the given groups, each once.
packages_of() {
  local group
  for group in "$@"; do
    case $group in
      build)
        printf '%s\n' "${build_packages[@]}"
        # A Node.js from elsewhere is left as it is: Debian's would replace it.
        command -v npm >/dev/null || printf '%s\n' nodejs npm
        ;;
      test) printf '%s\n' "${test_packages[@]}" ;;
      bench) printf '%s\n' "${bench_packages[@]}" ;;
      dev) printf '%s\n' "${dev_packages[@]}" ;;
      all) packages_of build test bench dev ;;
      *) die "no such group: $group (there are: build test bench dev all)" ;;
    esac
  done | awk '!seen[$0]++'
}

# Reads package names, prints those that are not installed or are too old.
missing_of() {
  local -A version=()
  local name status number minimum
  local -a wanted
  mapfile -t wanted
  while read -r name status number; do
    [ "$status" = installed ] && version[$name]=$number
  done < <(dpkg-query -W -f '${Package} ${db:Status-Status} ${Version}\n' "${wanted[@]}" 2>/dev/null || true)
  for name in "${wanted[@]}"; do
    if [ -z "${version[$name]:-}" ]; then
      printf '%s\n' "$name"
      continue
    fi
    for minimum in "${minimums[@]}"; do
      if [ "${minimum% *}" = "$name" ] &&
        dpkg --compare-versions "${version[$name]}" lt "${minimum#* }"; then
        printf '%s\n' "$name"
      fi
    done
  done
}

# The Debian release this machine follows: what its sources say comes before
# /etc/os-release, which an upgraded base-files can change.
debian_release() {
  local id codename
  # shellcheck source=/dev/null
  id=$(. /etc/os-release && printf '%s' "${ID:-}")
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
  [ "$id" = debian ] || {
    printf 'other'
    return
  }
  if has_suite bookworm && [ "$codename" != bookworm ]; then
    codename=bookworm
  fi
  printf '%s' "${codename:-sid}"
}

# "suite component uri" of every package index that the machine's apt knows,
# the sources added here left out.
own_suites() {
  # indextargets cannot be told to skip one file, so its lines are taken away.
  local ours=""
  [ -f "$sources_file" ] && ours=$(awk '/^URIs:/ {uri=$2} /^Suites:/ {print $2 " main " uri}' "$sources_file")
  apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v ours="$ours" '
      BEGIN { n = split(ours, lines, "\n"); for (i = 1; i <= n; i++) skip[lines[i]] = 1 }
      { sub(/\/$/, "", $3); line = $1 " " $2 " " $3; if (!(line in skip) && !seen[line]++) print line }'
}

has_suite() { own_suites | awk -v suite="$1" '$1 == suite && $2 == "main" { found = 1 } END { exit !found }'; }

mirror_of() {
  local name
  for name in "$@"; do
    own_suites | awk -v suite="$name" '$1 == suite && $2 == "main" { print $3; exit }'
  done | head -n 1
}

# Writes the sources file's text for the given release.
sources_text() {
  local release=$1 mirror security
  mirror=$(mirror_of "$release" stable oldstable)
  [ -n "$mirror" ] || die "found no Debian mirror for $release in this machine's apt sources (/etc/apt)"
  security=$(mirror_of "$release-security" "$release/updates" stable-security oldstable-security)
  source_entry trixie-backports "$mirror"
  if [ "$release" = bookworm ]; then
    source_entry trixie "$mirror"
    if [ -n "$security" ]; then
      source_entry trixie-security "$security"
    else
      say "this machine has no security source, so none is added for trixie" >&2
    fi
  fi
}

source_entry() {
  has_suite "$1" && return
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n' "$2" "$1"
  [ -f "$keyring" ] && printf 'Signed-By: %s\n' "$keyring"
  printf '\n'
}

pins_text() {
  local release=$1 suite
  if [ "$release" = bookworm ]; then
    # Comes first: apt takes the first record that names a package. The one of backports does not
    # say that it replaces Debian 12's libcurl3-gnutls, whose file it overwrites; trixie's does.
    printf 'Package: libcurl3t64-gnutls libcurl4-gnutls\n'
    printf 'Pin: release n=trixie-backports\nPin-Priority: 100\n\n'
  fi
  printf 'Explanation: QUIC and HTTP/3 libraries that trixie has too old\n'
  printf 'Package: libngtcp2* libnghttp3* curl libcurl*\n'
  printf 'Pin: release n=trixie-backports\nPin-Priority: 600\n'
  [ "$release" = bookworm ] || return 0
  for suite in trixie trixie-security; do
    printf '\nPackage: *\nPin: release n=%s\nPin-Priority: 500\n' "$suite"
  done
  for suite in bookworm bookworm-updates bookworm-security; do
    printf '\nPackage: *\nPin: release n=%s\nPin-Priority: 400\n' "$suite"
  done
}

# Tells what installing would do on Debian 12 and asks. The question is worked
# out beside the real apt configuration: nothing is changed before the answer.
ask_before_upgrade() {
  local release=$1 answer plan new
  shift
  scratch=$(mktemp -d)
  chmod 755 "$scratch"
  mkdir -p "$scratch/sources" "$scratch/prefs" "$scratch/lists/partial"
  cp -a /etc/apt/sources.list.d/. "$scratch/sources/" 2>/dev/null || true
  cp -a /etc/apt/preferences.d/. "$scratch/prefs/" 2>/dev/null || true
  sources_text "$release" >"$scratch/sources/pqedge.sources"
  pins_text "$release" >"$scratch/prefs/pqedge"
  local -a beside=(-q -o "Dir::Etc::SourceParts=$scratch/sources" -o "Dir::Etc::PreferencesParts=$scratch/prefs"
    -o "Dir::State::Lists=$scratch/lists" -o "Dir::Cache::pkgcache=$scratch/pkgcache.bin"
    -o "Dir::Cache::srcpkgcache=$scratch/srcpkgcache.bin" -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
  say "asking apt what this would change; nothing is changed before you agree"
  apt-get "${beside[@]}" update >/dev/null
  plan=$(apt-get "${beside[@]}" -s --no-install-recommends install "$@") ||
    die "apt cannot install the packages; it says:
$(apt-get "${beside[@]}" -s --no-install-recommends install "$@" 2>&1 | tail -n 20)"
  new=$(grep -c '^Inst [^ ]* (' <<<"$plan" || true)
  printf '\npqedge needs libraries newer than Debian 12 has. It takes them from Debian 13\n'
  printf '(trixie, trixie-security, trixie-backports), which are added to the apt sources.\n'
  printf 'From then on this machine takes its updates from Debian 13 as well.\n\n'
  printf 'Newly installed: %s packages. Upgraded in place:\n' "$new"
  awk '/^Inst [^ ]* \[/ { old = $3; gsub(/[][]/, "", old); sub(/^\(/, "", $4); printf "  %-28s %s -> %s\n", $2, old, $4 }' <<<"$plan"
  if grep -q '^Remv ' <<<"$plan"; then
    printf '\nRemoved, most of them replaced under a new name:\n'
    awk '/^Remv / { print "  " $2 }' <<<"$plan"
  fi
  printf '\nGo on? [y/N] '
  read -r answer || answer=n
  case $answer in
    y | Y | yes | Yes | YES) ;;
    *) die "nothing was changed" ;;
  esac
  rm -rf "$scratch"
}

# The groups whose work needs node_modules/.
wants_node_modules() {
  local group
  for group in "$@"; do
    case $group in build | test | all) return 0 ;; esac
  done
  return 1
}

# npm leaves the lock file that it installed from nowhere, so a copy of it is kept as a stamp.
node_modules_current() { cmp -s package-lock.json node_modules/.pqedge-lock; }

# Exactly what package-lock.json says, each package against its hash there. No package's own script
# is run: CMake compiles what is needed from their sources.
install_node_modules() {
  local log
  ! node_modules_current || return 0
  command -v npm >/dev/null || die "npm is missing: install Debian's packages nodejs and npm"
  say "npm installs the packages of package-lock.json into node_modules/"
  log=$(mktemp)
  if ! npm ci --ignore-scripts >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    die "npm failed; its whole output is in $log"
  fi
  rm -f "$log"
  cp package-lock.json node_modules/.pqedge-lock
}

# While packages are installed, none of their services may start.
hold_services() {
  policy=/usr/sbin/policy-rc.d
  if [ -e "$policy" ]; then
    policy_backup=$policy.pqedge-saved
    as_root mv "$policy" "$policy_backup"
  fi
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
}

clean_up() {
  [ -z "${scratch:-}" ] || rm -rf "$scratch"
  release_services
}

release_services() {
  [ -n "${policy:-}" ] || return 0
  as_root rm -f "$policy"
  [ -z "${policy_backup:-}" ] || as_root mv "$policy_backup" "$policy"
  policy=""
}

# A service that only came for the tests must not start at the next boot either.
disable_services() {
  local service
  command -v systemctl >/dev/null || return 0
  for service in "${services[@]}"; do
    case " $* " in
      *" $service "*) as_root systemctl disable --quiet "$service.service" 2>/dev/null || true ;;
    esac
  done
}

services_present() {
  local service
  for service in "${services[@]}"; do
    if [ -e "/lib/systemd/system/$service.service" ]; then printf '%s ' "$service"; fi
  done
}

install_packages() {
  local release
  trap clean_up EXIT
  local -a missing new_services=()
  mapfile -t missing < <(packages_of "$@" | missing_of)
  if [ ${#missing[@]} = 0 ]; then
    return 0
  fi
  command -v apt-get >/dev/null ||
    die "this machine has no apt. Install the equivalents of: ${missing[*]}"
  say "missing or too old: ${missing[*]}"
  release=$(debian_release)
  case $release in
    bookworm | trixie | forky | sid) ;;
    *) die "only Debian 12, 13 and later are set up by this script; install the packages above yourself" ;;
  esac
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    die "installing needs root: run this as root, or install sudo"
  fi
  if [ "$release" = bookworm ] && [ "${YES:-}" != 1 ]; then
    if [ -t 0 ] && [ -t 1 ]; then
      ask_before_upgrade "$release" "${missing[@]}"
    elif [ "${CI:-}" != true ]; then
      die "on Debian 12 this upgrades system libraries (libc and OpenSSL among others) to Debian 13's.
deps: There is no terminal to ask on: set YES=1 to agree."
    fi
  fi

  case $release in
    bookworm | trixie)
      if [ "$release" = bookworm ] && [ -f "$keyring" ] &&
        ! compgen -G '/usr/share/keyrings/debian-archive-trixie-*' >/dev/null; then
        apt_get update
        apt_get install -y --no-install-recommends debian-archive-keyring
      fi
      local text
      text=$(sources_text "$release")
      if [ -n "$text" ]; then
        printf '%s\n' "# Added by pqedge's tools/deps.sh; 'make deps-undo' removes it." "$text" |
          as_root tee "$sources_file" >/dev/null
      fi
      pins_text "$release" | as_root tee "$pins_file" >/dev/null
      as_root chmod 644 "$pins_file"
      [ ! -f "$sources_file" ] || as_root chmod 644 "$sources_file"
      ;;
  esac

  local before after service
  before=" $(services_present) "
  apt_get update
  hold_services
  local log
  log=$(mktemp)
  if ! apt_get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    die "apt failed; its whole output is in $log"
  fi
  rm -f "$log"
  release_services
  after=$(services_present)
  for service in $after; do
    case "$before" in *" $service "*) ;; *) new_services+=("$service") ;; esac
  done
  [ ${#new_services[@]} = 0 ] || disable_services "${new_services[@]}"
  as_root mkdir -p "$state_dir"
  printf '%s\n' "${missing[@]}" | as_root tee -a "$state_dir/installed" >/dev/null

  mapfile -t missing < <(packages_of "$@" | missing_of)
  [ ${#missing[@]} = 0 ] || die "still missing or too old after the installation: ${missing[*]}"
  say "all packages are there"
}

undo() {
  local file found=0
  for file in "$sources_file" "$pins_file"; do
    if [ -e "$file" ]; then
      as_root rm -f "$file"
      say "removed $file"
      found=1
    fi
  done
  if [ $found = 1 ]; then
    apt_get update >/dev/null || say "'apt-get update' failed; run it again later"
  else
    say "no sources or pins of ours are there"
  fi
  if [ -f "$state_dir/installed" ]; then
    say "what stays: the packages below, what they depend on, and the libraries upgraded with them"
    sort -u "$state_dir/installed" | tr '\n' ' ' | fold -s -w 76 | sed 's/^/  /'
    printf '\n'
    say "remove what you do not want with 'apt-get remove NAME...' and 'apt-get autoremove';"
    say "apt does not take an upgraded library back to an older release by itself"
    as_root rm -rf "$state_dir"
  fi
  [ ! -d node_modules ] || say "node_modules/ stays: it is only in this folder, remove it as you like"
}

main() {
  cd "$(dirname "${BASH_SOURCE[0]}")/.."
  case ${1:-} in
    undo)
      undo
      ;;
    check)
      shift
      [ $# -gt 0 ] || set -- build test
      local missing
      missing=$(packages_of "$@" | missing_of)
      if wants_node_modules "$@" && ! node_modules_current; then
        missing+=${missing:+$'\n'}"node_modules (npm ci)"
      fi
      [ -z "$missing" ] || {
        printf '%s\n' "$missing"
        exit 1
      }
      ;;
    -h | --help | help)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
      ;;
    *)
      [ $# -gt 0 ] || set -- build test
      install_packages "$@"
      ! wants_node_modules "$@" || install_node_modules
      ;;
  esac
}

main "$@"
