//! Passwords that only the command, the file or the sentence around them gives away.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{HIDDEN, pattern};
use crate::secret_names::is_secret;

/// One value: `"two words"`, `'two words'`, `word`.
macro_rules! value {
    () => {
        r#"("[^"\n]+"|'[^'\n]+'|[^\s"'|;&]+)"#
    };
}

/// Programs, and the options of theirs that take a secret as the next word or attached (`-pVALUE`).
const OPTIONS: &[(&str, &str)] = &[
    ("ipmitool|ipmi-\\w+|ipmipower|bmc-\\w+|unzip|zip|zipcloak|sqlcmd|bcp|mosquitto_(?:pub|sub)", "-P"),
    ("ldap(?:add|delete|modify|passwd|search|whoami|compare|exop)", "-w"),
    ("mongo(?:sh|dump|restore|export|import|stat|top)?|twine|redfishtool|redfish|usermod|useradd|lftp", "-p"),
    (
        "smbclient|rpcclient|xfreerdp|certutil|pk12util|keytool|impala-shell|psexec",
        "-p|-w|-W|-K|-storepass|-keypass",
    ),
    ("plink|putty|pscp|psftp|kitty", "-pw"),
    ("openssl", "-k|-K|-passin|-passout|-pass"),
    ("snmp\\w+", "-c|-A|-X"),
    ("redis-cli|valkey-cli|keydb-cli|http|https|httpie|xh|xhs", "-a|--auth"),
    ("doctl", "-t"),
    ("vault|bao|consul|nomad", "-token|-token-id|-secret-id"),
    ("arangosh|cqlsh|influx|clickhouse-client|vncdo|vncdotool|rsnapshot|sshpass|expect-ssh", "-p|--password"),
    ("7z[ar]?|7za|unrar|rar", "-p|-hp"),
    ("cadaver|mount\\.cifs|mount\\.davfs", "-p"),
];
/// Programs whose subcommand `login` takes a password behind `-p`.
const LOGINS: &str = concat!(
    r"\b(?:apptainer|argocd|az|buildah|cf|crane|docker|finch|helm|ibmcloud|nerdctl|oc|oras|podman|regctl",
    r"|singularity|skopeo)\b[^\n|;&]*?\b(?:login|auth)\b[^\n|;&]*?\s-p[ =]?"
);

static BY_OPTION: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let option = |programs: &str, options: &str| {
        // An attached value has no dash or letter of another option in front: `-p` of `-port` is none.
        let attached: Vec<&str> = options.split('|').filter(|option| option.len() < 4).collect();
        // A class that nothing is in.
        let attached = if attached.is_empty() { r"[^\s\S]".to_owned() } else { attached.join("|") };
        let start = format!(r#"(?:^|[\s/;|&("'`]|\$ )(?:{programs})(?:\.exe)?\b[^\n|;&]*?\s"#);
        pattern(&format!("({start}(?:(?:{options})[ =]|(?:{attached})))({VALUE})()"))
    };
    let mut all: Vec<Regex> = OPTIONS.iter().map(|(programs, options)| option(programs, options)).collect();
    all.push(pattern(&format!("({LOGINS})({VALUE})()")));
    all.extend(BEFORE.iter().map(|before| pattern(before)));
    all
});
const VALUE: &str = r#""[^"\n]+"|'[^'\n]+'|[^\s"'|;&<>]+"#;

/// What precedes a value, the value, and what follows it.
const BEFORE: &[&str] = &[
    concat!(r"(\bsshpass\s+-p ?)", value!(), "()"),
    concat!(r#"(\b(?:mysql|mysqldump|mysqladmin|mysqlsh|mariadb)\b[^\n|;&]*?[\s'"]-p)"#, value!(), "()"),
    concat!(r#"(--from-literal[= ]['"]?[^\s='"]+=)"#, value!(), "()"),
    concat!(r"(\brclone obscure )", value!(), "()"),
    // `-u user:VALUE`
    concat!(
        r#"(\b(?:curl|etcdctl|wget|http|https|xh|lftp|aria2c|rclone|hurl)\b[^\n|;&]*?\s"#,
        r#"(?:-u|-U|-a|--user|--proxy-user|--auth)[ =]?['"][^\s:'"]+[:,])([^'"\n]+)()"#
    ),
    concat!(
        r#"(\b(?:curl|etcdctl|wget|http|https|xh|hurl)\b[^\n|;&]*?\s(?:-u|-U|-a|--user"#,
        r#"|--proxy-user|--auth)[ =]?"#,
        r#"[^\s:"'-][^\s:"']*:)"#,
        r#"([^\s"'|;&]+)()"#
    ),
    // `-U user%VALUE`
    r#"(\b(?:smb\w+|rpcclient|net|winexe|wmic)\b[^\n|;&]*?\s(?:-U|--user)[ =]?["']?[^\s%"']+%)([^\s"']+)()"#,
    concat!(r"(\bPassword for '[^'\n]*': ?)", value!(), "()"),
    // A password that another program reads from a pipe or a string.
    concat!(
        r"(\b(?:echo|printf|print) (?:-\w+ |'%s(?:\\n)?' )*)",
        r#"("[^"\n]+"|'[^'\n]+'|[^\s"'|;&]+(?: [^\s"'|;&]+)??)"#,
        r"(\s*\|[^\n|]*(?:\bsudo\b[^\n|]*?\s-\w*S\b|stdin|\bkinit\b|passwd\b|\bcryptsetup\b|\bsmbpasswd\b",
        r"|--with-token|\blogin\b|\bunlock\b|-fd\b|\bopenssl\b|\bpasswords?\b|\bsecrets?\b",
        r"|\bauth\b|\bpinentry|\bkeyctl\b|\bbase64\b))"
    ),
    concat!(
        r"(?i)((?:pass|token|secret|login|auth|credential|stdin|cryptsetup|unlock|\s-S\b)[^\n|;&]*<<< ?)",
        value!(),
        "()"
    ),
    concat!(r"(?i)(\b(?:ro|rw)community6? )", value!(), "()"),
    // "wandb login failed" is a sentence.
    concat!(
        r#"(\b(?:wandb|cargo|vault|bao|hf|huggingface-cli|flyctl|railway|modal|npm|ngc"#,
        r#"|clearml-init|comet|neptune|kaggle) "#,
        r#"login (?:--?[\w-]+(?:=\S+)? )*["']?)([^\s"'`|;&<-][^\s"'`|;&<]*\d[^\s"'`|;&<]*)()"#
    ),
    concat!(r"(\b(?:vault|bao) (?:operator )?unseal (?:-\S+ )*)", value!(), "()"),
    concat!(r"(?i)(\bnet use [^\n|;&]*?/user:\S+ )", value!(), "()"),
    concat!(r"(?i)(\bnet use \S+ (?:\\\\\S+ )?)", value!(), "( /user:)"),
    r"(?i)(\bnet user \S+ )([^\s/][^\s]*)()",
    // `nmcli … password VALUE` and the like are found by their word; here the word is a number of places.
    concat!(r"(\b(?:ht|smb|tomcat-)passwd\b[^\n|;&]*?\s-\w*b\w*(?: \S+){2} )", value!(), "()"),
    // `poetry config http-basic.NAME user VALUE`
    concat!(r"(\bconfig (?:--?[\w-]+ )*http-basic\.\S+ \S+ )", value!(), "()"),
    // `host:5432:database:user:password` of .pgpass
    r"((?:^|\s)[^\s:]+:(?:5432|6432|\*):[^\s:]+:[^\s:]+:)(\S+)()",
    // NTLM hashes, and the body of an Ansible vault.
    r"(\b)([0-9a-fA-F]{32}:[0-9a-fA-F]{32}\b)()",
    concat!(r"(?i)(\bConvertTo-SecureString (?:-String )?)", value!(), "()"),
    // Options that take the text of a secret where the command is about secrets.
    concat!(
        r"(?i)(\b(?:secrets?|secretsmanager|ssm|keyvault|securestring|credentials?)\b[^\n|;&]*? ",
        r"--?(?:value|secret-string|secret-value|payload|data|text)[ =])",
        value!(),
        "()"
    ),
    r"(\bACL SETUSER \S+ [^\n]*?[><])(\S+)()",
    r"(\bwpa_passphrase \S+ )(\S+)()",
    r#"(\b(?:sqlplus|sqlldr|expdp|impdp|rman) (?:-\S+ )*["']?[^\s/@"']+/)([^\s@"']+)()"#,
    // A user and a password as arguments: `db.auth("svc", "value")`.
    concat!(
        r#"(\b(?:\w+\.)*(?:auth|login|authenticate|signin|basic_auth|HTTPBasicAuth"#,
        r#"|set_credentials|add_password)"#,
        r#"\( ?(?:"[^"\n]*"|'[^'\n]*'|[\w.]+), ?)("[^"\n]+"|'[^'\n]+')()"#
    ),
    // Logins of protocols.
    r"((?:-->|[>→]|\b[CS]:) ?PASS )(\S+)()",
    r"(\bAUTH(?:ENTICATE)? (?:PLAIN|LOGIN|XOAUTH2|CRAM-MD5|OAUTHBEARER) )([A-Za-z0-9+/=]{8,})()",
    r"(\b[A-Za-z]{0,4}\d+ LOGIN \S+ )(\S+)()",
    r"(\$ANSIBLE_VAULT;[\d.]+;AES256?(?:;\S+)?)((?:\s+(?:[^\s:]+:(?:\d+:)? +)*[0-9a-f]{32,})+)()",
    // A password with a space in an address.
    r#"(://[^\s/@:"']+:)([^\s/@"']*\D[^\s/@"']* [^\s/@"']+|[^\s/@"'] [^\s/@"']+)(@[\w.-]+[:/])"#,
];
/// `aws configure set KEY VALUE`, `conda config --set KEY VALUE`, `… add KEY VALUE`: the name of a
/// setting and its value, with a space between.
static SETTING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(\b(?:config(?:ure|uration)?|set|setenv|set-secret|add|put|write|store|secrets?",
        r"|variables?|export|env)",
        r#"(?: (?:--?[\w-]+|set|add|put|create|edit|global|local|default))*["#,
        r#" \t]+["']?([A-Za-z_][\w./:@-]*)["']?[ \t]+)"#,
        value!()
    ))
});
/// `- value: x` and then `name: DB_PASSWORD`, as Kubernetes has it in either order.
static VALUE_NAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"(?i)(\bvalue["']?: *)("[^"\n]*"|'[^'\n]*'|[^\s"',}]+)"#,
        r#"(,?\s*(?:[^\s:]+:\d+: +)?["']?(?:name|key)["']?: *["']?([\w.-]+))"#
    ))
});
static NAME_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"(?i)(\b(?:name|key)["']?: *["']?([\w.-]+)["']?,?\s*(?:[^\s:]+:\d+: +)?["']?value["']?: *)"#,
        r#"("[^"\n]*"|'[^'\n]*'|[^\s"',}]+)"#
    ))
});
/// `setenv DB_PASSWORD value` of csh, `set -x DB_PASSWORD value` of fish.
static SETENV: LazyLock<Regex> =
    LazyLock::new(|| pattern(concat!(r"(\b(?:setenv|set -g?x) ([A-Za-z_]\w*) )", value!())));
/// An assignment within quotes: `'API_TOKEN=two words'`.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?:'([A-Za-z_][\w.-]*)=([^'\n]*\s[^'\n]*)'|"([A-Za-z_][\w.-]*)=([^"\\\n]*\s[^"\\\n]*)")"#)
});
/// The end of a private key whose beginning the log has lost.
static PEM_END: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?:[^\n]*[A-Za-z0-9+/]{40,}={0,2}\r?\n)+(?:[^\n]*[A-Za-z0-9+/=]+\r?\n)?",
        r"[^\n]*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    ))
});
/// PuTTY's key.
static PUTTY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)(Private-Lines: \d+\r?\n)((?:[^\n]*[A-Za-z0-9+/]{20,}={0,2}\r?$\n?)+)"));
static PUTTY_MAC: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\bPrivate-MAC: )[0-9a-f]+"));
/// The signature of a request to an object store.
static SIGNATURE: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)(\bsignature=)[0-9a-f]{40,}"));

/// What no secret is: another option, a number of one digit, what is hidden already, a variable.
fn stays(value: &str) -> bool {
    let bare = value.trim_matches(['"', '\'']);
    value == HIDDEN || bare.starts_with("--") || bare.is_empty() || bare == "-" || bare.starts_with("$(")
}

/// The name of a setting without what says where it is: `//registry/:_authToken`, `pypi-token.pypi`.
fn last_part(name: &str) -> &str {
    let name = name.rsplit(['/', ':']).next().unwrap_or(name);
    name.strip_prefix("pypi-token").map_or(name, |_| "pypi-token")
}

/// Parts of keys that have no beginning or another one than PEM.
pub(super) fn keys(text: &str) -> String {
    let text = PEM_END.replace_all(text, HIDDEN);
    let text = PUTTY.replace_all(&text, format!("${{1}}{HIDDEN}\n"));
    let text = PUTTY_MAC.replace_all(&text, format!("${{1}}{HIDDEN}"));
    SIGNATURE.replace_all(&text, format!("${{1}}{HIDDEN}")).into_owned()
}

/// All others.
pub(super) fn passwords(text: &str) -> String {
    let mut text = text.to_owned();
    for regex in BY_OPTION.iter() {
        let hide = |found: &Captures<'_>| match stays(&found[2]) {
            true => found[0].to_owned(),
            false => format!("{}{HIDDEN}{}", &found[1], &found[3]),
        };
        if let std::borrow::Cow::Owned(shown) = regex.replace_all(&text, hide) {
            text = shown;
        }
    }
    // The key of a setting has a joint (`aws_secret_access_key`, `pypi-token.pypi`) or is short: `token`.
    let setting = |found: &Captures<'_>| match is_secret(last_part(&found[2])) && !stays(&found[3]) {
        true => format!("{}{HIDDEN}", &found[1]),
        false => found[0].to_owned(),
    };
    let text = SETTING.replace_all(&text, setting);
    let text = VALUE_NAME.replace_all(&text, |found: &Captures<'_>| match is_secret(&found[4]) {
        true => format!("{}{HIDDEN}{}", &found[1], &found[3]),
        false => found[0].to_owned(),
    });
    let by_name = |found: &Captures<'_>| match is_secret(&found[2]) {
        true => format!("{}{HIDDEN}", &found[1]),
        false => found[0].to_owned(),
    };
    let text = NAME_VALUE.replace_all(&text, by_name);
    let text = SETENV.replace_all(&text, by_name);
    let quoted = |found: &Captures<'_>| {
        let (quote, name) = match (found.get(1), found.get(3)) {
            (Some(name), _) => ('\'', name.as_str()),
            (None, name) => ('"', name.map_or("", |name| name.as_str())),
        };
        match is_secret(name) {
            true => format!("{quote}{name}={HIDDEN}{quote}"),
            false => found[0].to_owned(),
        }
    };
    QUOTED.replace_all(&text, quoted).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hides_passwords_recognized_by_context() {
        for (text, expected) in [
            ("the password is required", "the password is required"),
            ("la contraseña es obligatoria", "la contraseña es obligatoria"),
            ("ipmitool -I lanplus -U a -P geheim sel", "ipmitool -I lanplus -U a -P *** sel"),
            ("docker run -P image", "docker run -P image"),
            ("docker run --user 1000:1000 image", "docker run --user 1000:1000 image"),
            ("curl --user 'a:two words' http://h", "curl --user 'a:***' http://h"),
            ("echo geheim | sudo -S reboot", "echo *** | sudo -S reboot"),
            ("echo geheim | wc", "echo geheim | wc"),
            ("h:5432:d:u:geheim", "h:5432:d:u:***"),
            ("main.rs:12:5:error:unused", "main.rs:12:5:error:unused"),
            (r#"{"name": "DB_PASSWORD", "value": "geheim"}"#, r#"{"name": "DB_PASSWORD", "value": ***}"#),
            (r#"{"name": "MODE", "value": "train"}"#, r#"{"name": "MODE", "value": "train"}"#),
            ("- value: geheim\n  name: DB_PASSWORD", "- value: ***\n  name: DB_PASSWORD"),
            ("'API_TOKEN=two words' B=2", "'API_TOKEN=***' B=2"),
            ("'A=two words' B=2", "'A=two words' B=2"),
        ] {
            assert_eq!(passwords(text), expected);
        }
    }

    #[test]
    fn the_rest_of_a_key_is_hidden() {
        let line = "Ab0/".repeat(16);
        let text =
            format!("before\nweb-1 | {line}\nweb-1 | {line}\nweb-1 | x==\nweb-1 | -----END PRIVATE KEY-----");
        assert_eq!(keys(&text), "before\n***");
        assert_eq!(keys("-----END CERTIFICATE-----"), "-----END CERTIFICATE-----");
    }
}
