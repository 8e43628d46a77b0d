//! What values under a known name look like. A value of another type may be anything: it does not stay.

use super::listed;
use super::sentences::pieces;

/// What a variable or a setting holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers, also several, quantities and switches.
    Number,
    /// Words of a vocabulary: levels, algorithms, transports.
    Choice,
    /// One path or several, and names of libraries.
    Paths,
    /// Devices and interfaces.
    Devices,
    /// A version, or an interpreter.
    Version,
    /// An address with a scheme.
    Endpoint,
    /// Addresses of package indexes, and paths.
    Indexes,
    /// Names or addresses of machines.
    Machines,
    /// A name of its owner's choice that is needed to find other answers.
    Name,
}

/// Variables with a name of their own.
const VARIABLES: &[(&str, Kind)] = &[
    (
        "MASTER_PORT WORLD_SIZE RANK LOCAL_RANK NODE_RANK OMP_NUM_THREADS PYTHONNOUSERSITE CONDA_SHLVL \
        DOCKER_BUILDKIT DOCKER_CONTENT_TRUST DOCKER_TLS DOCKER_TLS_VERIFY NVIDIA_DISABLE_REQUIRE \
        PIP_BREAK_SYSTEM_PACKAGES PIP_REQUIRE_VIRTUALENV PIP_USER UV_SYSTEM_PYTHON",
        Kind::Number,
    ),
    (
        "PATH HOME SHELL VIRTUAL_ENV LD_LIBRARY_PATH LD_PRELOAD LIBRARY_PATH CPATH PYTHONPATH PYTHONHOME \
        PYENV_ROOT \
        XDG_RUNTIME_DIR XDG_CONFIG_HOME SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE CUDA \
        CONDA_EXE CONDA_PREFIX CONDA_PYTHON_EXE DOCKER_CERT_PATH DOCKER_CONFIG PIP_CERT PIP_CONFIG_FILE \
        UV_CONFIG_FILE UV_PROJECT_ENVIRONMENT",
        Kind::Paths,
    ),
    ("DOCKER_HOST BUILDKIT_HOST", Kind::Endpoint),
    (
        "PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS UV_DEFAULT_INDEX UV_EXTRA_INDEX_URL UV_INDEX \
        UV_INDEX_URL",
        Kind::Indexes,
    ),
    ("KUBERNETES_SERVICE_HOST MASTER_ADDR PIP_TRUSTED_HOST", Kind::Machines),
    ("DOCKER_CONTEXT WSL_DISTRO_NAME", Kind::Name),
    ("DOCKER_API_VERSION NVIDIA_PYTORCH_VERSION PYENV_VERSION UV_PYTHON", Kind::Version),
    ("NVIDIA_IMEX_CHANNELS NVIDIA_VISIBLE_DEVICES TP_SOCKET_IFNAME", Kind::Devices),
    (
        "container BUILDKIT_PROGRESS DOCKER_DEFAULT_PLATFORM NVIDIA_DRIVER_CAPABILITIES NVIDIA_PRODUCT_NAME \
        NVIDIA_REQUIRE_CUDA UV_INDEX_STRATEGY UV_LINK_MODE UV_TORCH_BACKEND",
        Kind::Choice,
    ),
];
/// Parts of the names of a library's variables, the last one of a name first.
const PARTS: &[(&str, Kind)] = &[
    ("ORDER MODE LEVEL TYPE POLICY TRANSPORT FAMILY", Kind::Choice),
    ("IFNAME IFACE HCA DEVICE DEVICES NETDEVS INCLUDE EXCLUDE", Kind::Devices),
    ("FILE DIR PATH HOME ROOT LIB CONF PLUGIN CACHE", Kind::Paths),
    ("VERSION", Kind::Version),
    ("ADDR", Kind::Machines),
];

/// The type of a variable that is listed with its name.
pub(super) fn of_variable(name: &str) -> Option<Kind> {
    VARIABLES.iter().find(|(names, _)| listed(names, name)).map(|(_, kind)| *kind)
}

/// The type of a library's variable, by the parts of its name.
pub(super) fn of_library_variable(name: &str) -> Kind {
    let mut parts = name.rsplit('_').map(str::to_ascii_uppercase);
    parts
        .find_map(|part| PARTS.iter().find(|(names, _)| listed(names, &part)))
        .map_or(Kind::Choice, |(_, kind)| *kind)
}

/// Whether a value has this type. `interfaces`: names of the machine's network interfaces.
pub(super) fn fits(kind: Kind, value: &str, interfaces: &[String]) -> bool {
    let items = |separators: &'static [char]| value.split(separators).map(str::trim);
    match kind {
        Kind::Number => is_number(value),
        Kind::Choice => {
            is_requirement(value)
                || items(&[',', ';', ':', '|', '^', '=', '+', ' ', '/', '<', '>', '@', '[', ']', '"'])
                    .all(is_choice)
        }
        Kind::Paths => items(&[':', ' ', ';']).all(is_path),
        Kind::Devices => items(&[',', ' ']).all(|item| is_device(item, interfaces)),
        Kind::Version => is_version(value) || is_path(value) && !value.is_empty(),
        Kind::Endpoint => value.contains("://"),
        Kind::Indexes | Kind::Machines => true,
        Kind::Name => value.len() < 64 && !value.contains([' ', '=', ':', '@', '/']),
    }
}

/// `8`, `-1`, `8.0;9.0+PTX`, `0-7,16-23`, `true`, `4M`
pub(super) fn is_number(value: &str) -> bool {
    let switch = "true false t f yes no y n on off enabled disabled";
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    value.is_empty()
        || listed(switch, &value.to_ascii_lowercase())
        || digits < 16
            && value.bytes().all(|byte| byte.is_ascii_digit() || b".,:;+-^= xX".contains(&byte))
            && digits > 0
        || is_quantity(value)
}

/// `0x1b`, `4M`, `16GiB`, `30s`
fn is_quantity(value: &str) -> bool {
    let hexadecimal = value.strip_prefix("0x").filter(|digits| digits.len() <= 8);
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    hexadecimal.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || value.len() - unit.len() < 12
            && unit.len() < value.len()
            && listed("k m g t kb mb gb kib mib gib b s ms us ns m h", &unit.to_ascii_lowercase())
}

fn is_choice(word: &str) -> bool {
    let word = word.trim_matches(['(', ')', '\'']);
    word.is_empty() || is_number(word) || is_version(word) || listed(CHOICES, &word.to_ascii_lowercase())
}

/// `cuda>=12.8 brand=tesla,driver>=535,driver<536`
fn is_requirement(value: &str) -> bool {
    const WORDS: &str = "\
        cuda driver arch brand tesla unknown nvidia nvidiartx geforce geforcertx quadro quadrortx titan \
        titanrtx \
        grid vapps vpc vcs vws cloudgaming";
    value.split([' ', ',']).all(|term| {
        let (word, rest) = term.split_once(['>', '<', '=', '!']).unwrap_or((term, ""));
        let rest = rest.trim_start_matches(['=', '<', '>']);
        listed(WORDS, word) && (rest.is_empty() || listed(WORDS, rest) || is_number(rest))
    })
}

/// A path, or the name of a library.
pub(super) fn is_path(item: &str) -> bool {
    let library = item.starts_with("lib") && (item.contains(".so") || item.len() < 6);
    let known = "bin lib lib64 venv .venv stubs none static_plugin ofi aws-ofi aws-ofi-nccl ib socket \
    spcx rdma tuner example";
    item.is_empty()
        || item.starts_with(['/', '~', '.', '$', '%', '\\'])
        || item.len() > 2 && item.as_bytes()[1] == b':' && item.contains('\\')
        || item.contains('/')
        || library
        || listed(known, &item.to_ascii_lowercase())
        || item.len() == 1
}

/// `3.12.4`, `v2`, `cp312`, `12.8.1+cu128`, `3.11-dev`, `pypy3.10-7.3.12`
pub(super) fn is_version(text: &str) -> bool {
    let number = text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start_matches('-');
    let start = &text[..text.len() - number.len()];
    let known = [
        "", "v", "V", "r", "cu", "cp", "py", "python", "pypy", "cpython", "cpython-", "rocm", "sm", "compute",
    ];
    let parts = "dev a b rc post alpha beta nightly t cu ptx rocm cpu generic";
    known.contains(&start)
        && number.starts_with(|c: char| c.is_ascii_digit())
        && number.len() < 32
        && number
            .split(|c: char| !c.is_ascii_alphabetic())
            .all(|part| part.is_empty() || listed(parts, &part.to_ascii_lowercase()))
        && number.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-_:".contains(&byte))
}

/// `=eth0`, `^docker0`, `mlx5_0:1`, `GPU-5a2b…`, `0`, `all`, `nvidia.com/gpu=0`
fn is_device(item: &str, interfaces: &[String]) -> bool {
    const KINDS: &[&str] = &[
        "eth",
        "en",
        "ib",
        "bond",
        "br",
        "docker",
        "lo",
        "veth",
        "wl",
        "team",
        "vlan",
        "roce",
        "mlx",
        "hsn",
        "nic",
        "net",
        "rdma",
        "tun",
        "tap",
        "virbr",
        "cni",
        "flannel",
        "cali",
        "podman",
        "macvlan",
        "ipvlan",
        "dummy",
        "bnxt_re",
        "irdma",
        "efa",
        "hfi1",
        "qedr",
        "erdma",
        "rxe",
        "siw",
        "cxgb",
        "gpu",
        "mig",
        "wg",
        "tailscale",
        "vxlan",
        "sit",
        "kube",
        "nodelocaldns",
        "cilium",
        "lxc",
        "lxd",
        "ovs",
        "gre",
        "ip6tnl",
        "usb",
        "ppp",
        "p2p",
        "vmnet",
        "bridge",
        "rdmap",
        "ocp",
        "gve",
        "hn",
        "p",
        "em",
        "storage",
        "data",
        "compute",
    ];
    let bare = item.trim_start_matches(['^', '=', '!', '-']).trim_matches(['"', '\'']);
    let name = bare.split(':').next().unwrap_or_default();
    let start = name.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
    let numbered = name.len() < 16
        && KINDS.iter().any(|kind| match kind.len() {
            // `en`, `p`, `em`, `br`: names of interfaces that begin so have a digit soon.
            ..=2 => name.strip_prefix(kind).is_some_and(|rest| {
                rest.is_empty()
                    || rest.bytes().take(3).any(|byte| byte.is_ascii_digit())
                    || rest.starts_with('-')
            }),
            _ => name.starts_with(kind),
        })
        && !pieces(name, 7)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-@+*".contains(&byte));
    let uuid = |text: &str| super::identifiers::UUID.is_match(text) && text.len() < 100;
    bare.is_empty()
        || is_number(bare)
        || listed("all none void auto any self host", &bare.to_ascii_lowercase())
        || interfaces.iter().any(|known| known == name)
        || numbered && (start.len() > 1 || name.len() < 8)
        || uuid(bare) && bare.starts_with(['G', 'M', 'n'])
        || bare.starts_with("nvidia.com/") && bare.len() < 60
}

/// Words that the values of variables of NCCL, PyTorch, DeepSpeed, UCX, libfabric, Open MPI and of engines
/// are made of, in lower case.
const CHOICES: &str = "\
    version warn warning info abort trace none error debug off detail fatal all default verbose data poll \
    func req \
    loc pix pxb phb sys nvl nvb c2c port rail p2c pxn ring tree collnetchain collnetdirect collnet nvls \
    nvlstree pat ll ll128 simple \
    allreduce broadcast reduce allgather reducescatter alltoall sendrecv \
    init coll p2p shm net graph tuning env alloc alloc_host call proxy bootstrap reg profile ras destroy \
    lazy eager fastest_first pci_bus_id cuda cpu xpu npu mps hpu mlu sdaa rocm gaudi efa tcp verbs \
    tcp_tls uv udp sockets psm psm2 psm3 \
    opx cxi ofi_rxm ofi_rxd rxm rxd lnx default debug_local debug_global efficiency zero af_inet af_inet6 \
    ipv4 ipv6 \
    parallel group auto max min mid ib socket self sm rc ud dc rc_x ud_x dc_x rc_v ud_v rc_mlx5 ud_mlx5 \
    dc_mlx5 \
    cuda_copy cuda_ipc gdr_copy rocm_copy rocm_ipc cma knem xpmem posix sysv mm ugni \
    ob1 ucx cm vader openib ofi tcp btl mtl ssh rsh exec hash ds12 ds21 utility compute video display \
    graphics ngx \
    compat32 void true false yes no on off \
    expandable_segments max_split_size_mb garbage_collection_threshold backend native cudamallocasync \
    roundup_power2_divisions roundup_bypass_threshold_mb release_lock_on_cudamalloc \
    pinned_use_cuda_host_register \
    pinned_num_register_threads pinned_use_background_threads max_non_split_rounding_mb ptx \
    kepler maxwell pascal volta turing ampere ada hopper blackwell legacy cdi csv hook \
    docker podman lxc oci systemd-nspawn wsl kube containerd buildah flatpak openvz rkt garden \
    plain tty rawjson quiet linux windows darwin amd64 arm64 x86_64 aarch64 arm v7 v8 ppc64le s390x riscv64 \
    first-index unsafe-first-match unsafe-best-match copy clone hardlink symlink only-managed managed system \
    only-system automatic manual if-necessary if-necessary-only first unsafe cu xpu pytorch tensorflow \
    triton server dynamo inductor \
    aot autograd distributed ddp fsdp c10d nccl gloo mpi dist recompiles graph_breaks guards bytecode \
    output_code \
    schedule perf_hints post_grad_graphs aot_graphs onnx export fusion overlap kernel_code sym_shapes \
    dtensor \
    json text local journald syslog fluentd gelf splunk awslogs gcplogs etwlogs json-file \
    overlay2 overlay btrfs zfs vfs fuse-overlayfs devicemapper aufs overlayfs native.cgroupdriver systemd \
    cgroupfs \
    host private shareable bridge enable disable enabled disabled ignore strict relaxed static dynamic both \
    nofile memlock nproc stack core tmp0 rdma stable eager_init cuda_ipc_enable sendfile";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_another_type_do_not_fit() {
        for (kind, value, expected) in [
            (Kind::Number, "8", true),
            (Kind::Number, "geheim", false),
            (Kind::Choice, "^Ring,Tree", true),
            (Kind::Choice, "INFO", true),
            (Kind::Choice, "cuda>=12.8 brand=tesla,driver>=535,driver<536", true),
            (Kind::Choice, "expandable_segments:True,max_split_size_mb:128", true),
            (Kind::Choice, "geheim7", false),
            (Kind::Paths, "/usr/lib:/opt/x", true),
            (Kind::Paths, "libfoo.so.1 /opt/x.so", true),
            (Kind::Paths, "geheim", false),
            (Kind::Devices, "=eth0,^docker0", true),
            (Kind::Devices, "mlx5_0:1,enp7s0f0", true),
            (Kind::Devices, "GPU-5a2b6f10-0d6c-4f3b-9c1e-0123456789ab", true),
            (Kind::Devices, "fabric", true),
            (Kind::Devices, "geheim7", false),
            (Kind::Version, "3.12.4", true),
            (Kind::Version, "geheim", false),
            (Kind::Endpoint, "geheim", false),
        ] {
            assert_eq!(fits(kind, value, &["fabric".to_owned()]), expected, "{value}");
        }
    }
}
