# shellcheck shell=bash disable=SC2034,SC2154
# How often the smoke test calls a healthy run with the default sizes slow, half of the runs next to a busy loop for each CPU
# needs: fleet
# measurement: named only: ENVDOC_LAB_TURNS=25 tests/lab/run.sh 396-; each of the four kinds of run that many times
# shellcheck source=tests/lab/fleet.sh
. ./fleet.sh
# Several labs may measure at once.
ROWS=$(mktemp "$LAB_KEPT/smoke-healthy.XXXXXX.tsv")
# row KIND LOAD: the verdict of the last run, its seconds, the load average of the last minute, and its words.
row() {
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$(jq -r .verdict <<<"$answer" 2>/dev/null || echo none)" "$((took / 1000)).$((took % 1000 / 100))" \
        "$(cut -d' ' -f1 /proc/loadavg)" "$(jq -r .says <<<"$answer" 2>/dev/null | head -c 600)$(head -c 300 <<<"$error" | tr '\n\t' '  ')" >>"$ROWS"
}
local_run() { LIMIT=300 envdoc smoke --local --format json; }
cluster_run() { LIMIT=300 envdoc smoke --file "$LAB/cluster/cluster.yaml" --format json; }
plain() { "$@"; }
loaded() {
    local pids=() _
    for _ in $(seq "$(nproc)"); do sh -c 'while :; do :; done' & pids+=($!); done
    "$@"
    kill "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null
}

WITH_IMAGE=node1 hosts_start 2 || return 1
mkdir -p "$LAB/cluster" && cluster_yaml >"$LAB/cluster/cluster.yaml"
in_cluster up
check_that "up: status 0" ended_with 0
[ "$code" -eq 0 ] || { printf '%s\n%s\n' "$answer" "$error"; return 1; }
for _ in $(seq "$LAB_TURNS"); do
    for load in plain loaded; do
        "$load" local_run; row local "$load"
        "$load" cluster_run; row "two nodes" "$load"
    done
done
in_cluster down --leave-swarm >/dev/null
hosts_stop
awk -F '\t' 'BEGIN { print "| run | load | runs | ok | slow | failed | unknown | longest, s |\n|---|---|---:|---:|---:|---:|---:|---:|" }
    { key = $1 " | " $2; if (!(key in all)) order[++count] = key; all[key]++; verdicts[key, $3]++; if ($4 + 0 > most[key]) most[key] = $4 + 0 }
    END { for (i = 1; i <= count; i++) { key = order[i]; ok = verdicts[key, "ok"] + 0; slow = verdicts[key, "slow"] + 0; unknown = verdicts[key, "unknown"] + 0
        printf "| %s | %d | %d | %d | %d | %d | %d |\n", key, all[key], ok, slow, all[key] - ok - slow - unknown, unknown, most[key] } }' "$ROWS" | tee "${ROWS%.tsv}.md"
grep -v "$(printf '\tok\t')" "$ROWS" | sed 's/^/    /'
check_that "no healthy run is called slow or failed" eval '! awk -F "\t" "\$3 != \"ok\" && \$3 != \"unknown\"" "$ROWS" | grep .'
