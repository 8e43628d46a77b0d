//! Families of variables, and names of settings whose values are shown where they have the type of the name.

/// Families whose members hold the settings of a library.
pub(super) const LIBRARIES: &[&str] = &[
    "CUDA",
    "CUDA_",
    "CUDNN_",
    "DEEPSPEED_",
    "DS_",
    "FI_",
    "GLOO_",
    "IBV_",
    "MELLANOX_",
    "MV2_",
    "NCCL_",
    "NVSHMEM_",
    "NV_",
    "OFI_",
    "OMPI_",
    "PYTORCH_",
    "RDMAV_",
    "TORCH_",
    "TP_SOCKET_IFNAME",
    "TRITON_",
    "UCX_",
    "WSL_",
];

/// Sections of pip.conf and tables of uv.toml.
pub(super) const PACKAGE_SECTIONS: &str =
    "global install index pip download wheel list freeze user config cache";

/// Keys of pip.conf and uv.toml whose values are shown by checks.
pub(super) const PACKAGE_KEYS: &[&str] = &[
    "index-url",
    "extra-index-url",
    "trusted-host",
    "find-links",
    "proxy",
    "cert",
    "timeout",
    "retries",
    "no-index",
    "break-system-packages",
    "require-virtualenv",
    "user",
    "no-cache-dir",
    "index",
    "name",
    "url",
    "default",
    "explicit",
    "torch-backend",
    "index-strategy",
    "link-mode",
    "python-install-mirror",
    "python-preference",
    "native-tls",
    "allow-insecure-host",
    "offline",
    "prefer-binary",
    "only-binary",
    "no-binary",
    "progress-bar",
    "disable-pip-version-check",
];

/// Keys of daemon.json whose texts stay. Numbers and booleans stay under every key.
pub(super) const DAEMON_KEYS: &[&str] = &[
    "add-runtime",
    "authorization-plugins",
    "bip",
    "bridge",
    "cdi-spec-dirs",
    "cgroup-parent",
    "containerd",
    "containerd-namespace",
    "data-root",
    "default-cgroupns-mode",
    "default-ipc-mode",
    "default-runtime",
    "default-shm-size",
    "default-ulimits",
    "dns",
    "dns-opts",
    "exec-opts",
    "exec-root",
    "graph",
    "group",
    "hosts",
    "ip",
    "log-driver",
    "log-format",
    "log-level",
    "max-file",
    "max-size",
    "fixed-cidr",
    "fixed-cidr-v6",
    "pidfile",
    "default-address-pools",
    "builder",
    "features",
    "runtimes",
    "seccomp-profile",
    "storage-driver",
    "storage-opts",
    "tlscacert",
    "tlscert",
    "tlskey",
    "userns-remap",
    "default-gateway",
    "userland-proxy-path",
    "init-path",
];
/// Other names in daemon.json, also within its objects.
pub(super) const DAEMON_NAMES: &str = "\
    labels log-opts cluster-advertise cluster-store cluster-store-opts default-network-opts dns-search \
    node-generic-resources proxies registry-mirrors insecure-registries http-proxy https-proxy no-proxy \
    allow-nondistributable-artifacts storage-opts exec-opts default-ulimits default-address-pools base \
    size Name \
    Hard Soft path runtimeArgs args runtimeType options gc enabled defaultKeepStorage defaultReservedSpace \
    defaultMaxUsedSpace defaultMinFreeSpace policy keepStorage reservedSpace maxUsedSpace minFreeSpace \
    filter all \
    entitlements network-host security-insecure device buildkit containerd-snapshotter \
    containerd-migration cdi \
    windows-dns-proxy time-namespaces shared-size max-size max-file mode tag labels-regex env env-regex \
    compress \
    nofile memlock nproc stack core cpu fsize locks msgqueue nice rss rtprio rttime sigpending TypeUrl \
    ConfigPath Root \
    SystemdCgroup BinaryName bridge-accept-fwmark hosts runtimes default-network-opts \
    swarm-default-advertise-addr tls tlsverify icc debug experimental insecure-registry";
/// Keys of daemon.json that name machines.
pub(super) const DAEMON_HOSTS: &[&str] = &[
    "allow-nondistributable-artifacts",
    "dns-search",
    "http-proxy",
    "https-proxy",
    "insecure-registries",
    "no-proxy",
    "registry-mirrors",
];
