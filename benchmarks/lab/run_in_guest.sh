#!/bin/bash
# run_in_guest.sh all|backends|connects|wakes|trace: in the guest, as root: installs the checkout and measures; the rows go to /out/rows.json.
set -euo pipefail
tests/lab/guest/install_checkout.sh
cd /src
: >/out/measuring
exec python3 -m benchmarks.lab.guest /out/rows.json "$1"
