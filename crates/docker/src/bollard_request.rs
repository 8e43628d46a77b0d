//! What bollard's requests lack, fixed before they are sent.
//!
//! bollard opens a session of its own for BuildKit, and that session serves no secrets. So it gets the
//! classic builder, and the address says what is meant: the platform `VERSION/BUILD-ID/PLATFORM` becomes
//! `version=2&buildid=…`.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use bollard::BollardRequest;

/// The marker in the place of the session: what follows belongs to the address.
pub(crate) const SESSION_PREFIX: &str = "envdoc-buildkit-";

/// Credentials in the URL-safe alphabet, which engines expect and bollard does not write; `version=2` for
/// sessions of ours.
pub(crate) fn fix_request(mut request: BollardRequest) -> BollardRequest {
    for name in ["x-registry-auth", "x-registry-config"] {
        let value = request.headers().get(name).and_then(|value| value.to_str().ok());
        let fixed = value.and_then(|value| STANDARD.decode(value).ok()).map(|bytes| URL_SAFE.encode(bytes));
        if let Some(value) = fixed.and_then(|text| text.parse().ok()) {
            request.headers_mut().insert(name, value);
        }
    }
    if let Some(uri) = address(&request.uri().to_string()).and_then(|uri| uri.parse().ok()) {
        *request.uri_mut() = uri;
    }
    request
}

fn address(uri: &str) -> Option<String> {
    let (path, query) = uri.split_once('?')?;
    let id = query.split('&').find_map(|pair| pair.strip_prefix("session=")?.strip_prefix(SESSION_PREFIX))?;
    let pairs: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("version=")).collect();
    Some(format!("{path}?{}&version=2&buildid={SESSION_PREFIX}{id}", pairs.join("&")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_builds_with_an_envdoc_session_use_buildkit() {
        let ours = "unix://2f/v1.41/build?dockerfile=D&version=1&session=envdoc-buildkit-7f&q=false";
        assert_eq!(
            address(ours).as_deref(),
            Some(
                "unix://2f/v1.41/build?dockerfile=D&session=envdoc-buildkit-7f&q=false&version=2&\
                 buildid=envdoc-buildkit-7f"
            )
        );
        assert_eq!(address("unix://2f/v1.41/build?dockerfile=D&version=1"), None);
        assert_eq!(address("unix://2f/v1.41/version"), None);
    }
}
