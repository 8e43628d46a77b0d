//! Secrets that a sentence, a prompt or a row of a table gives away.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{HIDDEN, pattern};

/// Nouns that mean a password or a code, in the languages that programs speak.
macro_rules! passwords {
    () => {
        concat!(
            r"(?:verification|security|one[- ]time|login|access|recovery|2fa|mfa|otp|pin) (?:code|password)",
            r"|pass(?:word|phrase|code|wd|key)|passwort|kennwort|mot de passe|contraseña",
            r"|senha|wachtwoord|parola",
            r"|otp|totp|pin"
        )
    };
}
/// Nouns that mean a key or a token.
macro_rules! keys {
    () => {
        concat!(
            r"(?:secret |api[ _-]?|access |private |unseal |recovery |licen[sc]e |product ",
            r"|activation |signing |encryption ",
            r"|master |shared |account |session |auth(?:entication|orization)? |deploy ",
            r"|refresh |bearer |root |storage ",
            r"|join |registration |pre-?shared )+(?:key|token)|secret|token|credentials?"
        )
    };
}
/// Words between the noun and the value, and the sign.
macro_rules! fillers {
    () => {
        concat!(
            r"s?['’]?s?(?: \d{1,2}\b)?(?: (?:is|was|were|are|has been|ist|lautet|est|es|é|è",
            r"|set to|given|provided|received|used",
            r"|supplied|sent|value|for(?: (?:user|the|login|account))? [\w.@'-]+|of \w+|as",
            r"|now|changed to|reset to|equals))*",
            r" ?(?:[:=?]|->|→|=>)? *"
        )
    };
}
/// A word in quotes, or one without.
macro_rules! word {
    () => {
        r#"(b?"[^"\n]+"|b?'[^'\n]+'|`[^`\n]+`|\([^\s()]+\)|[^\s"'`(){}\[\],;<>|]+)"#
    };
}

static PASSWORD: LazyLock<Regex> =
    LazyLock::new(|| pattern(concat!(r"(?i)(\b(?:", passwords!(), r")\b", fillers!(), ")", word!())));
static KEY: LazyLock<Regex> =
    LazyLock::new(|| pattern(concat!(r"(?i)((?:\b(\w+) )?\b(?:", keys!(), r")\b", fillers!(), ")", word!())));
/// "unexpected token 'a1b2'" is what parsers say; "special token" is what tokenizers have.
const OTHER_TOKENS: &[&str] = &[
    "unexpected",
    "expected",
    "special",
    "stop",
    "eos",
    "bos",
    "pad",
    "unk",
    "next",
    "last",
    "first",
    "per",
    "added",
];
/// Words from which a password of several words or a wallet can be restored.
static PHRASE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"(?i)(\b(?:mnemonic|(?:seed|recovery|backup) (?:phrase|words)|passphrase)\b["']?"#,
        r#"(?: is| was)? ?[:=]? ?["']?)((?:[a-z]+ ){3,23}[a-z]+)"#
    ))
});
/// `| db_password | value |`, a row of a table.
static ROW: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"([|│] *([A-Za-z_][\w.-]*) *[|│] *)([^\s|│]+(?: [^\s|│]+)?)( *[|│])"));
/// `password,value,5`: a row of comma-separated values.
static CSV: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"((?:^|[\s,;])["']?([A-Za-z_][\w.-]*)["']?[,;]["']?)([^\s,;"']+)"#));
/// `(password . "value")` of Lisp.
static PAIR: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(\([:']?([^\s()"']+) \. )("[^"\n]*"|[^\s)]+)"#));
/// `{password, "value"}` of Erlang, `"AUTH" "value"`: a name and a text next to it.
static NEIGHBOR: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(\b([A-Za-z_][\w.-]*)(?:["'],?|,) )("[^"\s]+"|'[^'\s]+')"#));
/// `password = <<EOT` of shells and HCL.
static HEREDOC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?m)(\b([A-Za-z_][\w.-]*) ?[:=]? ?<<[-~]?["']?[A-Za-z]+["']?[ \t]*\r?\n)([^\n]+)()"#)
});
/// A line of settings without a sign: `requirepass value`.
static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?m)(^[ \t]*(?:[^\s:]+:\d+: )?([A-Za-z_][\w.-]*)[ \t]+)([^\s;]+)(;?[ \t\r]*)$")
});
/// A list below its name: `api_keys:` and `- value` on the next lines.
static ITEMS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"(["']?\b([A-Za-z_][\w.-]*)["']?:[ \t]*\r?\n)((?:(?:[^\s:]+:\d+: )?[ \t]*- +[^\s:]+["#,
        r#" \t]*(?:\r?\n|$))+)"#,
    ))
});
static ITEM: LazyLock<Regex> = LazyLock::new(|| pattern(r"(- +)[^\s:]+"));
/// A keyboard-driven login: `send "value\r"`.
static SENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(\bsend(?: -s)?(?: --)? ["{])([^"\n}]+?)(\\[rn]["}])"#));
/// `[[ value == $PASSWORD ]]`
static COMPARED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"("[^"\n]+"|'[^'\n]+'|[^\s"'\[]+)( (?:==|!=|=~) "?\$\{?([A-Za-z_]\w*))"#));
/// A password below the line that names it: `password:` or `password: |`, and an indented word alone on the
/// next line, also behind the prefix of a log.
static NEXT_LINE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"(?m)(\b([A-Za-z_][\w.-]*)["']?(?: ?[:=] ?[|>]?[+-]?| \\)[ \t]*\r?\n(?:[^\s:]+:\d+:"#,
        r#" )?(?:[^\s]+[: ])?"#,
        r#"(?:\s{2,}|\t| *- +))([^\s:=]+)([ \t]*\r?)$"#
    ))
});
/// `--password \` and the value on the next line.
static CONTINUED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?m)(--?([A-Za-z][\w-]*) \\[ \t]*\r?\n(?:[^\s:]+:\d+: )?(?:[A-Z]+: ?|\[\w+\]:? ?|[-+>] )?[ \t]*)",
        r"([^\s-][^\s]*)"
    ))
});

/// Phrases of several words, which other rules would take for one word and the rest of a sentence.
pub(super) fn phrases(text: &str) -> String {
    PHRASE.replace_all(text, format!("${{1}}{HIDDEN}")).into_owned()
}

pub(super) fn secrets(text: &str, is_secret: &dyn Fn(&str) -> bool) -> String {
    let text = PASSWORD.replace_all(text, |found: &Captures<'_>| match is_password(&found[1], &found[2]) {
        true => format!("{}{}", &found[1], quoted(&found[2])),
        false => found[0].to_owned(),
    });
    let text = KEY.replace_all(&text, |found: &Captures<'_>| {
        let other =
            found.get(2).is_some_and(|word| OTHER_TOKENS.contains(&word.as_str().to_lowercase().as_str()));
        match !other && is_key(&found[1], &found[3]) {
            true => format!("{}{}", &found[1], quoted(&found[3])),
            false => found[0].to_owned(),
        }
    });
    let named = |text: &str, regex: &Regex, wanted: &dyn Fn(&str) -> bool| {
        regex
            .replace_all(text, |found: &Captures<'_>| match is_secret(&found[2]) && wanted(&found[3]) {
                true => {
                    format!(
                        "{}{}{}",
                        &found[1],
                        quoted(&found[3]),
                        found.get(4).map_or("", |end| end.as_str())
                    )
                }
                false => found[0].to_owned(),
            })
            .into_owned()
    };
    let any = |value: &str| !value.contains(HIDDEN);
    let mixed =
        |value: &str| any(value) && has(value, |c| c.is_ascii_digit()) && has(value, |c| c.is_alphabetic());
    let cell = |value: &str| {
        any(value)
            && !value.starts_with('<')
            && value.parse::<f64>().is_err()
            && has(value, |c| !c.is_alphabetic() && c != ' ')
    };
    let text = named(&text, &ROW, &cell);
    let text = named(&text, &CSV, &|value| mixed(value) && value.len() > 5);
    let text = named(&text, &PAIR, &any);
    let text = named(&text, &NEIGHBOR, &mixed);
    let text = named(&text, &DIRECTIVE, &mixed);
    let text = ITEMS.replace_all(&text, |found: &Captures<'_>| {
        match is_secret(&found[2]) || crate::secret_names::are_secrets(&found[2]) {
            true => format!("{}{}", &found[1], ITEM.replace_all(&found[3], format!("${{1}}{HIDDEN}"))),
            false => found[0].to_owned(),
        }
    });
    let text = named(&text, &HEREDOC, &any);
    let text = named(&text, &NEXT_LINE, &any);
    let text = named(&text, &CONTINUED, &any);
    let text = SENT.replace_all(&text, format!("${{1}}{HIDDEN}${{3}}"));
    COMPARED
        .replace_all(&text, |found: &Captures<'_>| match is_secret(&found[3]) && !found[1].contains('$') {
            true => format!("{}{}", quoted(&found[1]), &found[2]),
            false => found[0].to_owned(),
        })
        .into_owned()
}

fn quoted(word: &str) -> String {
    let start: String = word.chars().take_while(|c| "b\"'`(".contains(*c)).collect();
    match start.trim_start_matches('b') {
        "" => HIDDEN.to_owned() + &word[word.trim_end_matches(['.', ':', '!', '?']).len()..],
        "(" => format!("({HIDDEN})"),
        quote => format!("{start}{HIDDEN}{quote}"),
    }
}

fn has(text: &str, what: impl Fn(char) -> bool) -> bool {
    text.chars().any(what)
}

/// Whether the word behind "password" is one. `before` is what precedes it: "password: 12345" has a sign.
fn is_password(before: &str, word: &str) -> bool {
    let bare = word.trim_start_matches('b').trim_matches(['"', '\'', '`', '(', ')', '.', ':', '!', '?']);
    if bare.is_empty() || word.contains(HIDDEN) || bare.starts_with(['$', '<', '/', '-']) {
        return false;
    }
    let code = bare.bytes().all(|byte| byte.is_ascii_digit());
    let lower = before.to_lowercase();
    if code {
        let named = ["pin", "otp", "code", "passcode"].iter().any(|noun| lower.contains(noun));
        return named && (4..=10).contains(&bare.len());
    }
    let spaced = bare.contains(' ');
    let states = lower.trim_end().ends_with([':', '=', '>', '→'])
        || [" is", " was", " ist", " lautet", " est", " es", " to"]
            .iter()
            .any(|end| lower.trim_end().ends_with(end));
    // "password for 8 users": a number is none; "pin memory", "PIN 4": words of hardware.
    let digit = has(bare, |c| c.is_ascii_digit()) && has(bare, |c| c.is_alphabetic());
    let sign = has(bare, |c| "!#$%&*^~+?".contains(c));
    let pin = lower.starts_with("pin") || lower.starts_with("otp");
    match word.starts_with(['"', '\'', '`']) || word.starts_with("b'") || word.starts_with("b\"") {
        true => states && !spaced && bare.len() > 3 || digit && !spaced && bare.len() > 4,
        false => !pin && bare.len() > 4 && (digit || sign && states),
    }
}

/// Whether the word behind "token" or "API key" is one: made of letters and digits in no order.
fn is_key(before: &str, word: &str) -> bool {
    let bare = word.trim_start_matches('b').trim_matches(['"', '\'', '`', '(', ')', '.', ':', '!', '?']);
    if bare.len() < 7
        || word.contains(HIDDEN)
        || bare.contains(' ')
        || bare.starts_with(['$', '<', '/', '-', '.'])
    {
        return false;
    }
    let last = before.trim_end().chars().last();
    let states = matches!(last, Some(':' | '=' | '>' | '→'))
        || before.trim_end().ends_with(" is")
        || before.trim_end().ends_with(" was");
    // `ABCD1-EFGH2-IJKL3`: keys of products.
    let groups: Vec<&str> = bare.split('-').collect();
    let product = groups.len() > 2
        && groups.iter().all(|part| {
            part.len() > 3 && part.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        });
    let lower = before.to_lowercase();
    let several = lower.trim_start().contains("key") && lower.contains(' ');
    product && lower.contains("key") || pieces(bare, if states && several { 2 } else { 3 })
}

/// Whether a part of a word changes between letters, capitals and digits at least so often: `k7x9` three
/// times, `layer12` and `llama` once or never.
pub(super) fn pieces(word: &str, changes: usize) -> bool {
    let kind = |c: char| match c {
        'a'..='z' => 0,
        'A'..='Z' => 1,
        '0'..='9' => 2,
        _ => 3,
    };
    let parts = word.split(|c: char| !c.is_ascii_alphanumeric());
    let long = |part: &&str| part.len() > 5;
    parts.filter(long).any(|part| {
        let kinds: Vec<u8> = part.chars().map(kind).collect();
        kinds.contains(&2)
            && kinds.iter().any(|kind| *kind < 2)
            && kinds.windows(2).filter(|pair| pair[0] != pair[1]).count() >= changes
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret_names;

    #[test]
    fn hides_what_a_sentence_calls_a_secret() {
        for (text, expected) in [
            ("the password is swordfish7.", "the password is ***."),
            ("das Passwort lautet swordfish7", "das Passwort lautet ***"),
            ("password was: geheim7", "password was: ***"),
            ("password -> geheim7", "password -> ***"),
            ("the password for alice is 'geheim'", "the password for alice is '***'"),
            ("invalid token plain7k2x9", "invalid token ***"),
            ("the secret access key is wJalr7UtnFE/K7M", "the secret access key is ***"),
            ("Unseal Key 1: sP4C/fwIDjJm7HEC2b", "Unseal Key 1: ***"),
            ("license key: ABCD1-EFGH2-IJKL3", "license key: ***"),
            ("OTP code 481516", "OTP code ***"),
            ("| db_password | geheim7 |", "| db_password | *** |"),
            ("password,geheim7,5", "password,***,5"),
            ("(password . \"geheim\")", "(password . \"***\")"),
            ("send \"geheim\\r\"", "send \"***\\r\""),
            ("[[ geheim == $PASSWORD ]]", "[[ *** == $PASSWORD ]]"),
            ("password:\n  geheim\n", "password:\n  ***\n"),
            ("login --password \\\n  geheim x", "login --password \\\n  *** x"),
            ("the password is required", "the password is required"),
            ("password authentication disabled", "password authentication disabled"),
            ("Unexpected token 'a1b2c3d4e5'", "Unexpected token 'a1b2c3d4e5'"),
            ("token indices sequence length 1025", "token indices sequence length 1025"),
            ("secret not found", "secret not found"),
            ("tokens per second: 15432.7", "tokens per second: 15432.7"),
            ("pin memory thread 12345 exited", "pin memory thread 12345 exited"),
        ] {
            assert_eq!(secrets(text, &secret_names::is_secret), expected);
        }
    }
}
