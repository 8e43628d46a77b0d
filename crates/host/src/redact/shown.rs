//! Credentials in what envdoc itself prints: its reports are pasted into tickets and kept by CI.

use std::sync::LazyLock;

use regex::Regex;

use super::{HIDDEN, pattern, secrets, urls};
use crate::secret_names::is_secret;

/// The password of an address, up to the last `@` of its host part; its user stays.
static PASSWORD: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(://[^\s/@:"'`]*):[^\s/"'`$<{]+@"#));
/// Values of an address's query that open it.
static QUERY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?i)([?&][a-z0-9_.-]*(?:token|key|secret|password|sig|signature)=)[^&\s"'`#$<{]+"#)
});
/// The fewest characters of a token.
const SHORTEST_TOKEN: usize = 11;

/// The same text without passwords in addresses, without tokens, and without values under names such as
/// `password`. Names and paths stay: this is no redaction.
pub fn hide_credentials(text: String) -> String {
    let text = match suspicious(&text) {
        true => {
            let text = PASSWORD.replace_all(&text, format!("$1:{HIDDEN}@"));
            let text = QUERY.replace_all(&text, format!("${{1}}{HIDDEN}"));
            secrets::issued(&urls::without_tokens(&text))
        }
        false => text,
    };
    if names_a_secret(&text) { secrets::values(&text) } else { text }
}

/// Whether a name of a credential has a value behind it, or a login a host: most texts have neither.
fn names_a_secret(text: &str) -> bool {
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let names = || text.split(|c| !part_of_name(c)).any(is_secret);
    text.contains(['=', ':']) && (text.contains('@') || names())
}

/// Compiling the expressions takes milliseconds, and most texts have neither an address nor a long word of
/// mixed characters.
fn suspicious(text: &str) -> bool {
    let mixed = |word: &str| {
        let any = |of: fn(&u8) -> bool| word.bytes().any(|byte| of(&byte));
        any(u8::is_ascii_digit) || any(u8::is_ascii_uppercase) && any(u8::is_ascii_lowercase)
    };
    let long = |word: &str| word.len() >= SHORTEST_TOKEN && mixed(word);
    let part_of_word = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    text.contains("://") || text.contains("PRIVATE KEY") || text.split(|c| !part_of_word(c)).any(long)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> String {
        hide_credentials(text.to_owned())
    }

    #[test]
    fn passwords_and_tokens_go_and_names_stay() {
        assert_eq!(
            hidden("uses tcp://u:PWsecret1@10.0.0.1:2375 (DOCKER_HOST)"),
            "uses tcp://u:***@10.0.0.1:2375 (DOCKER_HOST)"
        );
        assert_eq!(hidden("redis://:p@ss@h:6379, http://a:b@h2"), "redis://:***@h:6379, http://a:***@h2");
        assert_eq!(hidden("https://h/simple?token=hunter2&x=1"), "https://h/simple?token=***&x=1");
        let token = "NCCL_DEBUG=hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh";
        assert_eq!(
            hidden(&format!("{token} is not an accepted value")),
            "NCCL_DEBUG=*** is not an accepted value"
        );
    }

    #[test]
    fn values_go_that_only_a_name_gives_away() {
        for (text, expected) in [
            (
                "NCCL_DEBUG=password=hunter2xyz is not an accepted value",
                "NCCL_DEBUG=password=*** is not an accepted value",
            ),
            (r#""u:hunter2xyz@h slots=x" is not `host"#, r#""***@h slots=x" is not `host"#),
            ("CUDA_HOME=a=b,password=hunter2xyz does not exist", "CUDA_HOME=a=b,password=*** does not exist"),
        ] {
            assert_eq!(hidden(text), expected);
        }
    }

    #[test]
    fn keeps_text_that_is_not_a_credential() {
        for text in [
            "ssh://root@node2 does not answer",
            "git clone https://$USER:$TOKEN@github.com/x/y",
            "https://user:<password>@host",
            "base image ubuntu:22.04@sha256:00ff is not known",
            "ENV HF_TOKEN=$HF_TOKEN keeps the token",
            "NCCL_IB_PKEY=x is not a number",
            "GPU-5f3c0c1e-2a77-4f0c-9d0e-111111111111 at 00000000:17:00.0",
            "driver 550.54.14 is older than 570.26; commit 0123456789abcdef0123456789abcdef01234567",
        ] {
            assert_eq!(hidden(text), text);
        }
    }
}
