#!/bin/bash
# run_suite.sh [pytest args...]: in the guest, as root: installs the checkout and runs pytest on it.
# /out/suite_started says that pytest began, /out/junit.xml what came of it.
set -euo pipefail
tests/lab/guest/install_checkout.sh
cd /src
: >/out/suite_started
exec python3 -m pytest -v -p no:cacheprovider --junit-xml=/out/junit.xml "$@"
