//! Names of variables, options and keys that hold credentials.

/// Parts of a name (between `_`, `-`, `.`, or where a capital begins a word) that say that the value is a
/// credential.
const WHOLE_PARTS: &[&str] = &[
    "AUTH", "BEARER", "COOKIE", "CREDS", "DSN", "HASLO", "HESLO", "MDP", "PAROL", "PASS", "PASSWD", "PAT",
    "JWT", "PASSKEY", "PASSWRD", "PSK", "PSW", "PSWD", "PW", "PWD", "SENHA", "SIFRE", "TOTP",
];
/// Ends of such parts: `SSHPASS`, `DBPWD`.
const PART_ENDS: &[&str] = &["PASS", "PWD"];
/// Words with these ends that name no credential.
const NO_CREDENTIALS: &[&str] = &[
    "BANDPASS",
    "BYPASS",
    "COMPASS",
    "ENCOMPASS",
    "HIGHPASS",
    "LOWPASS",
    "MULTIPASS",
    "OVERPASS",
    "PREPASS",
    "SINGLEPASS",
    "SUBPASS",
    "TRESPASS",
    "UNDERPASS",
    "OLDPWD",
    "DONKEY",
    "FOREIGNKEY",
    "HOCKEY",
    "HOTKEY",
    "JOCKEY",
    "MONKEY",
    "PRIMARYKEY",
    "PUBKEY",
    "PUBLICKEY",
    "SORTKEY",
    "SUBKEY",
    "TURKEY",
    "WHISKEY",
];
/// The shortest word that ends in KEY and names a credential: `pkey` and `rkey` are keys of InfiniBand.
const KEY_WORD_MIN: usize = 6;
/// The same, anywhere in the name.
const ANYWHERE: &[&str] = &[
    "ACCESS_SIGNATURE",
    "AMZ_SIGNATURE",
    "GOOG_SIGNATURE",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "SECRET",
    "CREDENTIAL",
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "AUTHTOK",
    // The same in other languages: settings and programs of one's own are named in them.
    "CONTRASENA",
    "CONTRASEÑA",
    "HASŁO",
    "JELSZO",
    "JELSZÓ",
    "KENNWORT",
    "LOSENORD",
    "LÖSENORD",
    "MOTDEPASSE",
    "MOT_DE_PASSE",
    "PAROLA",
    "PASSWORT",
    "SALASANA",
    "WACHTWOORD",
    "ŞIFRE",
    "ŞİFRE",
    "ПАРОЛЬ",
    "パスワード",
    "口令",
    "密码",
    "密碼",
    "비밀번호",
];

/// Ends of names whose value only refers to a credential, or says how one is used.
const REFERENCES: &[&str] = &["_STDIN", "_REF", "_FD", "_LENGTH", "_POLICY", "_PROMPT", "_TYPE"];

/// Whether a list of this name may hold credentials: `api_tokens`. Tokens of a text are called so, too.
pub(crate) fn are_secrets(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.strip_suffix('S').is_some_and(|one| one.ends_with("TOKEN") || one.ends_with("KEY") || is_secret(one))
}

/// Whether a variable, an option or a key of this name holds a credential.
pub(crate) fn is_secret(name: &str) -> bool {
    let mut words = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if c.is_ascii_uppercase() && before.is_ascii_lowercase() {
            words.push('_');
        }
        match c {
            '-' | '.' => words.push('_'),
            _ => words.extend(c.to_uppercase()),
        }
        before = c;
    }
    // PAT is an algorithm of NCCL (parallel aggregated trees), elsewhere a personal access token.
    let words = words.replace("TOKENS", "").replace("TOKENIZ", "").replace("NCCL_PAT_", "NCCL_");
    if REFERENCES.iter().any(|end| words.ends_with(end)) {
        return false;
    }
    let mut parts = words.split('_');
    let ends =
        |part: &str| PART_ENDS.iter().any(|end| part.ends_with(end)) && !NO_CREDENTIALS.contains(&part);
    let key = |part: &str| {
        part == "KEY"
            || (part.len() >= KEY_WORD_MIN && part.ends_with("KEY") && !NO_CREDENTIALS.contains(&part))
    };
    ANYWHERE.iter().any(|word| words.contains(word))
        || parts.clone().any(|part| WHOLE_PARTS.contains(&part) || ends(part))
        // The values of `num_key_value_heads` and `token_type_ids` are none.
        || parts
            .rfind(|part| !part.bytes().all(|byte| byte.is_ascii_digit()))
            .is_some_and(|last| key(last) || last.ends_with("TOKEN"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_credentials() {
        for name in [
            "DOCKER_PASS",
            "DOCKER_PWD",
            "DOCKER_PAT",
            "NVIDIA_KEY",
            "DOCKER_AUTH_CONFIG",
            "AWS_SECRET_ACCESS_KEY",
            "AccountKey",
            "clientSecret",
            "X-Api-Key",
            "SSHPASS",
            "LDAPPASS_FILE",
            "DBPWD",
            "SSHKEY",
            "X-Amz-Signature",
            "SharedAccessSignature",
            "db.passwort",
            "MotDePasse",
            "contraseña",
            "senha",
            "пароль",
            "数据库密码",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "NCCL_IB_PKEY",
            "PIP_CERT",
            "SSL_CERT_FILE",
            "UCX_TLS",
            "max_new_tokens",
            "tokenizer",
            "num_key_value_heads",
            "KeyError",
            "NCCL_BYPASS",
            "compass",
            "KEYBOARD",
            "monkey",
            "rkey",
            "OLDPWD",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
