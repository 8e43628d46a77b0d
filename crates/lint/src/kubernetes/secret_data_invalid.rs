//! Values of a Secret that the API server refuses, or that programs cannot use.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_yaml::Value;

use crate::read::compose::text;
use crate::read::manifest::{Document, Manifest};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::schema::is_placeholder;
use crate::tokens::{asks_for_value, begins_as_token};

pub(crate) const RULE: Rule = Rule {
    id: "secret-data-invalid",
    severity: Severity::Error,
    summary: "`data` of a Secret is base64 of the value alone, and `stringData` is not",
    explain: include_str!("secret_data_invalid.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: hub}\ntype: Opaque\ndata:\n  token: \
             hf_abcdefghijklmnop\n",
        ),
        // `echo 0123456789 | base64`.
        named(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: wandb}\ndata: {WANDB_API_KEY: \
             MDEyMzQ1Njc4OQo=}\n",
        ),
        // base64 of `hf_abcdefgh`.
        named(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: hub}\nstringData: {HF_TOKEN: aGZfYWJjZGVmZ2g=}\n",
        ),
    ],
    silent: &[
        named(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: hub}\ndata:\n  HF_TOKEN: aGZfYWJjZGVmZ2g=\n  \
             WANDB_API_KEY: MDEyMzQ1Njc4OQ==\n  empty: \"\"\n  other: <base64 of the token>\n  third: \
             ${TOKEN}\n",
        ),
        named(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {HF_TOKEN: hf_abcdefgh, \
             PASSWORD: \
             YWJjZGVmZ2g=}\ndata: {note: bGluZSBvbmUKbGluZSB0d28K}\n",
        ),
        named(
            "map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {token: hf_abcdefghijklmnop}\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.documents.iter().filter(|one| one.kind == "Secret" && one.api == "v1").flat_map(of_secret).collect()
}

fn of_secret(document: &Document) -> Vec<Found> {
    let mut found = Vec::new();
    for (field, encoded) in [("data", true), ("stringData", false)] {
        let map = document.at(&[field]).and_then(Value::as_mapping).into_iter().flatten();
        for (key, value) in map.filter_map(|(key, value)| Some((text(key)?, value.as_str()?))) {
            if value.is_empty() || is_placeholder(value) || is_filled_in(value) {
                continue;
            }
            let line = document.line_of(&[field, &key]);
            let fault = if encoded { of_data(&key, value) } else { of_text(&key, value) };
            found.extend(
                fault.map(|(message, fix, error)| Found::error(line, message, fix).unless_certain(error)),
            );
        }
    }
    found
}

/// Whether another program puts the value in: SOPS, vals, Vault.
fn is_filled_in(value: &str) -> bool {
    ["ENC[", "vault:", "ref+", "AGE-"].iter().any(|start| value.starts_with(start))
        || ["...", "://"].iter().any(|part| value.contains(part))
}

/// What is wrong with an encoded value: message, fix, and whether the API server refuses it.
fn of_data(key: &str, value: &str) -> Option<(String, String, bool)> {
    let Some(bytes) = decoded(value) else {
        // `MY_SECRET`
        if asks_for_value(value) || value.contains('_') && !begins_as_token(value) {
            return None;
        }
        let message = format!(
            "the value of {key} in `data` is not base64; the API server refuses the Secret (`illegal base64 \
             data`)"
        );
        return Some((message, format!("Move {key} to `stringData`, or encode the value"), true));
    };
    let plain = String::from_utf8(bytes).ok()?;
    if begins_as_token(&plain) && plain.trim_end() != plain && !plain.trim_end().contains('\n') {
        // The Hub's own client removes it.
        return None;
    }
    let line = plain.strip_suffix('\n').filter(|line| !line.is_empty() && !line.contains('\n'))?;
    let upper = key.to_ascii_uppercase();
    let is_secret = ["TOKEN", "KEY", "PASSWORD", "PASSWD", "SECRET"].iter().any(|word| upper.contains(word));
    let printable = line.chars().all(|letter| letter.is_ascii_graphic());
    let message = format!(
        "the value of {key} ends with a newline, which clients send as part of it or refuse as a header"
    );
    let fix = "Encode it without one: `printf %s VALUE | base64`".to_owned();
    (is_secret && printable).then_some((message, fix, false))
}

/// What is wrong with a plain value: it is encoded already.
fn of_text(key: &str, value: &str) -> Option<(String, String, bool)> {
    let inner = String::from_utf8(decoded(value)?).ok()?;
    let message =
        format!("the value of {key} in `stringData` is base64 already; the program gets the encoded text");
    begins_as_token(&inner).then(|| (message, format!("Move {key} to `data`"), false))
}

/// The bytes of standard base64 with padding, as Go decodes it: newlines do not count.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let letters: String = text.chars().filter(|letter| !matches!(letter, '\n' | '\r')).collect();
    STANDARD.decode(letters).ok()
}
