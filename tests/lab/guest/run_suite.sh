#!/bin/bash
# run_suite.sh [pytest args...]: in the guest, as root: installs the checkout and runs pytest on it.
# /out/suite_started says that pytest began, /out/junit.xml what came of it. LAB_CLAIMS: a folder of the host's, where
# guests side by side claim tests (claims.py).
set -euo pipefail
tests/lab/guest/install_checkout.sh
cd /src
if [ -n "${LAB_CLAIMS:-}" ]; then
  mkdir /run/claims
  mount -t hostfs -o "$LAB_CLAIMS" none /run/claims
  set -- -p tests.lab.guest.claims "$@"
fi
: >/out/suite_started
exec python3 -m pytest -v -p no:cacheprovider --junit-xml=/out/junit.xml "$@"
