//! Credentials, by the form that they have in any text.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::token_shapes::TOKEN_SHAPES;
use super::{HIDDEN, commands, pattern};
use crate::secret_names::is_secret;

/// The name and what stands between it and the value: `name=`, `name: `, `"name": "`, `--name=`, `'name' =>
/// '`, and JSON within a text of JSON: `\"name\": \"`.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?:\x1b\[[0-9;]*m)?([A-Za-z\u{80}-\u{10ffff}][A-Za-z0-9\u{80}-\u{10ffff}_.-]*)",
        r#"((?:\x1b\[[0-9;]*m)*\\*["']?\]?\s?(?::=|=>|[=:：])\s*)"#,
    ))
});
/// The value behind it.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"^(?:\\+"[^"\n]*"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"#,
        r#"|[^\s"'&,;{}\[\x00<>\\][^\s"'&,;}\x00<>]*)"#,
    ))
});
/// `--password value`, `login name password value`: a name and a value with a space between.
static SPACED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)(--[a-z\u{80}-\u{10ffff}][\w.-]*|\bpassword|\bpasswd|\bidentified by)([ \t]+)",
        r#"("[^"\n]*"|'[^'\n]*'|[^\s"'=:-][^\s"']*)"#,
    ))
});
/// `<password>value</password>`
static ELEMENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"<([A-Za-z\u{80}-\u{10ffff}][\w.-]*)>([^<>\n]+)(</)"));
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
    pattern(&format!(r"(?-u)(\x1b\[[0-9;]*m|\\[nrt]|\b)(?:{})", shapes.join("|")))
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
    pattern(
        r#"(?i)((?:commit|revision|rev|git|sha-?1|head|now at|tree|parent|@)[\s:=/'"(]*)?\b[0-9a-f]{40}\b"#,
    )
});
/// What may be random: see [`is_random`].
static WORD: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z0-9+_=-]{24,}"));
/// Before the first `/`: the path of an address may hold an `@`.
static PLAIN_LOGIN: LazyLock<Regex> = LazyLock::new(|| pattern(r"://[^/@\s]+@"));
/// Up to the last `@` before white space: a password may hold `/` and `@`.
static LOGIN: LazyLock<Regex> = LazyLock::new(|| pattern(r#"://[^\s"'<>]*@"#));
/// `user:password@proxy:3128`
static BARE_LOGIN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(^|[\s="',])[^\s="':/@,]+:[^\s"'/@]+@([A-Za-z0-9\[])"#));
static QUERY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?i)([?&](?:[a-z0-9_.-]*(?:sig|signature|credential|code))=)[^&\s"'#]+"#));
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
    WORD.replace_all(&text, random).into_owned()
}

/// The forms that say themselves that they are credentials: no random words.
pub(super) fn named(text: &str) -> String {
    let text = tokens(text);
    let text = SCHEME.replace_all(&text, |found: &Captures<'_>| {
        // "Bearer tokens are accepted" is a sentence.
        let prose = found.get(1).is_none() && found[4].bytes().all(|byte| byte.is_ascii_lowercase());
        let shown = if prose && found[4].len() < 16 { &found[4] } else { HIDDEN };
        format!("{}{}{}{shown}", found.get(1).map_or("", |header| header.as_str()), &found[2], &found[3])
    });
    let text = commands::passwords(&text);
    let text = LOGIN.replace_all(&text, format!("://{HIDDEN}@"));
    let text = bare_logins(&text);
    let text = KEY_WORD.replace_all(&text, |found: &Captures<'_>| match is_random(&found[2]) {
        true => format!("{}{HIDDEN}", &found[1]),
        false => found[0].to_owned(),
    });
    let text = QUERY.replace_all(&text, format!("$1{HIDDEN}"));
    let text = SPACED.replace_all(&text, |found: &Captures<'_>| {
        let (name, between, value) = (&found[1], &found[2], &found[3]);
        let option = name.trim_start_matches('-');
        let secret = is_secret(option) || option.contains(' ');
        let shown = is_harmless(option, value) || (name == option && is_prose(value));
        format!("{name}{between}{}", if shown || !secret { value } else { HIDDEN })
    });
    let text = ELEMENT.replace_all(&text, |found: &Captures<'_>| {
        let shown = is_harmless(&found[1], &found[2]) || !is_secret(&found[1]);
        format!("<{}>{}{}", &found[1], if shown { &found[2] } else { HIDDEN }, &found[3])
    });
    assigned(&text, |_| false)
}

/// The values that only a name or a login around them gives away, for texts of our own: a variable of a shell
/// (`$TOKEN`) stays.
pub(super) fn values(text: &str) -> String {
    let text = bare_logins(&commands::passwords(text));
    assigned(&text, |value| value.trim_start_matches(['\\', '"', '\'']).starts_with('$'))
}

/// Not the digest of an image: `ubuntu:22.04@sha256:…`.
fn bare_logins(text: &str) -> String {
    let by = |found: &Captures<'_>| {
        let host = found.get(2).map_or(text.len(), |host| host.start());
        match text[host..].starts_with("sha256:") {
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
    // `tiktoken==0.5.1` is a package.
    let version = bare.strip_prefix('=').is_some_and(|version| {
        version.starts_with(|c: char| c.is_ascii_digit())
            && version.contains('.')
            && version.chars().all(|c| c.is_ascii_alphanumeric() || ".*+".contains(c))
    }) && !name.to_ascii_lowercase().contains("pass");
    reference
        || version
        || word.contains(&bare.as_str())
        || (number && !name.to_ascii_lowercase().contains("pass"))
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

/// Whether a word is made of letters of both cases and digits in no order, as keys are, and names of
/// functions, files and hashes in hexadecimal are not: its characters change their kind at least every 2.5
/// characters.
fn is_random(word: &str) -> bool {
    let word = word.trim_end_matches('=');
    let kind = |c: char| match c {
        'a'..='z' => 0,
        'A'..='Z' => 1,
        '0'..='9' => 2,
        _ => 3,
    };
    let mut count = [0_usize; 4];
    word.chars().for_each(|c| count[kind(c)] += 1);
    let kinds: Vec<usize> = word.chars().map(kind).collect();
    let changes = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let parts = count[3] * 8 > word.len();
    !word.starts_with("_Z")
        && !parts
        && count[..3].iter().all(|count| *count >= 2)
        && changes * 5 >= kinds.len() * 2
        && entropy(word) >= 3.9
}

/// Shannon's entropy in bits a character.
fn entropy(word: &str) -> f64 {
    let mut counts = std::collections::HashMap::new();
    word.chars().for_each(|c| *counts.entry(c).or_insert(0_u32) += 1);
    let length = word.chars().count() as f64;
    counts.values().map(|count| f64::from(*count) / length).map(|part| -part * part.log2()).sum()
}

/// Hides the values of names that [`is_secret`], also where one assignment holds another: `--log-opt
/// splunk-token=x`. `stays`: values that are shown.
fn assigned(text: &str, stays: impl Fn(&str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    // A value that stays is looked through for names in its turn.
    while let Some(found) = NAMED.captures_at(text, done) {
        let (name, between) = (&found[1], &found[2]);
        let end = found.get(0).map_or(text.len(), |whole| whole.end());
        out.push_str(&text[done..end]);
        done = end;
        // "unexpected key: lm_head.weight" is a sentence.
        let sentence = name.eq_ignore_ascii_case("key") && between.trim() == ":";
        if !is_secret(name) || sentence {
            continue;
        }
        let value = VALUE.find(&text[end..]).map_or("", |value| value.as_str());
        // `Authorization: Bearer ***` and a value that is hidden already stay as they are.
        if value.is_empty() || value.contains(HIDDEN) || is_harmless(name, value) || stays(value) {
            continue;
        }
        let quote: String = value.chars().take_while(|c| ['\\', '"', '\''].contains(c)).collect();
        out.push_str(&format!("{quote}{HIDDEN}{quote}"));
        done += value.len();
    }
    out + &text[done..]
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
            ("CREATE USER x IDENTIFIED BY 'hunter2'", "CREATE USER x IDENTIFIED BY ***"),
            ("machine h login bob password hunter2", "machine h login bob password ***"),
            (&"a:".repeat(100_000), &"a:".repeat(100_000)),
            ("password for bob is not set", "password for bob is not set"),
            ("torch==2.9.0 at 10:20:30", "torch==2.9.0 at 10:20:30"),
            ("\x1b[32mghp_0123456789abcdef\x1b[0m", "\x1b[32m***\x1b[0m"),
            (r#"{"log":"key\nAKIA0123456789ABCDEF\n"}"#, r#"{"log":"key\n***\n"}"#),
            ("tiktoken==0.5.1", "tiktoken==0.5.1"),
            ("FROM ubuntu:22.04@sha256:00ff", "FROM ubuntu:22.04@sha256:00ff"),
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
