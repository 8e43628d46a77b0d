//! Credentials, by the form that they have in any text.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{HIDDEN, pattern};
use crate::sensitivity::is_secret;

/// `name=value`, `name: value`, `"name": "value"`, `--name=value`.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"([A-Za-z][A-Za-z0-9_.-]*)(["']?\s?[=:]\s?)("[^"\n]*"|'[^'\n]*'|[^\s"'&,;{}\[\x00<>][^\s"'&,;}\x00<>]*)"#,
    )
});
static SCHEME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(bearer|basic)(\s+)[A-Za-z0-9+/=._~-]{6,}"));
/// Prefixes that services give their tokens: Hugging Face, GitHub, GitLab, AWS, NGC, Docker, Slack, OpenAI;
/// and JSON Web Tokens.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"\b(?:hf_[A-Za-z0-9]{8,}|gh[pousr]_[A-Za-z0-9]{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}",
        r"|A(?:KIA|SIA)[A-Z0-9]{8,}|nvapi-[\w-]{8,}|dckr_(?:pat|oat)_[\w-]{4,}|xox[abprs]-[\w-]{8,}",
        r"|sk-[A-Za-z0-9_-]{12,}|eyJ[\w-]{8,}(?:\.[\w-]+)*)"
    ))
});
static PEM: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)")
});
/// Keys of Weights & Biases.
static HEX_KEY: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b[0-9a-f]{40}\b"));
/// Before the first `/`: the path of an address may hold an `@`.
static PLAIN_LOGIN: LazyLock<Regex> = LazyLock::new(|| pattern(r"://[^/@\s]+@"));
/// Up to the last `@` before white space: a password may hold `/` and `@`.
static LOGIN: LazyLock<Regex> = LazyLock::new(|| pattern(r#"://[^\s"'<>]*@"#));
/// `user:password@proxy:3128`
static BARE_LOGIN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(^|[\s="',])[^\s="':/@,]+:[^\s"'/@]+@([A-Za-z0-9\[])"#));
static QUERY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"([?&](?:[A-Za-z0-9_.-]*(?:sig|signature|credential|code))=)[^&\s"'#]+"#));

/// The forms that are credentials in whatever text they are.
pub(super) fn tokens(text: &str) -> String {
    let text = PEM.replace_all(text, HIDDEN);
    let text = PLAIN_LOGIN.replace_all(&text, format!("://{HIDDEN}@"));
    TOKEN.replace_all(&text, HIDDEN).into_owned()
}

/// All forms, for text in which names and values are.
pub(super) fn all(text: &str) -> String {
    let text = tokens(text);
    let text = SCHEME.replace_all(&text, format!("$1$2{HIDDEN}"));
    let text = LOGIN.replace_all(&text, format!("://{HIDDEN}@"));
    let text = BARE_LOGIN.replace_all(&text, format!("$1{HIDDEN}@$2"));
    let text = QUERY.replace_all(&text, format!("$1{HIDDEN}"));
    let text = HEX_KEY.replace_all(&text, HIDDEN);
    assigned(&text)
}

/// Hides the values of names that [`is_secret`], also where one assignment holds another: `--log-opt
/// splunk-token=x`.
fn assigned(text: &str) -> String {
    ASSIGNED
        .replace_all(text, |found: &Captures<'_>| {
            let (name, between, value) = (&found[1], &found[2], &found[3]);
            // `Authorization: Bearer ***` and a value that is hidden already stay as they are.
            if !is_secret(name) || value.contains(HIDDEN) {
                return format!(
                    "{name}{between}{}",
                    if value.contains('=') { assigned(value) } else { value.into() }
                );
            }
            let quote = value.chars().next().filter(|c| ['"', '\''].contains(c)).map(String::from);
            let quote = quote.unwrap_or_default();
            format!("{name}{between}{quote}{HIDDEN}{quote}")
        })
        .into_owned()
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
            ("torch==2.9.0 at 10:20:30", "torch==2.9.0 at 10:20:30"),
        ] {
            assert_eq!(all(text), expected);
        }
    }
}
