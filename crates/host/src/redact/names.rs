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
/// Names of machines, by what precedes and follows them in messages of ssh, Slurm, PyTorch, MPI, resolvers
/// and launchers. Only the name of a machine is valid there.
static HOSTS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| HOST_PLACES.iter().map(|place| pattern(&place.replace("NAME", HOST_NAME))).collect());
/// A name, or a list of Slurm: `gpu-[07-08,11]`.
const HOST_NAME: &str = r"([A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9](?:\[[\d,-]+\])?)";
const HOST_PLACES: &[&str] = &[
    r"(?i)(\bconnect to host )NAME( port \d+)",
    r#"(?i)(\b(?:resolve|unknown) (?:host|hostname)(?: address)?:? ['"‘“(\\]*)NAME()"#,
    concat!(
        r#"(?i)(\b(?:failed to|could not|cannot|can't|unable to) (?:resolve|find|reach|ping"#,
        r#"|contact) ['"‘“]+)NAME(["'’”])"#,
    ),
    r#"(?i)(\b(?:gethostbyname|getaddrinfo)\w*[ (]+(?:for |of )?['"]?)NAME()"#,
    concat!(
        r"(?i)((?:name or service not known|servname provided, or not known|address associated",
        r" with hostname|failure in name resolution): )NAME()",
    ),
    r"(?i)(\blookup )NAME( on |: no such host|: server misbehaving|: i/o timeout)",
    r"(\bping: (?:unknown host )?)NAME(: (?:Name or|Temporary|No address))",
    concat!(
        r"(\b(?:srun|sbatch|salloc|slurmstepd|slurmd|prun): (?:error|fatal|launch/\w+)?:?",
        r" ?)NAME(: (?:tasks?|[Ss]tep|Job|job|launch|Unable|unable|error|\[))",
    ),
    r"(\bslurmstepd-)NAME(: )",
    concat!(
        r"(?i)(\b(?:worker|node|host|machine|agent|server) )NAME(:? (?:is |has )?(?:dead|lost",
        r"|died|down|unreachable|disconnected|not responding|timed out|failed|rebooted|drained",
        r"|offline)\b)",
    ),
    r"(?i)( by remote host )NAME()",
    r"(?m)(^(?:\S+:\d+: )?)([A-Za-z][A-Za-z0-9-]*[A-Za-z0-9])(: (?:bash|sh|zsh|ssh|cd): )",
    r#"(\b(?:mount\.\S+|nfs\w*|rsync|scp|showmount)\b[^\n]*?[\s'"])NAME(:/)"#,
    r"( (?:STEP|JOB) \S+ ON )NAME( )",
    concat!(
        r"(?i)(\b(?:nodelist|hostlist|nodenames?|nodehost|batchhost|req_?nodes",
        r"|exc_?nodelist)(?:\(\w*\))?[ =:]+)NAME()",
    ),
    concat!(
        r#"(?i)(--?(?:rdzv[_-]endpoint|master[_-]addr(?:ess)?|coordinator[_-]address|dist[_-]url"#,
        r#"|init[_-]method|head[_-]?(?:node|address|ip)|nodelist|nodes?|hosts?|hostlist|exclude"#,
        r#"|server|scheduler[_-]?(?:host|address)?|address|node[_-]ip(?:[_-]address)?|include"#,
        r#"|bind[_-]addr)[= ]["']?(?:tcp://)?)NAME()"#,
    ),
    concat!(
        r#"(?i)(\b(?:rdzv[_-]?endpoint|master[_-]addr(?:ess)?|coordinator[_-]address"#,
        r#"|init[_-]method|head[_-]?(?:node|address)|store[_-]host|host[_-]?name|host_ip|node_name"#,
        r#"|nodename|remote[_-]host|local[_-]host|server_addr|endpoint)["']?(?:=|: | =>"#,
        r#" )["']?(?:tcp://)?)NAME()"#,
    ),
    r#"(\bhost=["']?)NAME()"#,
    concat!(
        r#"(?i)((?:connect(?:ed|ing|ion)?|bind|bound|listen(?:ing)?|address(?:es)?|server|store"#,
        r#"|TCPStore|rendezvous|endpoint)\b[^\n(\[]{0,40}[(\[]['"]?)NAME(['"]?[,\]]:? ?\d{2,5})"#,
    ),
    concat!(
        r"(?i)((?:connect|connecting|connected|connection|bind|binding) to (?:server |remote ",
        r"|peer |node |address )?)NAME(:\d{2,5}\b)",
    ),
    concat!(
        r"(?i)((?:socket|store|server|peer|remote|endpoint)[^\n]{0,40}? (?:on|at|to|from|with)",
        r" \[?)NAME(\]?:\d{2,5}\b)",
    ),
    r"(?i)(\b(?:local|remote|source|target|peer) host:\s+)NAME()",
    concat!(
        r"(?i)(\b(?:daemons? on|unreachable|failed on|died on|started on|running on|lost|exited",
        r" on|process on|rank \d+ on|logged in to|address of \S+ for) (?:the )?(?:node|host)",
        r" )NAME()",
    ),
    r#"(\bPermanently added ['"]?)NAME()"#,
    r"(?i)(\bConnection (?:closed|reset) by )NAME( port \d+)",
    r"(\bpdsh@)NAME(: )",
    r"(: )NAME(: (?:ssh|rcmd|mcmd|krsh) exited)",
    r"(\bpdsh\b[^\n]*? -w )NAME()",
    r"(\bOffending \S+ key in \S+ for )NAME()",
    concat!(
        r"(?m)(^(?:\S+:\d+: )?(?:[A-Z]+: )?(?:[+$#>] )*(?:ssh|mosh) (?:-[A-Za-z]+(?:(?: \d+|",
        r" \S+=\S+| [~/]\S+))? )*)NAME( |$)",
    ),
];
/// A list of machines behind an option: `-H gpu-1:8,gpu-2:8`.
static HOST_LIST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(\b(?:mpirun|mpiexec|horovodrun|srun|sbatch|salloc|pdsh|clush|deepspeed)\b[^\n]*?",
        r" (?:-H|--?hosts?|-w|--nodelist|--include)[ =])([A-Za-z][A-Za-z0-9._:,@-]*)()",
    ))
});
/// Words of sentences and values where a name would be.
const NO_HOSTS: &str = "\
    a access again agent all an and any address auto backend client cluster code config connection \
    connections \
    container daemon default dependencies device error failed false file for from gpu has host hostname \
    import in \
    is it job key keys localhost login loopback master module name none not null number of on or other port \
    process rank remote root same self server session shm socket store symbol task tcp that the these \
    this to \
    true tunnel unknown was with";
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
static USERS: LazyLock<[Regex; 11]> = LazyLock::new(|| {
    [
        // `C:\Users\alice`, also within JSON
        r#"(?i)(\b[A-Z]:\\+(?:Users|Documents and Settings)\\+)([^\\\s"'/:<>|]+)()"#,
        concat!(
            r"(?i)(\buser )([a-z_][\w.-]*)( (?:is |was )?(?:not in|does not exist|not found|not",
            r" known|unknown|denied|has no|cannot|not allowed|not authorized|failed))",
        ),
        r#"(?i)(\b(?:invalid|unknown|no such|illegal) user:? ["']?)([a-z_][\w.-]*)()"#,
        r#"(?i)(\buser ["'‘“])([a-z_][\w.-]*)(["'’”])"#,
        r"(?i)(\b(?:su|runuser): (?:user )?)([a-z_][\w.-]*)( (?:does not|is not))",
        r#"(\b(?:user|username|owner|UserId|submitted_by|entity)=["']?)([A-Za-z_][\w.-]*)()"#,
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

/// Folders that clusters give to their users: `/scratch/alice`, `/lustre/work/alice`. The first names of file
/// systems of this kind, then at most one folder that sorts them.
static USER_FOLDER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"((?:^|[\s=:'\x22(,`>])/(?:scratch\d*|pscratch|ptmp|lustre\d*|gpfs\d*|beegfs|fsx",
        r"|weka|nobackup|bigscratch|ccscratch)",
        r"(?:/(?:scratch|work|users?|home|homes|projects?|groups?|fs\d+|gpfs\d+|ptmp|data|tmp))?/)",
        r"([A-Za-z_][A-Za-z0-9_-]*)(/|$|[\s'\x22:,)`])"
    ))
});
/// Folders below them that belong to no single user.
const SHARED_FOLDERS: &str = "\
    apps cache checkpoint checkpoints ckpt ckpts code containers dataset datasets download downloads env \
    envs \
    experiments images logs model output outputs public results runs scratch shared software src team \
    teams tools training venv venvs weights workspace";
/// `Author: Alice Example <a@b.example>`
static AUTHOR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)(\b(?:author|committer|commit(?:ted)? by|signed-off-by|co-authored-by",
        r"|maintainer|reported-by|reviewed-by|tagger):?[ \t]+)([^<\n\x22*]{2,60}?)( (?:<",
        r"|&lt;))",
    ))
});
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
        for regex in HOSTS.iter() {
            text = self.replace(regex, &text, |this, found| {
                let stand_in = this.certain_machine(&found[2], &mut met);
                format!("{}{stand_in}{}", &found[1], &found[3])
            });
        }
        text = self.replace(&HOST_LIST, &text, |this, found| {
            let items = found[2].split(',').map(|item| {
                let end = item.find([':', '@']).unwrap_or(item.len());
                format!("{}{}", this.certain_machine(&item[..end], &mut met), &item[end..])
            });
            format!("{}{}", &found[1], items.collect::<Vec<_>>().join(","))
        });
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
        text = self.replace(&AUTHOR, &text, |this, found| {
            format!("{}{}{}", &found[1], this.person(&found[2]), &found[3])
        });
        text = self.replace(&USER_FOLDER, &text, |this, found| {
            let shared = listed(SHARED_FOLDERS, &found[2]) || !may_be_own_folder(&found[2]);
            let user = if shared { found[2].to_owned() } else { this.person(&found[2]) };
            format!("{}{user}{}", &found[1], &found[3])
        });
        met.iter().fold(text, |text, (name, stand_in)| replace_word(&text, name, stand_in))
    }

    /// The stand-in of a machine where only a machine can be. Its name is replaced everywhere unless it is a
    /// common word.
    fn certain_machine(&mut self, name: &str, met: &mut Vec<(String, String)>) -> String {
        let first = short(name);
        if listed(NO_HOSTS, &name.to_ascii_lowercase())
            || first.starts_with("server-")
            || listed(NO_HOSTS, first)
        {
            return name.to_owned();
        }
        // A list of Slurm names several machines by their start.
        let stand_in = self.machine(name, met);
        if stand_in != name && !particular(first) && first.len() > 4 && uncommon(first) {
            met.push((first.to_owned(), stand_in.clone()));
        }
        stand_in
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
