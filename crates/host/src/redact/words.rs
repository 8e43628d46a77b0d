//! Files whose form must stay, valid or not: every word that is not known to be harmless gets a stand-in.

use super::{Redactor, listed};

/// Whether a character belongs to a word of YAML, TOML and JSON.
fn part_of_word(c: char) -> bool {
    !c.is_whitespace() && !"\"',[]{}()<>#`|&;\\".contains(c)
}

impl Redactor {
    /// Words that `known` does not know lose their letters and digits: `x1`, `x2` for each that is different.
    /// A colon at the end of a word belongs to the form.
    pub(super) fn masked(&mut self, text: &str, known: impl Fn(&mut Self, &str) -> bool) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let length = rest.find(|c| !part_of_word(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(length.max(next.len_utf8()));
            let bare = word.trim_end_matches(':');
            match length == 0 || bare.is_empty() || known(self, bare) {
                true => out.push_str(word),
                false => {
                    out.push_str(&self.mask(bare));
                    out.push_str(&word[bare.len()..]);
                }
            }
            rest = after;
        }
        out
    }

    fn mask(&mut self, word: &str) -> String {
        let mut out = String::new();
        let mut rest = word;
        while let Some(next) = rest.chars().next() {
            let length = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
            let (run, after) = rest.split_at(length.max(next.len_utf8()));
            match length {
                0 => out.push_str(run),
                _ => out.push_str(&format!("x{}", self.number("word", run))),
            }
            rest = after;
        }
        out
    }

    /// A specification of the Container Device Interface, YAML or JSON.
    pub(super) fn cdi(&mut self, text: &str) -> String {
        self.masked(text, |this, word| {
            listed(CDI, word)
                || is_number(word)
                || is_system_path(word)
                || is_device(word)
                || is_kind(word)
                || word.split_once('=').is_some_and(|(name, value)| {
                    name.starts_with("NVIDIA_") && this.variable(name, value).as_deref() == Some(value)
                })
        })
    }

    /// `/etc/nvidia-container-runtime/config.toml`
    pub(super) fn toolkit(&mut self, text: &str) -> String {
        self.masked(text, |_, word| {
            listed(TOOLKIT, word) || is_number(word) || is_system_path(word) || is_kind(word)
        })
    }
}

/// `0`, `0.5.0`, `0660`, `0x1b`, `12-8`: a number or a version.
fn is_number(word: &str) -> bool {
    word.len() < 24
        && word.bytes().filter(u8::is_ascii_digit).count() < 16
        && word.trim_start_matches("0x").bytes().all(|byte| byte.is_ascii_digit() || b".:-".contains(&byte))
}

/// A path below a directory of the system whose parts are names of files, or two of them (`target::link`).
fn is_system_path(word: &str) -> bool {
    const ROOTS: &str = "\
    /dev/ /usr/ /lib/ /lib64/ /bin/ /sbin/ /etc/ /run/ /var/run/ /proc/ /sys/ /opt/nvidia/ /var/lib/ \
    /tmp/nvidia-mps /snap/ @/";
    let relative = |path: &str| {
        ["libcuda.", "libnvidia", "libGL", "libEGL", "libnv", "../", "card", "renderD"]
            .iter()
            .any(|start| path.starts_with(start))
    };
    let path = |path: &str| {
        path == "/"
            || ROOTS
                .split_whitespace()
                .any(|root| path.starts_with(root) || path == root.trim_end_matches('/'))
    };
    match word.split_once("::") {
        Some((target, link)) => (path(target) || relative(target)) && path(link),
        None => path(word),
    }
}

/// `GPU-5a2b…`, `MIG-5a2b…`, `0:1`, `gpu0`, `mig1:0`, `nvidia.com/gpu=0`
fn is_device(word: &str) -> bool {
    let uuid = word.strip_prefix("GPU-").or_else(|| word.strip_prefix("MIG-"));
    let index = word.strip_prefix("gpu").or_else(|| word.strip_prefix("mig")).unwrap_or("x");
    uuid.is_some_and(|uuid| super::identifiers::UUID.is_match(uuid)) || is_number(index)
}

/// The kinds of NVIDIA's own specifications.
fn is_kind(word: &str) -> bool {
    let (kind, device) = word.split_once('=').unwrap_or((word, "all"));
    let vendor = kind.rsplit_once('/').is_some_and(|(vendor, class)| {
        (vendor == "nvidia.com" || vendor.ends_with(".nvidia.com"))
            && vendor.len() < 40
            && class.len() < 16
            && class.bytes().all(|byte| byte.is_ascii_lowercase())
    });
    vendor && (device == "all" || is_number(device) || is_device(device))
}

const CDI: &str = "\
    --- - cdiVersion kind devices name all containerEdits deviceNodes path hostPath containerPath type \
    major minor fileMode permissions uid gid c b p u r w m rw rwm ro nosuid nodev noexec rbind bind \
    rprivate private rslave rshared mounts options hooks hookName args env timeout additionalGids \
    annotations netDevices intelRdt createContainer createRuntime startContainer prestart poststart \
    poststop nvidia-cdi-hook nvidia-ctk hook create-symlinks update-ldcache chmod enable-cuda-compat \
    disable-device-node-modification --folder --link --mode --path --ldconfig-path --host-driver-version \
    --host-cuda-version --dev-root true false null";

const TOOLKIT: &str = "\
    accept-nvidia-visible-devices-as-volume-mounts \
    accept-nvidia-visible-devices-envvar-when-unprivileged alpha-merge-visible-devices-envvars \
    annotation-prefixes auto cdi csv cuda-compat-mode cdi.k8s.io cdi.k8s.io/ crun crio debug \
    default-kind device-list-strategy disable-cuda-compat-lib-hook disable-imex-channel-creation \
    disable-require disabled docker-runc driver-root dev-root enabled environment features hook info \
    error warning ignore-imex-channel-requests jit-cdi ldcache ldconfig legacy ldconfig.real load-kmods \
    log-level low-level-runtime mode modes mount mount-spec-path no-cgroups nvidia nvidia-container-cli \
    nvidia-container-runtime nvidia-container-runtime-hook nvidia-container-runtime.modes.cdi \
    nvidia-container-runtime.modes.csv nvidia-container-runtime.modes.legacy nvidia-ctk path root \
    root:root root:video runc runtimes skip-mode-detection spec-dirs supported-driver-capabilities \
    swarm-resource DOCKER_RESOURCE_GPU DOCKER_RESOURCE_NVIDIA_GPU user volume-mounts envvar compat32 \
    compute display graphics ngx utility video all true false =";
