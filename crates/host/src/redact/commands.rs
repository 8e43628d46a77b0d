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

/// What precedes a value, and the value.
static BEFORE: LazyLock<[Regex; 13]> = LazyLock::new(|| {
    [
        // Programs that take a password behind a short option.
        concat!(r"(\b(?:ipmitool|unzip|zip)\b[^\n|;&]*?\s-P ?)", value!(), "()"),
        concat!(r"(\bldap(?:add|delete|modify|passwd|search|whoami)\b[^\n|;&]*?\s-w ?)", value!(), "()"),
        concat!(
            r#"(\b(?:curl|etcdctl|wget|http)\b[^\n|;&]*?\s(?:-u|-U|--user|--proxy-user)[ =]?['"]"#,
            r#"[^\s:'"]+:)([^'"\n]+)()"#
        ),
        concat!(
            r#"(\b(?:curl|etcdctl|wget)\b[^\n|;&]*?\s(?:-U|--user|--proxy-user)[ =][^\s:"']+:)"#,
            value!(),
            "()"
        ),
        concat!(r"(\b7z[ar]?\b[^\n|;&]*?\s-p)", value!(), "()"),
        concat!(r"(\bPassword for '[^'\n]*': ?)", value!(), "()"),
        // A password that another program reads from a pipe.
        concat!(
            r"(\becho (?:-n )?)",
            value!(),
            r"(\s*\|\s*(?:sudo\b[^\n|]*?\s-S\b|[^\n|]*--password-stdin|kinit\b|chpasswd\b|cryptsetup\b))"
        ),
        concat!(r"(?i)(\b(?:ro|rw)community6? )", value!(), "()"),
        // "wandb login failed" is a sentence.
        r#"(\bwandb login (?:--?[\w-]+ )*["']?)([^\s"'`|;&]*\d[^\s"'`|;&]*)()"#,
        concat!(r"(\bsave_token\( ?)", value!(), "()"),
        concat!(r"(?i)(\bnet use [^\n|;&]*?/user:\S+ )", value!(), "()"),
        concat!(r"(?i)(\bnet use \S+ (?:\\\\\S+ )?)", value!(), "( /user:)"),
        // `host:5432:database:user:password` of .pgpass
        r"((?:^|\s)[^\s:]+:(?:5432|6432|\*):[^\s:]+:[^\s:]+:)(\S+)()",
    ]
    .map(pattern)
});
/// Programs that take a password behind a short option: `docker login -p`, `mysql -pVALUE`, `curl -u
/// user:VALUE`.
static SHORT_OPTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"\b((?:apptainer|az|crane|docker|helm|nerdctl|oc|oras|podman|singularity|skopeo)\b"#,
        r#"[^\n|;&]*?\blogin\b[^\n|;&]*?\s-p[ =]?|sshpass\s+-p ?"#,
        r#"|(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;&]*?\s-p|redis-cli\b[^\n|;&]*?\s-a "#,
        r#"|curl\b[^\n|;&]*?\s(?:-u|--user) ?["']?[^\s:"']+:)("[^"\n]+"|'[^'\n]+'|[^\s"']+)"#,
    ))
});
/// "The password is swordfish7": a word with a digit, or one in quotes.
static SENTENCE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)(\b(?:pass(?:word|phrase|code) is|(?:passwort|kennwort) (?:ist|lautet)|mot de passe est",
        r#"|contraseña es|senha é|wachtwoord is|password è):? )("[^"\n]+"|'[^'\n]+'|[^\s"']*\d[^\s"']*)"#,
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

/// Parts of keys that have no beginning or another one than PEM.
pub(super) fn keys(text: &str) -> String {
    let text = PEM_END.replace_all(text, HIDDEN);
    let text = PUTTY.replace_all(&text, format!("${{1}}{HIDDEN}\n"));
    let text = PUTTY_MAC.replace_all(&text, format!("${{1}}{HIDDEN}"));
    SIGNATURE.replace_all(&text, format!("${{1}}{HIDDEN}")).into_owned()
}

/// All others.
pub(super) fn passwords(text: &str) -> String {
    let mut text = SENTENCE.replace_all(text, format!("${{1}}{HIDDEN}")).into_owned();
    text = SHORT_OPTION.replace_all(&text, format!("${{1}}{HIDDEN}")).into_owned();
    for regex in BEFORE.iter() {
        text = regex.replace_all(&text, format!("${{1}}{HIDDEN}${{3}}")).into_owned();
    }
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
            ("the password is swordfish7.", "the password is ***"),
            ("the password is required", "the password is required"),
            ("das Passwort lautet swordfish7", "das Passwort lautet ***"),
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
