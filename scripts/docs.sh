#!/bin/bash
# Builds the website from docs/ and the headers into build/docs/html. See --help.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat << 'TEXT'
usage: scripts/docs.sh [options]

Installs the Debian packages that are missing (as root or with sudo) and builds the website: guide, reference from the headers'
comments, plots. Warnings are errors, and so are links, scripts and style sheets that are not there. The pages need no network,
neither here nor in the browser.

  --no-install do not install packages; go on with what is there
  --open       show the start page in a browser
  --help       this text
TEXT
}

install=yes open=no
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) install=no ;;
    --open) open=yes ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; die "unknown option $1" ;;
  esac
  shift
done

# shellcheck disable=SC2086
[ $install = yes ] && install_packages $packages_docs
python=/usr/bin/python3  # where Debian's packages are, whatever environment is active
for module in sphinx myst_parser breathe sphinx_rtd_theme matplotlib; do
  "$python" -c "import $module" 2> /dev/null ||
    die "the website needs the Python module $module (Debian packages: $packages_docs)"
done
command -v doxygen > /dev/null || die "the website needs doxygen (Debian packages: $packages_docs)"

begin=$SECONDS log=$log_folder/docs.log
mkdir -p build/docs
say "Reading the headers with Doxygen"
rm -rf build/docs/xml
doxygen docs/Doxyfile > "$log" 2>&1 || { cat "$log" >&2; die "Doxygen found fault with the comments of the headers"; }
say "Building the website with Sphinx"
"$python" -m sphinx -a -q -W --keep-going -j auto -d build/docs/doctrees docs build/docs/html > "$log" 2>&1 ||
  { cat "$log" >&2; die "the website has warnings; see $log"; }
"$python" docs/check_site.py build/docs/html || die "pages of the website refer to what is not there, as listed above"
echo "    done in $((SECONDS - begin)) s: file://$root/build/docs/html/index.html"
[ $open = no ] || "$python" -m webbrowser "file://$root/build/docs/html/index.html"
