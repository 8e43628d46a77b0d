//! Digests of what registries store, by the rules of the OCI image specification
//! (opencontainers/image-spec:descriptor.md): the content decides, never a header.

use sha2::{Digest as _, Sha256, Sha512};

use crate::error::Error;

/// `sha256:…` of some bytes.
pub fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// Whether a text has the form of a digest that can be verified: `sha256:` and 64 hexadecimal digits, or
/// `sha512:` and 128.
pub fn is_digest(text: &str) -> bool {
    let digits = match text.split_once(':') {
        Some(("sha256", digits)) if digits.len() == 64 => digits,
        Some(("sha512", digits)) if digits.len() == 128 => digits,
        _ => return false,
    };
    digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether `bytes` are what `expected` names. `what` is for the error: `the manifest of nginx:1`.
pub fn verify(what: &str, bytes: &[u8], expected: &str) -> Result<(), Error> {
    if !is_digest(expected) {
        return Err(Error::Invalid {
            text: expected.to_owned(),
            expected: "a digest that envdoc can verify (sha256 or sha512)",
        });
    }
    let received = match expected.starts_with("sha512:") {
        true => format!("sha512:{}", hex(&Sha512::digest(bytes))),
        false => sha256(bytes),
    };
    match received.eq_ignore_ascii_case(expected) {
        true => Ok(()),
        false => {
            Err(Error::DigestMismatch { what: what.to_owned(), expected: expected.to_owned(), received })
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_compared_with_either_algorithm_and_no_other() {
        // FIPS 180-2's example.
        let sha256 = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::sha256(b"abc"), sha256);
        assert_eq!(verify("x", b"abc", sha256), Ok(()));
        let sha512 = format!("sha512:{}", hex(&Sha512::digest(b"abc")));
        assert_eq!(verify("x", b"abc", &sha512), Ok(()));
        let mismatch = verify("x", b"abd", sha256).unwrap_err().to_string();
        assert!(mismatch.contains(sha256) && mismatch.contains(&super::sha256(b"abd")), "{mismatch}");
        for other in ["latest", "md5:900150983cd24fb0d6963f7d28e17f72", "sha256:../../x", "sha256:"] {
            assert!(matches!(verify("x", b"abc", other), Err(Error::Invalid { .. })), "{other}");
        }
    }
}
