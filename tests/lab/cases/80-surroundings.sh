# shellcheck shell=bash disable=SC2034,SC2154
# Surroundings that nobody wants
# In a mount namespace of its own: PREPARE is done there, then envdoc is started.
behind() { AS=(unshare --mount --propagation private bash -c "$1"$'\nexec "$0" "$@"'); }

behind 'mount -t tmpfs none /proc'
survives "no /proc"
behind 'mount -t tmpfs none /sys'
survives "no /sys"
check_that "no /sys: whether there is a GPU is unknown" status_of gpu-without-driver unknown
behind 'mount -t tmpfs none /proc; mount -t tmpfs none /sys; mount -t tmpfs none /dev'
survives "no /proc, /sys, /dev"
behind 'mount -t tmpfs none /etc'
survives "an empty /etc"
behind 'mount -t tmpfs none /dev'
survives "an empty /dev"
behind 'mkdir -p /run/lab/ro; mount -t tmpfs -o ro none /run/lab/ro; export HOME=/run/lab/ro'
survives "a read-only HOME"
behind 'mkdir -p /etc/docker; ln -sf daemon.json /etc/docker/daemon.json'
survives "daemon.json is a loop of links"
check_that "daemon.json is a loop of links: not called healthy" test "$(of daemon-json-invalid status)" != pass
rm -rf /etc/docker
behind 'mkdir -p /etc/docker; mkfifo /etc/docker/daemon.json'
survives "daemon.json is a pipe"
check_that "daemon.json is a pipe: not called healthy" test "$(of daemon-json-invalid status)" != pass
rm -rf /etc/docker
behind 'mkdir -p /etc/docker; head -c 60000000 /dev/zero >/etc/docker/daemon.json'
survives "daemon.json of 60 MB"
check_that "daemon.json of 60 MB: not called healthy" test "$(of daemon-json-invalid status)" != pass
rm -rf /etc/docker
behind 'for f in /etc/os-release /etc/hosts /etc/group; do head -c 5000 /dev/urandom >$LAB/noise; cp $LAB/noise $f.n; mount --bind $f.n $f; done'
survives "os-release, hosts and group full of noise"
behind 'export PATH='
survives "an empty PATH"
behind 'export PATH=/nowhere:relative:/etc/hosts:/proc/1/fd'
survives "a PATH of nothing"
behind 'export LD_LIBRARY_PATH=:/nowhere:relative: NCCL_DEBUG=$(printf "\xff\xfe") CUDA_VISIBLE_DEVICES= NVIDIA_VISIBLE_DEVICES=void'
survives "odd variables"
behind 'cd /run/lab && mkdir -p gone && cd gone && rmdir ../gone'
survives "a working folder that is gone"
behind 'ulimit -n 16'
survives "16 file descriptors"
behind 'ulimit -v 400000'
survives "400 MB of address space"
AS=(bash -c 'exec "$@" 2>&- </dev/null' -)
survives "standard error closed"
AS=(env)

# Programs that hang, print garbage or too much, next to a GPU on the bus. The device's files are those of an H100.
bus='mkdir -p /run/lab/bus && mount -t tmpfs none /run/lab/bus && d=/run/lab/bus/0000:41:00.0 && mkdir -p $d &&
    echo 0x10de >$d/vendor; echo 0x2330 >$d/device; echo 0x030200 >$d/class; echo 0x16c1 >$d/subsystem_device
    echo 0x10de >$d/subsystem_vendor; echo 0xa1 >$d/revision; echo "32.0 GT/s PCIe" | tee $d/current_link_speed >$d/max_link_speed
    echo 16 | tee $d/current_link_width >$d/max_link_width; echo 0 >$d/numa_node; echo 1 >$d/enable
    mkdir -p /sys/bus/pci/devices && mount --bind /run/lab/bus /sys/bus/pci/devices;'
if ! unshare --mount --propagation private bash -c "$bus test -e /sys/bus/pci/devices/0000:41:00.0/vendor" 2>/dev/null; then
    # A machine without a PCI bus has no folder to lay it over: lay one over /sys/bus.
    bus="mount -t tmpfs none /sys/bus; $bus"
fi
behind "$bus"
doctor
check_that "a GPU on the bus and no driver: gpu-without-driver is an error" status_of gpu-without-driver error
check_that "a GPU on the bus and no driver: status 1" ended_with 1
fake_smi() {
    mkdir -p /run/lab/bin
    printf '#!/bin/sh\n%s\n' "$1" >/run/lab/bin/nvidia-smi
    chmod 755 /run/lab/bin/nvidia-smi
    # The driver's file, so that it is asked at all.
    behind "$bus"' export PATH=/run/lab/bin:$PATH; mount -t tmpfs none /proc/driver && mkdir -p /proc/driver/nvidia &&
        printf "%s\n" "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.90.07  Release Build  (dvs-builder@U16-I1-N07-12-3)  Fri May 31 09:31:14 UTC 2024" \
            "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)" >/proc/driver/nvidia/version'
}
# What only nvidia-smi knows.
no_gpu_check_passes() {
    local check
    for check in gpu-count-differs ecc-uncorrected-errors row-remap-failed gpu-throttled gpu-needs-reset; do
        status_of "$check" unknown || return 1
    done
}
fake_smi 'sleep 61.5'
survives "nvidia-smi hangs"
check_that "nvidia-smi hangs: no GPU check that needs it passes" no_gpu_check_passes
fake_smi 'sleep 61.5 & sleep 61.5 & wait'
survives "nvidia-smi hangs with children"
"${AS[@]}" /run/lab/envdoc check --timeout 30 >/dev/null 2>&1 &
interrupted=$!
for _ in $(seq 50); do pgrep -f 'sleep 61[.]5' >/dev/null && break; sleep 0.1; done
check_that "Ctrl-C while nvidia-smi hangs: it was started" pgrep -f 'sleep 61[.]5'
kill -INT "$interrupted"
wait "$interrupted"
code=$?
check_that "Ctrl-C while nvidia-smi hangs: status 130" ended_with 130
check_that "Ctrl-C while nvidia-smi hangs: nothing that was started is left" test -z "$(pgrep -f 'sleep 61[.]5')"
fake_smi 'head -c 100000000 /dev/zero'
survives "nvidia-smi prints 100 MB of zeros"
fake_smi 'yes "<nvidia_smi_log>" | head -c 100000000'
survives "nvidia-smi prints 100 MB of open tags"
fake_smi 'head -c 20000 /dev/urandom'
survives "nvidia-smi prints noise"
fake_smi 'printf "<?xml version=\"1.0\" ?>\n<nvidia_smi_log><gpu id=\"0\">"'
survives "nvidia-smi stops half way"
fake_smi 'kill -SEGV $$'
survives "nvidia-smi crashes"
fake_smi 'exit 0'
survives "nvidia-smi says nothing"
fake_smi 'echo "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running."; exit 9'
survives "nvidia-smi cannot reach the driver"
printf 'not a program' >/run/lab/bin/nvidia-smi
survives "nvidia-smi is not a program"
chmod 000 /run/lab/bin/nvidia-smi
survives "nvidia-smi may not be run"
rm -rf /run/lab/bin
check_that "nothing that was started is left" test -z "$(pgrep -f 'sleep 61[.]5')"
AS=(env)

# Where the output goes.
timeout 10 /run/lab/envdoc check 2>"$LAB/stderr" | true
pipe=("${PIPESTATUS[@]}")
error=$(cat "$LAB/stderr")
check_that "a pipe that is closed is no failure of envdoc's: no panic" no_panic
check_that "a pipe that is closed: status 0 or 1" test "${pipe[0]}" -le 1
timeout 10 /run/lab/envdoc check >/dev/full 2>"$LAB/stderr"
code=$?
error=$(cat "$LAB/stderr")
check_that "a full disk: status 2, no panic" eval 'no_panic && ended_with 2'
