#!/usr/bin/env bash
# Fuzzes every parser of foreign text, two targets at a time, for a night or for a minute.
#
#     fuzz/run.sh             each target 60 s
#     fuzz/run.sh 3600        each an hour
#     fuzz/run.sh 60 log elf  only these targets
#     fuzz/run.sh 60 3/12     the third of twelve parts of the targets, for several machines
#
# Installs cargo-fuzz where it is missing (libFuzzer needs a C++ compiler). Corpora (fuzz/corpus) start from the files of the tests
# and are kept between runs. Inputs that failed are in fuzz/artifacts; `cargo fuzz tmin TARGET FILE` makes one smaller. SANITIZER
# (default: address) is cargo-fuzz's --sanitizer. The last lines are a table; the exit status is 1 after a find.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# The toolchain of rust-toolchain.toml is a stable one, and instrumentation is an unstable option of the compiler.
export RUSTC_BOOTSTRAP=1 CARGO_TERM_COLOR=never

targets=(
    arguments
    build_output
    catalog_cache
    cluster_packet
    cluster_printed
    cluster_yaml
    docker_files
    elf
    host_mirrors
    image_probe
    image_reference
    job_output
    kernel_log
    lint_accelerate
    lint_compose
    lint_conda
    lint_context
    lint_crontab
    lint_daemon_json
    lint_deepspeed_environment
    lint_detect
    lint_dockerfile
    lint_ds_config
    lint_environment
    lint_fix
    lint_helm_template
    lint_hostfile
    lint_kubernetes
    lint_limits
    lint_makefile
    lint_merged
    lint_nccl_conf
    lint_profile
    lint_pyproject
    lint_python
    lint_requirements
    lint_sbatch
    lint_shell
    lint_sshd
    lint_systemd_unit
    lint_toolkit
    lint_workflow
    lock
    log
    log_stream
    nvidia_smi
    package_index
    package_metadata
    project_lock
    project_requirements
    reading
    recorder
    redaction
    registry
    registry_login
    request_yaml
    smoke
    snapshot
    ssh_messages
    versions
    visible
    worker_protocol
)
seconds=${1:-60}
usage() { echo "usage: fuzz/run.sh [SECONDS [TARGET… | PART/PARTS]]" >&2; exit 2; }
[[ $seconds =~ ^[1-9][0-9]*$ ]] || usage
shift || true
if [[ ${1:-} =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ ]]; then
    part=${BASH_REMATCH[1]} parts=${BASH_REMATCH[2]} all=("${targets[@]}") targets=()
    [ "$part" -le "$parts" ] || usage
    for at in "${!all[@]}"; do [ $((at % parts + 1)) -ne "$part" ] || targets+=("${all[at]}"); done
elif [ $# -gt 0 ]; then
    targets=("$@")
fi
# There may be more parts than targets.
[ ${#targets[@]} -gt 0 ] || usage
sanitizer=${SANITIZER:-address}
# How many targets run at the same time.
readonly AT_ONCE=2
tests=../tests

# seed TARGET FILE…: copies files that are small enough; one that is there is left.
seed() {
    local target=$1 file
    shift
    mkdir -p "corpus/$target"
    for file in "$@"; do
        if [ -f "$file" ] && [ "$(stat -c %s "$file")" -le 16384 ]; then
            cp -n "$file" "corpus/$target/$(tr / _ <<<"${file#../}")"
        fi
    done
}
# line TARGET TEXT…: each text is a seed.
line() {
    local target=$1 text
    shift
    mkdir -p "corpus/$target"
    for text in "$@"; do
        printf '%b' "$text" >"corpus/$target/text-$(cksum <<<"$text" | cut -d ' ' -f 1)"
    done
}
seeds() {
    shopt -s nullglob globstar
    local valid=$tests/lint/valid outputs=$tests/servers/outputs file
    seed catalog_cache ../catalog/{torch,drivers,gpus,systems}.yaml
    seed cluster_yaml ../compose/*/cluster.yaml
    seed lint_compose ../compose/*/stack.yaml ../compose/*/*/compose.yaml "$valid"/*.yaml $tests/lint/seeds/*.yml
    seed lint_daemon_json "$valid"/daemon.json
    seed lint_dockerfile ../images/*/Dockerfile "$valid"/*Dockerfile $tests/lint/seeds/*Dockerfile
    seed lint_ds_config "$valid"/ds_config.json
    seed lint_hostfile "$valid"/hostfile ../compose/*/**/hostfile
    line lint_limits '@gpu - memlock unlimited\n* hard nofile 65536\n' '# a\nme soft memlock 64G\n'
    seed lint_pyproject "$valid"/pyproject.toml
    seed lint_conda "$valid"/environment.yml
    seed lint_accelerate "$valid"/accelerate.yaml
    seed lint_python "$valid"/train.py ../examples/train.py
    seed lint_requirements "$valid"/requirements.txt
    seed lint_shell "$valid"/train.sh ../compose/*/*.sh
    seed lint_kubernetes $tests/lint/seeds/*.yaml
    seed lint_profile "$valid"/train.sh
    seed lint_sbatch "$valid"/train.sh
    seed lint_context ../images/*/Dockerfile "$valid"/*Dockerfile
    seed lint_merged ../compose/*/stack.yaml "$valid"/*.yaml
    seed lint_fix "$valid"/*
    seed lint_detect "$valid"/*
    seed lint_sshd "$valid"/sshd_config ../compose/*/**/sshd_config
    for file in lint_environment lint_deepspeed_environment lint_nccl_conf; do seed "$file" "$valid"/train.env; done
    seed log $tests/logs/**/*.log $tests/nccl_logs/*.log
    seed log_stream $tests/logs/healthy/**/* $tests/logs_recorder/*
    seed project_lock $tests/projects/*/{*.lock,pylock.toml}
    seed project_requirements $tests/projects/**/*
    seed recorder $tests/logs_recorder/*
    seed redaction $tests/redaction/*.yaml $tests/logs/failures/**/*.log
    seed request_yaml ../images/*/request.yaml $tests/recipes/*.yaml
    seed nvidia_smi "$outputs"/nvidia_smi_xml/*
    seed kernel_log "$outputs"/kernel_log/*
    seed snapshot $tests/servers/*.json
    seed registry "$outputs"/docker/*
    seed smoke $tests/nccl_logs/*
    seed visible $tests/hostile/*.yaml
    mkdir -p corpus/reading
    for file in /proc/meminfo /proc/cpuinfo /proc/mounts /proc/modules /proc/net/route /etc/hosts /etc/os-release /etc/ld.so.conf; do
        [ ! -r "$file" ] || { printf 'read %s\n' "$file"; head -c 4000 "$file"; } >"corpus/reading/${file//\//_}"
    done
    line reading 'read /etc/docker/daemon.json\n{"runtimes":{"nvidia":{"path":"nvidia-container-runtime"}}}' \
        'run nvidia-smi -q -x\n<nvidia_smi_log><gpu id="0"></gpu></nvidia_smi_log>' 'run ldconfig -p\n\tlibcuda.so.1 (libc6) => /x\n' \
        'environment\nNCCL_DEBUG=INFO\nLD_LIBRARY_PATH=/x:/y\n'
    line lint_systemd_unit '[Service]\nType=oneshot\nEnvironment="A=b c" D=e\nExecStart=-/bin/sh -c "a && b" ; @x y \\\n  z\n'
    line lint_helm_template 'apiVersion: v1\nkind: Pod\nspec:\n  {{- if .Values.a }}\n  b: {{ .Values.b | quote }}\n  {{- end }}\n'
    line lint_crontab 'A=b\n*/5 * * * * c "$(date +\\%F)" %%x\n@daily root d\n'
    line lint_makefile 'A := $(shell b)\n.ONESHELL:\nall: A = c\nall: ; d\n\tfor i in $(A); do echo $$i $x; done\n'
    line lint_workflow 'on: push\npermissions: {packages: read}\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: |\n          docker run -it --gpus all b ${{ c }}\n'
    line lint_toolkit 'disable-require = false\n[nvidia-container-cli]\nldconfig = "@/sbin/ldconfig"\nno-cgroups = true\n'
    line image_probe '{"python":"3.12.3"}' 'cuda>=12.4 brand=tesla,driver>=470,driver<471' 'id=ubuntu\nversion=22.04\n'
    line image_reference ubuntu:24.04 nvcr.io/nvidia/pytorch:24.07-py3 localhost:5000/a/b@sha256:"$(printf '0%.0s' {1..64})"
    line docker_files '{"auths":{"r":{"auth":"YTpi"}},"credHelpers":{"r":"x"}}' '*.log\n!a/**/b\n' ssh://user@host:22 \
        'permission denied while trying to connect' 'toomanyrequests: rate limit'
    line versions 12.4 550.90.07 2.6.0+cu124 '>=2.4,<2.7' 'python_version >= "3.9" and extra == "x"' 'torch==2.*' 3:1.2-3ubuntu1
    line worker_protocol '{"id":0,"answer":"hello","envdoc":"0.1.0","protocol":3,"nonce":"x"}' '{"id":1,"answer":"stopped"}' \
        '{"id":2,"task":"stop","deadline_ms":5}'
    line package_index '<a href="x-1.0-py3-none-any.whl#sha256=0" data-requires-python="&gt;=3.9">x</a>' \
        '{"files":[{"filename":"x-1.0.tar.gz","url":"x","upload-time":"2024-01-01T00:00:00Z"}]}'
    line lock '{"schema":1,"kind":"envdoc lock"}' 'torch==2.6.0 --hash=sha256:00\n' '# envdoc\n'
    line lint_kubernetes 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: x, env: [{name: NCCL_DEBUG, value: INFO}]}]}\n'
    line lint_sbatch '--nodes=2\n#SBATCH --gres=gpu:8 --time=1-00:00:00\nsrun torchrun train.py\n' '--time=24\n#SBATCH hetjob\n'
    line lint_context 'FROM python:3.12\nCOPY . .\nRUN pip install -r requirements.txt\n...\n*.txt\n...\ntorch==2.6.0\n' \
        'FROM python:3.12\nCOPY . .\nRUN pip install .\n...\n\n...\n\n...\n[project]\nname = "a"\nrequires-python = ">=3.9"\n'
    line lint_merged 'services: {a: {image: x, deploy: {replicas: 2}}}\n...\nservices: {a: {extends: {service: b}, env_file: [.env]}}\n'
    line cluster_printed '{"hostname":"a","process":1}' '[{"name":"a","engine":"ssh://a"}]' 'Address already in use' '10.0.0.1 node2\n'
    line job_output '\001a\nb\r\nc' '\003\001\0\0\0\0\0\0\002a\n'
    line build_output '{"stream":"Step 1/2 : FROM x\\n"}\n{"stream":"a\\n"}\n{"aux":{"ID":"sha256:00"}}\n{"error":"no space left on device"}\n'
    line ssh_messages 'ssh: connect to host gpu1 port 22: Connection refused\n' 'user@gpu1: Permission denied (publickey).\n\nbanner\n\nx\n'
    line registry_login 'Bearer realm="https://registry.example.org/token",service="a",scope="b"' 'Basic realm="x"'
    line host_mirrors '[global]\nindex-url = https://me:pw@pypi.example/simple\nextra-index-url =\n    https://a.example\n' \
        '[[index]]\nurl = "https://me@pypi.example"\ndefault = true\n' 'URIs: https://a.example/ubuntu\nSuites: x\n'
    line package_metadata 'Metadata-Version: 2.1\nName: a\nVersion: 1\nRequires-Dist: torch<3,>=2; python_version < "3.12"\nRequires-Python: >=3.9\n\n'
    line arguments 'torch==2.6.0+cu121' 'xid 79' 'RuntimeError: CUDA error: out of memory' 'gpus=8,driver>=550' 'import:deepspeed' h100 sm_90
    line smoke 8M,1G '1k-1g' 'Permission denied (publickey).'
    mkdir -p corpus/elf
    head -c 8192 /bin/true >corpus/elf/true
}

# run TARGET: fuzzes one target, and writes its row. `timeout` ends it where libFuzzer does not.
run() {
    local target=$1 log=artifacts/$1.log crashes before
    before=$(find "artifacts/$target" -type f | wc -l)
    { TIMEFORMAT='cpu %U %S'; time nice timeout --kill-after=20 "$((seconds + 60))" "$binaries/$target" "corpus/$target" \
        -artifact_prefix="artifacts/$target/" -max_total_time="$seconds" -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=16384 \
        -timeout=10 -print_final_stats=1 >"$log" 2>&1 || true; } 2>"$log.cpu"
    crashes=$(($(find "artifacts/$target" -type f | wc -l) - before))
    # A target that failed has counted up to its failure.
    awk -v target="$target" -v crashes="$crashes" '
        /^cpu / { cpu = $2 + $3 }
        /^#[0-9]+/ { executions = substr($1, 2) + 0 }
        /^stat::number_of_executed_units:/ { executions = $2 }
        /^stat::peak_rss_mb:/ { peak = $2 }
        match($0, /cov: [0-9]+/) { coverage = substr($0, RSTART + 5, RLENGTH - 5) }
        match($0, /rss: [0-9]+/) && !peak { rss = substr($0, RSTART + 5, RLENGTH - 5) }
        END { printf "| %s | %d | %d | %d | %d | %d |\n", target, executions, cpu, coverage, peak ? peak : rss, crashes }
    ' "$log" "$log.cpu" >"artifacts/$target.row"
    echo "$target: $(tail -n 1 "artifacts/$target.row")"
}

command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz
seeds
cargo fuzz build --sanitizer "$sanitizer"
binaries=target/$(rustc -vV | sed -n 's/^host: //p')/release
for target in "${targets[@]}"; do
    mkdir -p "artifacts/$target" "corpus/$target"
    rm -f "artifacts/$target.row"
    while [ "$(jobs -rp | wc -l)" -ge "$AT_ONCE" ]; do wait -n || true; done
    run "$target" &
done
wait
echo
echo '| target | executions | CPU seconds | coverage (edges) | peak MiB | finds |'
echo '|---|---|---|---|---|---|'
for target in "${targets[@]}"; do cat "artifacts/$target.row"; done
finds=$(for target in "${targets[@]}"; do cat "artifacts/$target.row"; done | awk -F'|' '{ sum += $7 } END { print sum + 0 }')
[ "$finds" -eq 0 ] || { echo "$finds finds: fuzz/artifacts, and the ends of fuzz/artifacts/TARGET.log"; exit 1; }
