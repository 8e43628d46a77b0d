# shellcheck shell=bash disable=SC2034,SC2154
# How often the smoke test calls a healthy run slow, idle and under load, and how often it names real faults
# needs: fleet
# measurement: named only: ENVDOC_LAB_TURNS=10 tests/lab/run.sh 395-; each kind of run that many times, faults a third of it
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# shellcheck source=tests/lab/smoke.sh
. ./smoke.sh
SIZES=8,64K,4M,16M
# Several labs may measure at once.
ROWS=$(mktemp "$LAB_KEPT/smoke-noise.XXXXXX.tsv")
# row KIND CONDITION: the verdict of the last run, its seconds and its words.
row() {
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$(jq -r .verdict <<<"$answer" 2>/dev/null || echo none)" "$((took / 1000))" \
        "$(jq -r .says <<<"$answer" 2>/dev/null | head -c 300)" >>"$ROWS"
}
local_run() { LIMIT=180 envdoc smoke --local --sizes "$SIZES" --format json; }
cluster_run() { LIMIT=180 smoke --format json; }
# loaded COMMAND: while three busy loops run.
loaded() {
    local pids=() _
    for _ in 1 2 3; do sh -c 'while :; do :; done' & pids+=($!); done
    "$@"
    kill "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null
}
# next_to_another COMMAND: while another smoke test of this machine runs again and again.
next_to_another() {
    local other
    (while :; do /run/lab/envdoc smoke --local --sizes "$SIZES" >/dev/null 2>&1; done) & other=$!
    "$@"
    kill "$other"
    wait "$other" 2>/dev/null
}
at_once() { "$@"; }

WITH_IMAGE=node1 hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }

for _ in $(seq "$LAB_TURNS"); do
    for load in at_once loaded next_to_another; do
        "$load" local_run; row healthy "local $load"
        "$load" cluster_run; row healthy "two nodes $load"
    done
done
lossy() { on node2 iptables "$1" INPUT -i eth0 -p udp --dport 4789 -m statistic --mode random --probability "$2" -j DROP; }
for _ in $(seq $(((LAB_TURNS + 2) / 3))); do
    for load in at_once loaded; do
        lossy -I 0.03 && "$load" cluster_run; row "3 % loss to node2" "$load"
        lossy -D 0.03
        lossy -I 0.1 && "$load" cluster_run; row "10 % loss to node2" "$load"
        lossy -D 0.1
        on node2 tc qdisc add dev eth0 root tbf rate 10mbit burst 64k latency 100ms
        "$load" cluster_run; row "10 Mbit/s from node2" "$load"
        on node2 tc qdisc replace dev eth0 root tbf rate 1mbit burst 64k latency 400ms
        "$load" cluster_run; row "1 Mbit/s from node2" "$load"
        on node2 tc qdisc del dev eth0 root
        docker_on node2 update --cpus 0.1 node2 >/dev/null && "$load" cluster_run; row "a tenth of a processor on node2" "$load"
        docker_on node2 update --cpus "$(nproc)" node2 >/dev/null
    done
done
if [ -c /dev/net/tun ]; then
    host_delay node2 50
    for _ in $(seq $(((LAB_TURNS + 2) / 3))); do
        for load in at_once loaded; do "$load" cluster_run; row "50 ms delay to node2" "$load"; done
    done
    host_delay node2 0
else
    skip "this machine has no /dev/net/tun: no cable with a delay can be made"
fi
in_cluster down --leave-swarm >/dev/null
hosts_stop
awk -F '\t' 'BEGIN { print "| run | load | runs | ok | slow | failed | unknown | longest, s |\n|---|---|---:|---:|---:|---:|---:|---:|" }
    { key = $1 " | " $2; if (!(key in all)) order[++count] = key; all[key]++; verdicts[key, $3]++; if ($4 > most[key]) most[key] = $4 }
    END { for (i = 1; i <= count; i++) { key = order[i]; ok = verdicts[key, "ok"] + 0; slow = verdicts[key, "slow"] + 0; unknown = verdicts[key, "unknown"] + 0
        printf "| %s | %d | %d | %d | %d | %d | %d |\n", key, all[key], ok, slow, all[key] - ok - slow - unknown, unknown, most[key] } }' "$ROWS" | tee "${ROWS%.tsv}.md"
grep -v "$(printf '\tok\t')" "$ROWS" | cut -f1-5 | sed 's/^/    /'
check_that "no healthy run is called slow or failed" eval '! awk -F "\t" "\$1 == \"healthy\" && \$3 != \"ok\" && \$3 != \"unknown\"" "$ROWS" | grep .'
# What cannot be judged under load is counted in the table.
named_by() { ! awk -F '\t' -v fault="$1" -v cause="$2" '$1 == fault && $3 != "unknown" && $5 !~ cause' "$ROWS" | grep .; }
check_that "lost packets are named" named_by '3 % loss to node2' 'retransmitted|packets from node1 to node2 are lost'
check_that "many lost packets are named" named_by '10 % loss to node2' 'packets from node1 to node2 (are|were) lost'
check_that "a slow link is named" named_by '10 Mbit/s from node2' 'the link from node2 to node1 carries'
check_that "a CPU limit is never unknown" eval '! awk -F "\t" "\$1 ~ /tenth/ && \$3 == \"unknown\"" "$ROWS" | grep .'
check_that "the CPU limit is named" named_by 'a tenth of a processor on node2' 'the CPU limit of 0.1 CPUs throttled container node2'
check_that "no fault is called ok" eval '! awk -F "\t" "\$1 != \"healthy\" && \$3 == \"ok\"" "$ROWS" | grep .'
