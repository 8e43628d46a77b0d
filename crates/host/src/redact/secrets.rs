//! Credentials, by the form that they have in any text.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::generated::{is_login, is_random, looks_generated};
use super::token_shapes::TOKEN_SHAPES;
use super::{HIDDEN, commands, headers, pattern, sentences, urls, values};
use crate::secret_names::{are_secrets, is_secret};

/// The name and the sign between it and the value: `name=`, `name: `, `"name": "`, `--name=`, `'name' => '`,
/// `name -> `, `name%3D`, and JSON within a text of JSON: `\"name\": \"`.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?:\x1b\[[0-9;]*m|\\u00[0-9A-Fa-f]{2})?([A-Za-z\u{80}-\u{10ffff}][A-Za-z0-9\u{80}-\u{10ffff}_.-]*)",
        r"((?:\x1b\[[0-9;]*m)*(?:",
        values::encoded_quote!(),
        r#"|\\*["'`])?\]?[ \t]*"#,
        r"(?::=|=>|->|→|={1,3}|!=|[:：]|%3[ADad])[ \t\u{a0}]*",
        // `password {`, `Secret("`: a block, and a function.
        r#"|\\*["']?[ \t]?(?:\x7b)|\()"#,
    ))
});
/// `--password value`, `login name password value`: a name and a value with a space between;
/// `['--password', 'value']`.
static SPACED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)(--?[a-z_\u{80}-\u{10ffff}][\w.-]*|/(?:p|pass|password|pwd)\b|\bpassword|\bpasswd|\bpassphrase",
        r"|(?-i:\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)",
        r#"|\bidentified (?:with \S+ )?(?:by|as))(["'],[ \t]*|[ \t]+)"#,
    ))
});
/// `<password enc="no">value</password>`
static ELEMENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"((?:<|&lt;)([A-Za-z_\u{80}-\u{10ffff}][\w.:-]*)(?:[ \t][^<>\n]*?)?(?:>|&gt;))",
        r"((?:(?:<|&lt;)!\[CDATA\[)?)([^\n]+?)((?:\]\](?:>|&gt;))?(?:<|&lt;)/)"
    ))
});
/// What a reader cannot see, and what splits a name for a program: `pass\u{200b}word`.
static INVISIBLE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[\u{ad}\u{200b}-\u{200f}\u{2060}-\u{2064}\u{feff}]|\\u(?:200[b-fB-F]|feff|FEFF|00ad|00AD|2060)")
});
/// A key of which its service shows the ends: `sk-ab12****wxyz`.
static PARTLY_SHOWN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b[A-Za-z0-9][\w-]+\*{4,}[\w-]*|\*{4,}[\w-]*\d[\w-]*"));
/// Base64, in which `/` and `+` are letters, too.
static BASE64: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z0-9+][A-Za-z0-9+/]{39,}={0,2}"));
static SCHEME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"(?i)(authorization\\*["']?\s?[:=]\s?\\*["']?)?"#,
        r"(\b(?:bearer|basic)|authorization: ?(?:token|apikey))",
        r"(\s+)([A-Za-z0-9+/=._~-]{6,})"
    ))
});
/// A letter precedes a token only where it ends a colour or is the `n` of `\n`.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    let shapes: Vec<&str> = TOKEN_SHAPES.iter().map(|shape| shape.pattern).collect();
    pattern(&format!(
        r"(?-u)(\x1b\[[0-9;]*m|\\[nrt]|\\u00[0-9A-Fa-f]{{2}}|%[0-9A-Fa-f]{{2}}|\b)(?:{})",
        shapes.join("|")
    ))
});
/// Hashes of passwords as crypt(3) writes them.
static CRYPT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"\$(?:1|2[abxy]|5|6|7|y|gy|apr1)\$[\w./$=+-]{8,}",
        r"|\$argon2(?:id|i|d)\$v=\d+\$[\w=,]+\$[\w+/$]{8,}"
    ))
});
/// Addresses that are their own credential.
static WEBHOOK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/",
        r"|\.webhook\.office\.com/webhookb2/)[\w@/-]+"
    ))
});
/// The token in the address of a private channel of conda.
static CHANNEL: LazyLock<Regex> = LazyLock::new(|| pattern(r"(://[^\s/]+(?:/conda)?/t/)[^/\s]+"));
static PEM: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?",
        r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)",
    ))
});
/// Keys of Weights & Biases. Where the word before says so, it is a commit.
static HEX_KEY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"(?i)((?:commit|revision|rev|git|sha-?1|head|now at|tree|parent|@)[\s:=/'"(]*)?(?:\b"#,
        r#"|%[0-9a-f]{2}|\\u00[0-9a-f]{2})[0-9a-f]{40}\b"#,
    ))
});
/// What may be `user:password` in base64: see [`is_login`].
static ENCODED: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z0-9+/]{12,}={0,2}"));
/// What may be random: see [`is_random`].
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z0-9+_=-]{24,}"));
/// Before the first `/`: the path of an address may hold an `@`.
static PLAIN_LOGIN: LazyLock<Regex> = LazyLock::new(|| pattern(r"://[^/@\s]+@"));
/// Up to the last `@` before white space: a password may hold `/` and `@`.
static LOGIN: LazyLock<Regex> = LazyLock::new(|| pattern(r#"://[^\s"'<>]*@"#));
/// `user:password@proxy:3128`
static BARE_LOGIN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(^|[\s="',])[^\s="':/@,]+:[^\s"'/@]+@([A-Za-z0-9\[])"#));
/// "login failed for key X7…": shorter than [`WORD`], because the sentence says what it is.
static KEY_WORD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?i)(\b(?:key|token|secret|credential)s?:? ["'`(]?)([a-z0-9+_=-]{16,})"#));

/// The forms that are credentials in whatever text they are.
pub(super) fn tokens(text: &str) -> String {
    issued(&PLAIN_LOGIN.replace_all(text, format!("://{HIDDEN}@")))
}

/// What somebody issued or generated: keys, tokens, hashes, addresses with a secret path.
pub(super) fn issued(text: &str) -> String {
    let text = commands::keys(&PEM.replace_all(text, HIDDEN));
    let text = TOKEN.replace_all(&text, format!("${{1}}{HIDDEN}"));
    let text = CRYPT.replace_all(&text, HIDDEN);
    let text = CHANNEL.replace_all(&text, format!("${{1}}{HIDDEN}"));
    WEBHOOK.replace_all(&text, format!("${{1}}{HIDDEN}")).into_owned()
}

/// All forms, for text in which names and values are.
pub(super) fn all(text: &str) -> String {
    let text = named(text);
    let text = HEX_KEY.replace_all(&text, |found: &Captures<'_>| match found.get(1) {
        Some(_) => found[0].to_owned(),
        None => HIDDEN.to_owned(),
    });
    let random =
        |found: &Captures<'_>| match is_random(&found[0]) && !super::identifiers::UUID.is_match(&found[0]) {
            true => HIDDEN.to_owned(),
            false => found[0].to_owned(),
        };
    // A random part of a path is found alone.
    let text = BASE64.replace_all(&text, |found: &Captures<'_>| {
        match found[0].split('/').any(|part| part.len() >= 24 && is_random(part)) {
            true => found[0].to_owned(),
            false => random(found),
        }
    });
    WORD.replace_all(&text, random).into_owned()
}

/// The forms that say themselves that they are credentials: no random words.
pub(super) fn named(text: &str) -> String {
    let text = INVISIBLE.replace_all(text, "");
    let text = tokens(&text);
    let text = sentences::phrases(&PARTLY_SHOWN.replace_all(&text, HIDDEN));
    let text = headers::credentials(&text);
    let text = SCHEME.replace_all(&text, |found: &Captures<'_>| {
        // "Bearer tokens are accepted" is a sentence.
        let prose = found.get(1).is_none() && found[4].bytes().all(|byte| byte.is_ascii_lowercase());
        let shown = if prose && found[4].len() < 16 { &found[4] } else { HIDDEN };
        format!("{}{}{}{shown}", found.get(1).map_or("", |header| header.as_str()), &found[2], &found[3])
    });
    let text = commands::passwords(&text);
    let text = LOGIN.replace_all(&text, format!("://{HIDDEN}@"));
    let text = bare_logins(&text);
    let text = urls::without_tokens(&text);
    let text = ENCODED.replace_all(&text, |found: &Captures<'_>| match is_login(&found[0]) {
        true => HIDDEN.to_owned(),
        false => found[0].to_owned(),
    });
    let text = KEY_WORD.replace_all(&text, |found: &Captures<'_>| match is_random(&found[2]) {
        true => format!("{}{HIDDEN}", &found[1]),
        false => found[0].to_owned(),
    });
    let text = spaced(&text);
    sentences::secrets(&assigned(&elements(&text), |_| false), &is_secret)
}

/// Elements of XML, from the outer ones to the inner ones.
fn elements(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    while let Some(found) = ELEMENT.captures_at(text, done) {
        let end = |index: usize| found.get(index).map_or(done, |part| part.end());
        match !is_secret(&found[2]) || is_harmless(&found[2], &found[4]) {
            true => {
                out.push_str(&text[done..end(1)]);
                done = end(1);
            }
            false => {
                out.push_str(&text[done..end(3)]);
                out.push_str(HIDDEN);
                done = end(4);
            }
        }
    }
    out + &text[done..]
}

/// A sentence, a list or another setting (`password enc='0'`) behind the word "password".
fn is_no_password(value: &str) -> bool {
    let setting = value.contains('=') && !value.ends_with('=') && value.starts_with(char::is_alphabetic);
    is_prose(value) || value.starts_with(['{', '(', '[']) || setting
}

/// Values behind options and words, without a sign between.
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    while let Some(found) = SPACED.captures_at(text, done) {
        let (name, between) = (&found[1], &found[2]);
        let range = found.get(0).map_or(0..text.len(), |whole| whole.range());
        out.push_str(&text[done..range.end]);
        done = range.end;
        let option = name.trim_start_matches('-');
        let word = option == name && !name.starts_with('/');
        // "HF_TOKEN is not set"
        let variable = word && name.contains('_');
        // `-p value` says nothing; `-pw value` and `-password value` do. "a-token" is no option.
        let single = name.starts_with('-') && !name.starts_with("--");
        let joined = text[..range.start].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
        let rest = &text[done..];
        if joined && !word
            || !(option.contains(' ') || word && !variable || name.starts_with('/') || is_secret(option))
            || variable && !looks_generated(rest)
            || single && option.len() < 2
            || !between.starts_with([' ', '\t']) && !rest.starts_with(['"', '\''])
            || rest.starts_with(['=', ':', '-', '<', '|', '>'])
        {
            continue;
        }
        let outer = between.chars().next().filter(|c| ['"', '\''].contains(c));
        let outer = outer.filter(|_| !rest.starts_with(['"', '\'']));
        let Some(value) = values::at_start(rest, outer, &|word| is_harmless(option, word)) else { continue };
        let taken = &rest[..value.length];
        if taken.contains(HIDDEN) || is_harmless(option, taken) || word && is_no_password(taken) {
            continue;
        }
        out.push_str(&value.shown);
        done += value.length;
    }
    out + &text[done..]
}

/// The values that only a name or a login around them gives away, for texts of our own: a variable of a shell
/// (`$TOKEN`) stays.
pub(super) fn values(text: &str) -> String {
    let text = bare_logins(&commands::passwords(text));
    assigned(&text, |value| value.trim_start_matches(['\\', '"', '\'']).starts_with('$'))
}

/// Slurm's `--signal=B:USR1@600`: flags, a signal, and seconds.
fn is_signal(before: &str, time: &str) -> bool {
    const SIGNALS: &[&str] = &["HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "TERM", "CONT", "KILL"];
    let word = before.rsplit(['=', ' ', '"', '\'', ',']).next().unwrap_or_default();
    let Some((flags, rest)) = word.split_once(':') else { return false };
    let signal = rest.split('@').next().unwrap_or_default();
    let bare = signal.strip_prefix("SIG").unwrap_or(signal);
    let end = time.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(time.len());
    let is_time = (1..=5).contains(&end) && !time[end..].starts_with([':', '.', '-', '_']);
    let number = bare.len() <= 2 && bare.bytes().all(|digit| digit.is_ascii_digit());
    matches!(flags, "B" | "R" | "BR" | "RB") && (SIGNALS.contains(&bare) || number) && is_time
}

/// Not the digest of an image: `ubuntu:22.04@sha256:…`.
fn bare_logins(text: &str) -> String {
    let by = |found: &Captures<'_>| {
        let host = found.get(2).map_or(text.len(), |host| host.start());
        let kept = text[host..].starts_with("sha256:") || is_signal(&found[0], &text[host..]);
        match kept {
            true => found[0].to_owned(),
            false => format!("{}{HIDDEN}@{}", &found[1], &found[2]),
        }
    };
    BARE_LOGIN.replace_all(text, by).into_owned()
}

/// Values that no credential is: switches, empty ones, and numbers where the name does not say that the value
/// is a password.
fn is_harmless(name: &str, value: &str) -> bool {
    let bare = value.trim_matches(['\\', '"', '\'']).to_ascii_lowercase();
    let word = [
        "", "none", "null", "nil", "true", "false", "yes", "no", "on", "off", "enabled", "disabled", "auto",
        "!secret", "!ref",
    ];
    let number = bare.len() < 9 && bare.parse::<f64>().is_ok();
    // `${NAME}` (without the end, which no value has), `$(command`, `<pad>` stand for a value.
    let reference = bare.strip_prefix("${").is_some_and(|name| {
        name.trim_end_matches('}').bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }) || bare.starts_with("$(")
        || bare.strip_prefix('<').is_some_and(|rest| rest.find('>') == Some(rest.len().wrapping_sub(1)));
    reference || word.contains(&bare.as_str()) || (number && !name.to_ascii_lowercase().contains("pass"))
}

/// `tiktoken==0.5.1` is a package.
fn is_version(name: &str, between: &str, value: &str) -> bool {
    between.contains("==")
        && value.starts_with(|c: char| c.is_ascii_digit())
        && value.contains('.')
        && value.chars().all(|c| c.is_ascii_alphanumeric() || ".*+".contains(c))
        && !name.to_ascii_lowercase().contains("pass")
}

/// Words that stand behind "password" in sentences.
fn is_prose(value: &str) -> bool {
    let ends = value.ends_with(['.', ',', ':']) && !value.contains(|c: char| c.is_ascii_digit());
    ends || [
        "for",
        "authentication",
        "is",
        "was",
        "and",
        "or",
        "not",
        "in",
        "of",
        "to",
        "has",
        "prompt",
        "required",
    ]
    .contains(&value.to_ascii_lowercase().as_str())
}

/// Hides the values of names that [`is_secret`], also where one assignment holds another: `--log-opt
/// splunk-token=x`. `stays`: values that are shown.
fn assigned(text: &str, stays: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    // A value that stays is looked through for names in its turn.
    while let Some(found) = NAMED.captures_at(text, done) {
        let (name, between) = (&found[1], &found[2]);
        let range = found.get(0).map_or(0..text.len(), |whole| whole.range());
        let block = between.ends_with(['{', '(']);
        let end = if block { range.end - 1 } else { range.end };
        out.push_str(&text[done..end]);
        done = end;
        let rest = &text[end..];
        // "unexpected key: lm_head.weight" is a sentence; `token::Kind` names a type.
        let sentence = name.eq_ignore_ascii_case("key") && between.trim() == ":";
        let list = are_secrets(name) && rest.starts_with(['[', '{']) && !block;
        let call = between == "(" && !is_text_argument(&rest[1..]);
        if !(is_secret(name) || list) || sentence || call || between == ":" && rest.starts_with(':') {
            out.push_str(&rest[..range.end - end]);
            done = range.end;
            continue;
        }
        let outer = text[..range.start].chars().last().filter(|c| ['"', '\'', '`'].contains(c));
        // `"name": `: the quote belongs to the name.
        let outer = outer.filter(|quote| !between.starts_with(*quote));
        let harmless =
            |word: &str| is_harmless(name, word) || list && !sentences::pieces(word, 2) || is_name(word);
        let value = values::at_start(rest, outer, &harmless);
        let Some(value) = value.filter(|value| value.length > 0) else { continue };
        let taken = &rest[..value.length];
        // `Authorization: Bearer ***` and a value that is hidden already stay as they are.
        let hidden = taken.contains(HIDDEN) && !taken.starts_with(['[', '{', '(']);
        // The text is on the next lines.
        let block = ["|", ">", "|-", ">-", "|+", ">+"].contains(&taken) || taken.starts_with("<<");
        if block || hidden || is_harmless(name, taken) || is_version(name, between, taken) || stays(taken) {
            continue;
        }
        out.push_str(&value.shown);
        done += value.length;
    }
    out + &text[done..]
}

/// Whether a function gets one text without spaces: `save_token("x")`, not `getpass("Password: ")`.
fn is_text_argument(arguments: &str) -> bool {
    static TEXT: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^ ?b?(?:"[^"\s]{4,}"|'[^'\s]{4,}') ?[,)]"#));
    TEXT.is_match(arguments)
}

/// `"HF_TOKEN"`: the name of a secret.
fn is_name(word: &str) -> bool {
    let bare = word.trim_matches(['\\', '"', '\'']);
    is_secret(bare) && bare.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_hidden_in_every_form() {
        for (text, expected) in [
            ("HF_TOKEN=hf_AAAABBBBCCCC password=hunter2", "HF_TOKEN=*** password=***"),
            (r#"{"auth":"YWxpY2U6UzNj"}"#, r#"{"auth":"***"}"#),
            ("luks.key=/dev/sda:x rd.iscsi.password=abc ro", "luks.key=*** rd.iscsi.password=*** ro"),
            ("staticPodURLHeader: Bearer abcdef123", "staticPodURLHeader: Bearer ***"),
            ("https://alice:p/w:S3cret@index/simple", "https://***@index/simple"),
            ("https://alice:S3c@ret2@index/simple", "https://***@index/simple"),
            ("HTTP_PROXY=user:pw@proxy:3128", "HTTP_PROXY=***@proxy:3128"),
            ("https://index/simple?token=X&a=b", "https://index/simple?token=***&a=b"),
            ("key ghp_0123456789abcdef in text", "key *** in text"),
            ("wandb: 0123456789012345678901234567890123456789", "wandb: ***"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n", "***"),
            ("--log-opt=splunk-token=abc --debug", "--log-opt=splunk-token=*** --debug"),
            ("NCCL_DEBUG=INFO NCCL_IB_PKEY=0", "NCCL_DEBUG=INFO NCCL_IB_PKEY=0"),
            ("docker login -u bob -p hunter2 registry", "docker login -u bob -p *** registry"),
            ("mysql -u root -phunter2 jobs", "mysql -u root -p*** jobs"),
            ("curl -u bob:hunter2 http://h/x", "curl -u bob:*** http://h/x"),
            ("sshpass -p hunter2 ssh node1", "sshpass -p *** ssh node1"),
            ("CREATE USER x IDENTIFIED BY 'hunter2'", "CREATE USER x IDENTIFIED BY '***'"),
            ("machine h login bob password hunter2", "machine h login bob password ***"),
            (&"a:".repeat(100_000), &"a:".repeat(100_000)),
            ("password for bob is not set", "password for bob is not set"),
            ("torch==2.9.0 at 10:20:30", "torch==2.9.0 at 10:20:30"),
            ("\x1b[32mghp_0123456789abcdef\x1b[0m", "\x1b[32m***\x1b[0m"),
            (r#"{"log":"key\nAKIA0123456789ABCDEF\n"}"#, r#"{"log":"key\n***\n"}"#),
            ("tiktoken==0.5.1", "tiktoken==0.5.1"),
            ("FROM ubuntu:22.04@sha256:00ff", "FROM ubuntu:22.04@sha256:00ff"),
            ("--signal=B:USR1@600 comes late", "--signal=B:USR1@600 comes late"),
            ("https://b/o?X-Amz-Signature=hunter2xyz", "https://b/o?X-Amz-Signature=***"),
            ("login failed for key Xq7Rt2Lm9Pz4Kw8Vb3Nd", "login failed for key ***"),
            (
                "key model_layers_0_self_attn_weight is missing",
                "key model_layers_0_self_attn_weight is missing",
            ),
            ("the database refused PASSWORD hunter2xyz.", "the database refused PASSWORD ***"),
            ("the password expired.", "the password expired."),
        ] {
            assert_eq!(all(text), expected);
        }
    }
}
