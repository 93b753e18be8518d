#!/bin/bash
# check_uml_kernel.sh LINUX_UML: whether a kernel has every setting of uml.frag; says which it lacks, exit status 1.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
lacking=$(awk -F= '
  NR == FNR { if ($1 ~ /^CONFIG_/) has[$1] = $2; next }
  $1 ~ /^CONFIG_/ { if ((($1 in has) ? has[$1] : "n") != $2) print "  " $0 }
' <("$1" --showconfig) "$here/uml.frag")
[ -z "$lacking" ] || { printf 'The kernel was not built with tests/lab/image/uml.frag. It lacks\n%s\n' "$lacking" >&2; exit 1; }
