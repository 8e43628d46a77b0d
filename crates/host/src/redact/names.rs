//! Names of machines and people, by the place that they have in logs and in outputs of commands.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{Redactor, listed, pattern, replace_word, short};

/// A name of a machine behind the date of a line of syslog or the journal, before the program.
static SYSLOG: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"((?:\b[A-Z][a-z]{2} [ 0-3]\d \d\d:\d\d:\d\d",
        r"|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:?\d\d)) )",
        r"([A-Za-z0-9][A-Za-z0-9.-]*)( (?:[A-Za-z][\w./-]*\[\d+\]|kernel|sudo): )"
    ))
});
/// `gpu-17:4242:4301 [0] NCCL INFO`
static NCCL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"()\b([A-Za-z][A-Za-z0-9.-]*)(:\d+:\d+ \[\d+\] NCCL )"));
/// Variables that hold names of machines: `HOSTNAME=gpu-17`, `SLURM_JOB_NODELIST=gpu-[07-08]`.
static HOST_VARIABLE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"(\b(?:HOSTNAME|MASTER_ADDR|SLURMD_NODENAME|SLURM_SUBMIT_HOST|SLURM_LAUNCH_NODE_IPADDR"#,
        r#"|SLURM_(?:JOB_|STEP_)?NODELIST|PBS_O_HOST|LSB_HOSTS)["']?(?:=|: )["']?)"#,
        r#"([A-Za-z][A-Za-z0-9.,\[\]-]*)()"#
    ))
});
/// The realm of Kerberos.
static REALM: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?i)(\brealm[ =]["']?)([a-z0-9-]+(?:\.[a-z0-9-]+)+)()"#));
/// A name with a domain that a person or an organization owns. A module of Python has neither a hyphen nor a
/// digit in its names, and three parts keep `docker.io` and `train.org`.
static DOMAIN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b((?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.){2,}",
        r"(?:com|net|org|edu|gov|de|ch|fr|uk|nl|eu|jp|kr|cn|se|pl|io|ai|cloud|tech))\b"
    ))
});
/// `search corp.example lab.example`
static SEARCH: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)\b(search|domain)((?: [a-z0-9-]+(?:\.[a-z0-9-]+)+)+)$"));
/// `alice@gpu-17:~$`, `[alice@gpu-17 train]$`, `alice@gpu-17:/data`, `alice@gpu-17: Permission denied`
static LOGIN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(^|[\s\[])([a-z_][a-z0-9_.-]*)@([A-Za-z0-9][A-Za-z0-9.-]*)",
        r"(:[~/]|: Permission denied|: Connection| [^\]\s]+\][$#])"
    ))
});
/// `ssh alice@gpu-17`
static SSH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(\b(?:ssh|sftp|ssh-copy-id|mosh)\b[^\n|;&@]*? )([a-z_][a-z0-9_.-]*)@([A-Za-z0-9][A-Za-z0-9.-]*)()",
    )
});
/// Users, by what precedes and follows them.
static USERS: LazyLock<[Regex; 5]> = LazyLock::new(|| {
    [
        r#"(\b(?:USER|LOGNAME|USERNAME|SUDO_USER|SLURM_JOB_USER)["']?(?:=|: )["']?)([A-Za-z_][\w.-]*)()"#,
        r"(\b(?:Accepted|Failed) [\w/-]+ for (?:invalid user )?)([A-Za-z_][\w.-]*)( from )",
        r"(\bsession (?:opened|closed) for user )([A-Za-z_][\w.-]*)()",
        r"(\bsudo(?:\[\d+\])?:\s+)([A-Za-z_][\w.-]*)( : )",
        // `ps aux`
        r"(?m)((?:^|: ))([A-Za-z_][\w.+-]*)(\s+\d+\s+\d+\.\d\s+\d+\.\d\s+\d+\s+\d+\s)",
    ]
    .map(pattern)
});
/// `uid=1001(alice)`
static IDS: LazyLock<Regex> = LazyLock::new(|| pattern(r"([=,]\d{4,7}\()([A-Za-z_][\w.-]*)(\))"));

/// Domains of publishers of software: where a download came from is no secret of the machine.
const PUBLIC: &[&str] = &[
    "docker.com",
    "docker.io",
    "github.com",
    "githubusercontent.com",
    "huggingface.co",
    "nvcr.io",
    "nvidia.com",
    "pytorch.org",
    "python.org",
];

/// Whether a name belongs to a publisher of software.
pub(super) fn is_public(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    PUBLIC
        .iter()
        .any(|known| host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// Users that every system has.
fn is_system(user: &str) -> bool {
    ["root", "git", "nobody", "daemon", "ubuntu", "ec2-user"].contains(&user) || user.starts_with("user-")
}

/// What stands where a name of a machine would: the level of a message.
fn is_level(word: &str) -> bool {
    ["info", "warn", "warning", "error", "debug", "trace", "fatal", "critical", "notice"]
        .contains(&word.to_ascii_lowercase().as_str())
}

/// Whether a name is particular enough to be replaced in any text: `node-17` is, `ubuntu` would take the
/// distribution with it.
pub(super) fn particular(name: &str) -> bool {
    name.len() >= 4
        && name.contains(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
        && name != "localhost.localdomain"
}

/// Words of settings and logs that may be the name of a machine, too.
const COMMON: &str = "\
    admin alma arch backup bin boot bus cdi centos char class clock cluster compat conda config \
    containerd cuda daemon data debian default dev devices dkms docker docker.d dpkg driver engine \
    environment etc fedora firewalld group home host hosts include infiniband jobs kernel lib lib64 \
    linux local localhost mail master media mnt models module modules munge net network node nvidia opt \
    pci podman proc program python python3 pyvenv rank render rhel rocky root rpm run sbin scratch \
    server share site-packages slurm snap space srv sudo suse sys system systemd tmp torch train ubuntu \
    user users usr var version video work worker wsl";

/// Whether a folder of this name may be a user's: `/scratch/alice`. Every machine has a `/dev`.
pub(super) fn may_be_own_folder(name: &str) -> bool {
    !listed(COMMON, name)
}

/// Whether a name can be replaced in settings and logs.
pub(super) fn uncommon(name: &str) -> bool {
    name.len() >= 4 && !listed(COMMON, name) && name != "localhost.localdomain"
}

impl Redactor {
    /// Names in the places that say what they are, and short names of these machines everywhere.
    pub(super) fn names_by_place(&mut self, text: &str) -> String {
        let mut met = Vec::new();
        let mut text = text.to_owned();
        for regex in [&*SYSLOG, &*NCCL, &*HOST_VARIABLE, &*REALM] {
            text = self.replace(regex, &text, |this, found| {
                format!("{}{}{}", &found[1], this.machine(&found[2], &mut met), &found[3])
            });
        }
        for regex in [&*LOGIN, &*SSH] {
            text = self.replace(regex, &text, |this, found| {
                let user = this.person(&found[2]);
                format!("{}{user}@{}{}", &found[1], this.machine(&found[3], &mut met), &found[4])
            });
        }
        text = self.domains(&text, &mut met);
        for regex in USERS.iter().chain([&*IDS]) {
            text = self.replace(regex, &text, |this, found| {
                format!("{}{}{}", &found[1], this.person(&found[2]), &found[3])
            });
        }
        met.iter().fold(text, |text, (name, stand_in)| replace_word(&text, name, stand_in))
    }

    fn domains(&mut self, text: &str, met: &mut Vec<(String, String)>) -> String {
        let text = self.replace(&SEARCH, text, |this, found| {
            let names = found[2].split_whitespace().map(|name| this.machine(name, met));
            format!("{} {}", &found[1], names.collect::<Vec<_>>().join(" "))
        });
        self.replace(&DOMAIN, &text, |this, found: &Captures<'_>| {
            let whole = found.get(0).map_or(0..0, |whole| whole.range());
            // A part of a path, a module or a longer name.
            let before = text.as_bytes()[..whole.start].last();
            let folder = before == Some(&b'/')
                && matches!(text.as_bytes().get(whole.end), None | Some(b'/' | b' ' | b':' | b'"'));
            let end = text[whole.end..].strip_prefix('.').unwrap_or_default();
            let file = [
                "conf", "scope", "service", "slice", "json", "yaml", "log", "sock", "pem", "crt", "key",
                "txt",
            ]
            .iter()
            .any(|known| end.starts_with(known));
            let goes_on = text.as_bytes().get(whole.end).is_some_and(|byte| b"_-(".contains(byte))
                || end.starts_with(|c: char| c.is_ascii_alphanumeric()) && !file;
            let part = before.is_some_and(|byte| b"._-/\\".contains(byte)) && !folder && !file;
            let module = !found[1].contains(|c: char| c == '-' || c.is_ascii_digit())
                && [".io", ".ai", ".cloud", ".tech"].iter().any(|end| found[1].ends_with(end));
            if part || goes_on || module { found[0].to_owned() } else { this.machine(&found[1], met) }
        })
    }

    /// The stand-in of a machine; its short name is remembered when it is particular.
    fn machine(&mut self, name: &str, met: &mut Vec<(String, String)>) -> String {
        let stand_in = if is_level(name) { name.to_owned() } else { self.server(name) };
        let first = short(name);
        if stand_in != name && particular(first) && !first.starts_with("server-") {
            met.push((first.to_owned(), stand_in.clone()));
        }
        stand_in
    }

    fn person(&mut self, name: &str) -> String {
        if is_system(name) { name.to_owned() } else { self.user(name) }
    }
}
