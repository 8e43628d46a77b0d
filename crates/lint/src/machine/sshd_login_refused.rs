//! An sshd_config that denies the login that launchers need.

use crate::file::Over;
use crate::read::machine::Machine;
use crate::read::sshd::SshdConfig;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "sshd-login-refused",
    severity: Severity::Error,
    summary: "sshd accepts the logins of launchers: keys, and the user that runs the ranks",
    explain: include_str!("sshd_login_refused.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named_with(
            "sshd_config",
            "Port 2222\nPermitRootLogin no\n",
            &[("ssh_config", "Host gpu-*\n    Port 2222\n    User root\n")],
        ),
        named_with(
            "sshd_config",
            "PermitRootLogin no\n",
            &[("run.sh", "mpirun --allow-run-as-root -H a:8,b:8 python t.py\n")],
        ),
        named_with(
            "sshd_config",
            "PermitRootLogin prohibit-password\nAllowUsers mpi admin\n",
            &[("run.sh", "#!/bin/bash\nfor h in a b; do ssh root@$h true; done\n")],
        ),
        named("sshd_config", "AllowUsers mpi,admin\n"),
        named("sshd_config", "Port 22\nAuthorizedKeysFile ~/.ssh/authorized_keys\n"),
        named("sshd_config", "PubkeyAuthentication no\n"),
        named("sshd_config", "PermitRootLogin no\n"),
    ],
    silent: &[
        named_with(
            "sshd_config",
            "PermitRootLogin prohibit-password\nAllowUsers root\n",
            &[("ssh_config", "Host gpu-*\n    User root\n")],
        ),
        named_with(
            "sshd_config",
            "PermitRootLogin no\nMatch Address 10.0.0.0/8\n    PermitRootLogin prohibit-password\n",
            &[("ssh_config", "Host gpu-*\n    User root\n")],
        ),
        named_with(
            "sshd_config",
            "AllowUsers mpi@10.0.0.* ops-*\n",
            &[("ssh_config", "Host gpu-*\n    User mpi\nHost login\n  User ops-1\n")],
        ),
        named(
            "sshd_config",
            "AllowUsers mpi@10.0.0.1,10.0.0.2 admin\nAuthorizedKeysFile .ssh/authorized_keys\n",
        ),
        named("sshd_config", "PubkeyAuthentication no\nHostbasedAuthentication yes\n"),
    ],
};

/// A login that another file shows.
struct Login {
    user: String,
    file: String,
    line: usize,
}

fn judge(machine: &Machine) -> Vec<Found> {
    if machine.kind != Kind::Sshd {
        return Vec::new();
    }
    let config = SshdConfig::read(&machine.text);
    let mut found = lists_with_commas(&config);
    found.extend(tilde(&config));
    let logins: Vec<Login> = machine.others.iter().flat_map(logins).collect();
    let refused = logins.iter().find_map(|login| Some((login, refusal(&config, &login.user)?)));
    match refused {
        Some((login, (line, setting, fix))) => {
            let message = format!(
                "sshd refuses {} ({setting}), but line {} of {} logs in as {}; launchers get `Permission \
                 denied`",
                login.user, login.line, login.file, login.user
            );
            found.push(Found::warning(line, message, fix));
        }
        None => {
            if let Some((line, _, fix)) =
                refusal(&config, "root").filter(|(_, setting, _)| setting.contains("Root"))
            {
                let message = "sshd denies root login, but ranks in containers usually run as root";
                found.push(Found::note(line, message, fix));
            }
        }
    }
    let hosts = config.value("hostbasedauthentication").is_some_and(|(value, _)| value == "yes");
    if let Some((_, line)) = config.value("pubkeyauthentication").filter(|(value, _)| value == "no" && !hosts)
    {
        let message = "sshd accepts no public keys; launchers cannot log in";
        found.push(Found::note(line, message, "Set `PubkeyAuthentication yes`"));
    }
    found
}

/// Lists of users whose words have commas: each word is one pattern.
fn lists_with_commas(config: &SshdConfig) -> Vec<Found> {
    let lists = ["allowusers", "denyusers", "allowgroups", "denygroups"];
    let lines = config.global.iter().chain(&config.in_match);
    let lines = lines.filter(|line| lists.contains(&line.keyword.as_str()));
    let wrong = lines.filter_map(|line| {
        // The addresses behind `@` may be a list.
        let word =
            line.values.iter().find(|word| word.split('@').next().is_some_and(|user| user.contains(',')))?;
        let message = format!(
            "sshd takes {word:?} for one name; it separates names by spaces, and no user has this one"
        );
        Some(Found::error(line.number, message, format!("Write `{}`", word.replace(',', " "))))
    });
    wrong.collect()
}

/// Paths below `~`, which sshd does not expand.
fn tilde(config: &SshdConfig) -> Vec<Found> {
    let lines = config.global.iter().chain(&config.in_match);
    let files = ["authorizedkeysfile", "authorizedprincipalsfile"];
    let wrong = lines.filter(|line| files.contains(&line.keyword.as_str())).filter_map(|line| {
        let word = line.values.iter().find(|word| word.starts_with("~/"))?;
        let rest = word.trim_start_matches("~/");
        let message = format!(
            "sshd does not expand ~: it looks for {word} below the home directory, and finds no keys"
        );
        Some(Found::error(
            line.number,
            message,
            format!("Write `{rest}`, which is relative to the home directory"),
        ))
    });
    wrong.collect()
}

/// The line and setting with which sshd refuses a user, and what to write.
fn refusal(config: &SshdConfig, user: &str) -> Option<(usize, String, String)> {
    // A block for some of the hosts may allow it.
    let allowed = |keyword: &str| config.in_match.iter().any(|line| line.keyword == keyword);
    let root = config.value("permitrootlogin").filter(|_| user == "root" && !allowed("permitrootlogin"));
    if let Some((value, line)) =
        root.filter(|(value, _)| matches!(value.as_str(), "no" | "forced-commands-only"))
    {
        let fix = "Set `PermitRootLogin prohibit-password`".to_owned();
        return Some((line, format!("PermitRootLogin {value}"), fix));
    }
    let name = |pattern: &str| pattern.split('@').next().unwrap_or_default().to_owned();
    let matches = |pattern: &&str| name(pattern) == user || pattern.contains(['*', '?', '!']);
    if let Some((users, line)) = config.all("denyusers").filter(|(users, _)| users.contains(&user)) {
        return Some((
            line,
            format!("DenyUsers {}", users.join(" ")),
            format!("Remove {user} from DenyUsers"),
        ));
    }
    let (users, line) = config.all("allowusers").filter(|_| !allowed("allowusers"))?;
    if users.iter().any(matches) {
        return None;
    }
    Some((line, format!("AllowUsers {}", users.join(" ")), format!("Add {user} to AllowUsers")))
}

/// The logins of a file: `User root` of an ssh_config, `ssh root@node`, mpirun as root.
fn logins(other: &Over) -> Vec<Login> {
    let mut found = Vec::new();
    for (index, line) in other.text.lines().enumerate() {
        let text = line.trim();
        if text.starts_with('#') {
            continue;
        }
        // The text of an ssh_config may be in a command: `printf 'Host *\\n  User root\\n'`.
        let spaced = text.replace("\\n", " ").replace(['\'', '"', '='], " ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let of_config = words.windows(2).find(|two| two[0].eq_ignore_ascii_case("user") && is_name(two[1]));
        // USER of a Dockerfile and keys of YAML are no logins.
        let is_config = of_config.is_some_and(|two| two[0] != "USER") && !text.contains(':');
        let ssh =
            words.iter().position(|word| matches!(word.rsplit('/').next(), Some("ssh" | "pdsh" | "scp")));
        let at = ssh.and_then(|at| {
            let mut rest = words[at + 1..].iter();
            rest.find_map(|word| word.split_once('@').map(|(user, _)| user).filter(|user| is_name(user)))
        });
        let user = match (of_config, at) {
            (Some(two), _) if is_config => two[1],
            (_, Some(user)) => user,
            _ if words.contains(&"--allow-run-as-root") && launches_on_nodes(&words) => "root",
            _ => continue,
        };
        found.push(Login { user: user.to_owned(), file: other.name.clone(), line: index + 1 });
    }
    found
}

fn launches_on_nodes(words: &[&str]) -> bool {
    words.iter().any(|word| {
        matches!(
            *word,
            "-H" | "--host" | "-host" | "--hostfile" | "-hostfile" | "--machinefile" | "-machinefile"
        )
    })
}

fn is_name(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
        // Git servers have a user of their own.
        && word != "git"
}
