# shellcheck shell=bash disable=SC2034,SC2154
# How often the smoke test calls a healthy run slow, on one machine and on two hosts, with and without a busy loop for each CPU
# needs: fleet
# measurement: named only: ENVDOC_LAB_TURNS=25 tests/lab/run.sh 396-; each of the four kinds of run with the default sizes that many times.
#     ENVDOC_LAB_RUNS='hosts:loaded=100 local:plain=30 local:plain:256M=30' tests/lab/run.sh 396-: these kinds, so many times each
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# Several labs may measure at once.
ROWS=$(mktemp "$LAB_KEPT/smoke-healthy.XXXXXX.tsv")
[ -n "$LAB_RUNS" ] || LAB_RUNS="local:plain=$LAB_TURNS hosts:plain=$LAB_TURNS local:loaded=$LAB_TURNS hosts:loaded=$LAB_TURNS"
field() { jq -r "$1" <<<"$answer" 2>/dev/null || echo -; }
# row KIND LOAD SIZES: the verdict of the last run, its seconds, its bandwidth and that of the path in GB/s, whether anything was measured again,
# the load average of the last minute, and its words.
row() {
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$(field .verdict)" "$((took / 1000)).$((took % 1000 / 100))" \
        "$(field '.results[-1].busbw_gbps // "-"')" "$(field '.expected.busbw_gbps // "-"')" "$(field '[.phases[].name] | index("repeat") != null')" \
        "$(cut -d' ' -f1 /proc/loadavg)" "$(field .message | head -c 600)$(head -c 300 <<<"$error" | tr '\n\t' '  ')" >>"$ROWS"
}
local_run() { LIMIT=300 envdoc smoke --local --format json "$@"; }
hosts_run() { LIMIT=300 envdoc smoke --file "$LAB/cluster/cluster.yaml" --format json "$@"; }
plain() { "$@"; }
loaded() {
    local pids=() _
    for _ in $(seq "$(nproc)"); do sh -c 'while :; do :; done' & pids+=($!); done
    "$@"
    kill "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null
}

if [[ " $LAB_RUNS" == *" hosts:"* ]]; then
    WITH_IMAGE=node1 hosts_start 2 || return 1
    mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
    in_cluster up
    check_that "up: status 0" ended_with 0
    [ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }
fi
# In turns, so that what else the machine does meets every kind.
turn=0 more=yes
while [ -n "$more" ]; do
    turn=$((turn + 1)) more=
    for runs in $LAB_RUNS; do
        [ "$turn" -le "${runs#*=}" ] || continue
        more=yes
        IFS=: read -r kind load sizes <<<"${runs%=*}"
        "$load" "${kind}_run" ${sizes:+--sizes "$sizes"}
        row "$kind" "$load" "${sizes:-default}"
    done
done
if [ -n "${HOSTS[*]:-}" ]; then
    in_cluster down --leave-swarm >/dev/null
    hosts_stop
fi
python3 - "$ROWS" <<'PYTHON' | tee "${ROWS%.tsv}.md"
import statistics, sys
kinds = {}
for line in open(sys.argv[1]):
    fields = line.rstrip("\n").split("\t")
    kinds.setdefault(tuple(fields[:3]), []).append(fields[3:])
print("| run | busy loops | sizes | runs | ok | slow | failed | unknown | measured again | busbw, GB/s | seconds | load |")
print("|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
def spread(numbers, digits):
    numbers = sorted(float(number) for number in numbers if number != "-")
    if not numbers: return "-"
    return ", ".join(f"{number:.{digits}f}" for number in (numbers[0], statistics.median(numbers), numbers[-1]))
for (kind, load, sizes), rows in kinds.items():
    count = lambda verdict: sum(row[0] == verdict for row in rows)
    other = len(rows) - count("ok") - count("slow") - count("unknown")
    again = sum(row[4] == "true" for row in rows)
    print(f"| {kind} | {load} | {sizes} | {len(rows)} | {count('ok')} | {count('slow')} | {other} | {count('unknown')} | {again} |"
          f" {spread((row[2] for row in rows), 2)} | {spread((row[1] for row in rows), 1)} | {spread((row[5] for row in rows), 1)} |")
PYTHON
grep -v "$(printf '\tok\t')" "$ROWS" | sed 's/^/    /'
check_that "no healthy run is called slow or failed" eval '! awk -F "\t" "\$4 != \"ok\" && \$4 != \"unknown\"" "$ROWS" | grep .'
