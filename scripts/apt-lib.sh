# SPDX-License-Identifier: MIT
#
# Sourced by guest-root.sh and llama-root.sh: an apt that sees chosen suites of Debian and nothing
# of this machine's packages. Callers have die(), which ends the script.

debian_mirror()
{
	local uri=${NPU_DEBIAN_MIRROR:-}

	if [ -z "$uri" ] && grep -qs '^ID=debian' /etc/os-release; then
		uri=$(apt-get indextargets --format '$(REPO_URI)' \
			'Created-By: Packages' 'Component: main' 2>/dev/null |
			grep -E '/debian/?$' | head -n 1)
	fi
	[ -n "$uri" ] ||
		die "no Debian mirror is set up here: give its address in NPU_DEBIAN_MIRROR"
	printf '%s' "$uri"
}

# apt_setup FOLDER SUITE...: write the configuration to FOLDER and have apt use it. Of the packages
# that match the patterns of $backports trixie-backports is preferred.
apt_setup()
{
	local apt=$1 keyring suite mirror

	for keyring in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
		[ -e "$keyring" ] && break
	done
	[ -e "$keyring" ] || die "Debian's keyring is missing (package debian-archive-keyring)"
	# With the status of die(), which has ended the subshell only.
	mirror=$(debian_mirror) || exit
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status"
	for suite in "${@:2}"; do
		printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$mirror" "$suite"
	done >"$apt/sources"
	: >"$apt/preferences"
	[ -z "${backports:-}" ] ||
		printf 'Package: %s\nPin: release n=trixie-backports\nPin-Priority: 990\n' \
			"$backports" >"$apt/preferences"
	cat >"$apt/config" <<-END
		Dir::State "$apt";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt/cache";
		Dir::Cache::pkgcache "";
		Dir::Cache::srcpkgcache "";
		Dir::Etc::sourcelist "$apt/sources";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferences "$apt/preferences";
		Dir::Etc::preferencesparts "/dev/null";
		Dir::Log "$apt";
		APT::Architecture "amd64";
		APT::Architectures { "amd64"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "";
		Acquire::Check-Valid-Until "false";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Debug::NoLocking "true";
	END
	export APT_CONFIG=$apt/config
}
