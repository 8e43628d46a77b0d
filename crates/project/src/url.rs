//! Addresses of indexes.

/// An address without user and password.
pub(crate) fn without_login(url: &str) -> (String, bool) {
    let Some((scheme, rest)) = url.split_once("://") else { return (url.to_owned(), false) };
    let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..host].rfind('@') {
        Some(at) => (format!("{scheme}://{}", &rest[at + 1..]), true),
        None => (url.to_owned(), false),
    }
}
