#!/bin/bash
# boot.sh [options] -- COMMAND...: boots a lab guest, runs COMMAND there as root in /host, streams its output and
# exits with its status; 124: out of time, 125: the guest died. build.sh comes first.
#   -e ENGINE   uml (default), tcg, or nspawn (no Wi-Fi: units, D-Bus, journal)
#   -i          a shell on this terminal instead of a command (uml)
#   -s FOLDER   what the guest sees as /host, read-only (default: the checkout); -w: writable
#   -b SECONDS  for the boot (default 60, tcg 180); -t SECONDS for the command after it (default 600)
#   -o FOLDER   gets log, console, journal, status, booted (the guest's uptime, s, before the command)
#   -l FD       the guest's /dev/ttyS0 is this open file (uml)
#   -a          also analysis (systemd-analyze)
# LAB_MEM: the guest's memory in MB (1536). LAB_IFNAMES=0: the kernel's interface names whatever udev says.
set -u
LAB=$(cd "$(dirname "$0")" && pwd)
ENGINE=${LAB_ENGINE:-uml} share=$(realpath "$LAB/../..") mode=ro boot_s='' command_s=600 out='' analysis='' shell='' serial=null
while getopts e:is:wb:t:o:l:a option; do
  case $option in
    e) ENGINE=$OPTARG ;; i) shell=1 ;; s) share=$(realpath "$OPTARG") ;; w) mode=rw ;; b) boot_s=$OPTARG ;;
    t) command_s=$OPTARG ;; o) out=$OPTARG ;; l) serial=fd:$OPTARG ;; a) analysis=1 ;; *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ -z "$shell" ] || set -- 'stty sane cols 120; exec setsid --ctty --wait bash -i </dev/tty0 >/dev/tty0 2>&1'
[ -n "$boot_s" ] || { [ $ENGINE = tcg ] && boot_s=180 || boot_s=60; }
source "$LAB/image/cached_parts.sh"
for part in "$ROOTFS" $([ $ENGINE != uml ] || echo "$UML") $([ $ENGINE != tcg ] || echo "$DISK"); do
  [ -e "$part" ] || { echo "boot.sh: no $part: run build.sh $ENGINE first" >&2; exit 2; }
done
scratch=$(mktemp -d /tmp/wifimgrd-lab.XXXXXX)
[ -n "$out" ] || out=$scratch/out
mkdir -p "$out"; out=$(realpath "$out")
rm -f "$out"/{log,status,booted,command,console,journal,analysis,with_hwsim,with_analysis}
printf '%s\n' "$*" >"$out/command"
: >"$out/log"
[ $ENGINE = nspawn ] || : >"$out/with_hwsim"
[ -z "$analysis" ] || : >"$out/with_analysis"
memory=${LAB_MEM:-1536}
arguments="systemd.show_status=1 net.ifnames=${LAB_IFNAMES:-1}"

# A UML guest is one thread of work in several processes that hand over to each other at each system call and page
# fault: kept on one CPU it runs three times as fast. The CPU is the one with the fewest guests.
claim_cpu() {
  local cpus lock turn
  mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' | awk -F- '{ for (i = $1; i <= $NF; i++) print i }')
  for turn in 1 2 3 4; do
    for cpu in "${cpus[@]}"; do
      exec {lock}>"$CACHE/cpu-$cpu.lock${turn#1}"
      flock -n "$lock" && return
      exec {lock}>&-
    done
  done
  cpu=${cpus[$((RANDOM % ${#cpus[@]}))]}
}

# Its tests have time limits, which hold whatever runs beside it: so it has three times the share of a CPU. Where the
# kernel shares CPUs out by sessions (sched(7), autogroup), a process's own niceness does not count.
PREFERRED='{ echo -5 >/proc/$$/autogroup; } 2>/dev/null; exec "$@"'

case $ENGINE in
  uml)     # its memory is a file in TMPDIR, which wants to be memory too; the first folder with room and exec is taken
    memory_folder=$scratch
    claim_cpu
    [ "$(df --output=avail -m /dev/shm 2>/dev/null | tail -n 1)" -gt "$memory" ] 2>/dev/null \
      && ! findmnt -no OPTIONS /dev/shm | grep -q noexec && memory_folder=/dev/shm
    terminal=null
    if [ -n "$shell" ]; then exec 3<&0 4>&1; terminal=fd:0; settings=$(stty -g)
    else exec 3</dev/null 4>"$out/console"; fi
    TMPDIR=$memory_folder setsid nice -n -5 bash -c "$PREFERRED" bash taskset -c "$cpu" "$UML/linux-uml" mem="${memory}M" rootfstype=hostfs \
      rootflags="$ROOTFS" ro init=/lab-init con=null con0=$terminal,fd:1 con1=null ssl=null ssl0=$serial loglevel=5 $arguments \
      umid=lab uml_dir="$scratch/" lab.host="$share" lab.out="$out" lab.modules="$UML/lib/modules" lab.mode=$mode \
      <&3 >&4 2>&1 & ;;
  nspawn)  # the host's kernel
    bind=--bind-ro; [ $mode = ro ] || bind=--bind
    setsid systemd-nspawn -q -D "$ROOTFS" -M "lab$$" --register=no --keep-unit --private-network --console=read-only \
      --volatile=overlay --bind="$out:/out" $bind="$share:/host" -b $arguments >"$out/console" 2>&1 </dev/null & ;;
  tcg)
    readonly=on; [ $mode = ro ] || readonly=off
    setsid qemu-system-x86_64 -accel tcg,thread=multi -smp 2 -M q35 -cpu max -m "$memory" -nodefaults -display none \
      -no-reboot -kernel "$DISK/vmlinuz" -initrd "$DISK/initrd.img" \
      -append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr random.trust_cpu=on tsc=reliable $arguments" \
      -drive file="$DISK/root.erofs",format=raw,if=none,id=root,readonly=on -device virtio-blk-pci,drive=root \
      -device virtio-rng-pci -serial file:"$out/console" \
      -virtfs local,path="$out",mount_tag=out,security_model=none,multidevs=remap \
      -virtfs local,path="$share",mount_tag=host,security_model=none,readonly=$readonly,multidevs=remap \
      >"$out/qemu.log" 2>&1 </dev/null & ;;
  *) echo "boot.sh: unknown engine $ENGINE" >&2; exit 2 ;;
esac
guest=$!                                        # setsid: also the id of its session, in which UML's processes live
power_off() { trap '' INT TERM; pkill -KILL -s $guest; wait $guest 2>/dev/null; rm -rf "$scratch"; }
trap power_off EXIT
trap 'exit 130' INT TERM
[ -z "$shell" ] || { wait $guest; stty "$settings"; exit; }

started=$EPOCHREALTIME
tail -n +1 -s 0.1 -f --pid=$guest "$out/log" & stream=$!
status=125
deadline=$((${EPOCHREALTIME%.*} + boot_s)) phase=boot
while kill -0 $guest 2>/dev/null; do
  [ -s "$out/status" ] && break                 # it is there a moment before it says anything
  [ $phase = boot ] && [ -e "$out/booted" ] && { phase=command; deadline=$((${EPOCHREALTIME%.*} + command_s)); }
  [ "${EPOCHREALTIME%.*}" -lt $deadline ] || { status=124; break; }
  sleep 0.1
done
[ ! -s "$out/status" ] || status=$(cat "$out/status")
for ((tries = 30; tries; tries--)); do kill -0 $guest 2>/dev/null || break; sleep 0.1; done   # its power-off
pkill -KILL -s $guest
wait $stream
awk -v from="$started" -v to="$EPOCHREALTIME" -v up="$(cat "$out/booted" 2>/dev/null || echo never)" \
  -v engine=$ENGINE -v status=$status \
  'BEGIN { printf "[lab %s] booted at %s s (guest uptime), %.1f s in all, status %d\n", engine, up, to - from, status }' >&2
exit $status
