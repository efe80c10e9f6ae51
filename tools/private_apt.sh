# shellcheck shell=bash
# Sourced by scripts that fetch packages of another Debian release into a folder of their own.
# Nothing of the machine changes: apt runs with its own state, its own sources and an empty package
# database, and only downloads and verifies. The mirror and the proxy settings are the machine's
# own, as apt knows them.
#
#   private_apt_begin HOME SUITE...     reads the package lists of those suites
#   private_apt_download HOME PACKAGE...   puts the .deb files into HOME/debs

private_apt_die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

private_apt() {
  local home=$1
  shift
  DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -c "$home/apt.conf" "$@"
}

# The mirror of Debian itself, not of security updates or of other vendors. Before the first
# `apt-get update` apt knows no origins: then the first source that has the path of a mirror.
private_apt_mirror() {
  local mirror
  mirror=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 2>/dev/null |
    awk -F'|' '$1 == "Debian" && $2 == "Debian" && !seen++ { print $3 }')
  if [ -z "$mirror" ]; then
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null |
      awk '/\/debian\/?$/ && !seen++')
  fi
  printf '%s' "$mirror"
}

private_apt_begin() {
  local home=$1 suite mirror keyring tool
  shift
  for tool in apt-get dpkg-deb tar; do
    command -v "$tool" >/dev/null ||
      private_apt_die "$tool is missing: this needs a Debian machine"
  done
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -e "$keyring" ] || keyring=${keyring%.gpg}.pgp
  [ -e "$keyring" ] ||
    private_apt_die "no Debian archive keyring: apt-get install debian-archive-keyring"
  mirror=$(private_apt_mirror)
  [ -n "$mirror" ] || private_apt_die "no Debian mirror in this machine's apt sources"

  rm -rf "$home"
  mkdir -p "$home"/{etc,lists/partial,archives/partial,debs}
  : >"$home/status"
  for suite in "$@"; do
    echo "deb [signed-by=$keyring] $mirror $suite main"
  done >"$home/etc/sources.list"
  # The machine's hooks (cache cleaners, notifiers) must not run for a private download.
  cat >"$home/apt.conf" <<CONF
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::Etc::SourceList "$home/etc/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::Etc::Trusted "/dev/null";
Dir::Etc::TrustedParts "/dev/null";
Dir::State::Lists "$home/lists";
Dir::State::status "$home/status";
Dir::State::extended_states "$home/extended_states";
Dir::Cache::Archives "$home/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Log "$home";
APT::Sandbox::User "root";
Acquire::Retries "3";
Acquire::Languages "none";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
CONF
  private_apt "$home" update >"$home/update.log" 2>&1 || {
    tail -n 5 "$home/update.log" >&2
    private_apt_die "apt-get update failed for $*"
  }
}

private_apt_download() {
  local home=$1
  shift
  (cd "$home/debs" && private_apt "$home" download "$@") >"$home/download.log" 2>&1 || {
    tail -n 10 "$home/download.log" >&2
    private_apt_die "could not fetch $*"
  }
}
