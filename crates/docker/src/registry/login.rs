//! Which credentials go where after a registry has refused a reader with status 401.
//!
//! As docker and containerd do, a user name and password go to whatever token server the registry names,
//! because registries commonly have it on another host (Docker Hub: `auth.docker.io`). Other than they do,
//! envdoc sends credentials only over TLS, unless the registry itself is used over plain HTTP and its token
//! server is the same host, and an identity token, which is good for months, only to the registry's own host.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use reqwest::header::WWW_AUTHENTICATE;

use super::{Access, Answer, Client, Get, malformed};
use crate::auth::Login;
use crate::error::{Error, LoginFault, UnsafeRealm};

/// The registry of Docker Hub and the host of its token server, which count as one.
const HUB: (&str, &str) = ("registry-1.docker.io", "auth.docker.io");

/// What to send after a registry has refused: its token, or the login itself.
pub(super) fn authorization(client: &Client, access: &Access, answer: &Answer) -> Result<String, Error> {
    // Another host, to which the registry redirected, has no say in where the login goes.
    if !same_origin(&access.registry, &answer.url) {
        return Err(Error::OtherHost { url: super::without_password(&answer.url) });
    }
    let login = access.login.as_ref();
    let challenge = answer.header(&WWW_AUTHENTICATE);
    let basic = login
        .filter(|login| !login.token)
        .map(|login| format!("Basic {}", STANDARD.encode(format!("{}:{}", login.username, login.secret))));
    if challenge.get(..6).is_some_and(|kind| kind.eq_ignore_ascii_case("basic ")) {
        return basic.ok_or(Error::RegistryLogin(LoginFault::NoPassword));
    }
    let url = token_address(challenge).ok_or(Error::RegistryLogin(LoginFault::UnknownScheme))?;
    if let Some(why) = unsafe_realm(&access.registry, &url, login) {
        let realm = url.origin().ascii_serialization();
        return Err(Error::RegistryLogin(LoginFault::UnsafeRealm { realm, why }));
    }
    token(&client_answer(client, &url, basic.as_deref(), login)?, login)
}

/// Asks the token server, with the login where there is one.
fn client_answer(
    client: &Client,
    url: &Url,
    basic: Option<&str>,
    login: Option<&Login>,
) -> Result<Answer, Error> {
    let (accept, limit_bytes) = ("application/json", 1 << 20);
    match login.filter(|login| login.token) {
        Some(login) => {
            let (address, form) = identity(url, &login.secret)?;
            let get = Get { url: &address, accept, range: None, authorization: None, limit_bytes };
            let kind = "application/x-www-form-urlencoded";
            client.send(&client.login, reqwest::Method::POST, kind, form.as_bytes(), &get)
        }
        None => {
            let get = Get { url: url.as_str(), accept, range: None, authorization: basic, limit_bytes };
            client.get_with(&client.login, &get)
        }
    }
}

fn token(answer: &Answer, login: Option<&Login>) -> Result<String, Error> {
    if let (401 | 403, Some(login)) = (answer.status, login) {
        return Err(super::refused(login));
    }
    let token: serde_json::Value =
        serde_json::from_slice(&answer.body).map_err(|error| match answer.status {
            200 => malformed("the registry returned no token", error),
            status => malformed("the registry returned no token", format!("HTTP status {status}")),
        })?;
    let token = token["token"].as_str().or_else(|| token["access_token"].as_str());
    token
        .map(|token| format!("Bearer {token}"))
        .ok_or_else(|| malformed("the registry returned no token", format!("HTTP status {}", answer.status)))
}

/// Why nothing may be sent to this token server of a registry; `None` where it may.
fn unsafe_realm(registry: &str, realm: &Url, login: Option<&Login>) -> Option<UnsafeRealm> {
    let Ok(registry) = Url::parse(registry) else { return Some(UnsafeRealm::Plain) };
    let same_host = registry.host() == realm.host();
    if realm.scheme() != "https" && !(registry.scheme() == "http" && realm.scheme() == "http" && same_host) {
        return Some(UnsafeRealm::Plain);
    }
    let hub = (registry.host_str(), realm.host_str()) == (Some(HUB.0), Some(HUB.1));
    let own = same_host || hub;
    login.filter(|login| login.token && !own).map(|_| UnsafeRealm::ForeignIdentityToken)
}

/// The token server that a challenge names, where an identity token may go to it.
pub(crate) fn safe_token_server(registry: &str, challenge: &str) -> Option<String> {
    let realm = token_address(challenge)?;
    let login = Login { username: String::new(), secret: String::new(), token: true };
    unsafe_realm(registry, &realm, Some(&login)).is_none().then(|| realm.into())
}

/// Whether two addresses have the scheme, the host and the port in common.
pub(super) fn same_origin(one: &str, other: &str) -> bool {
    match (Url::parse(one), Url::parse(other)) {
        (Ok(one), Ok(other)) => one.origin() == other.origin(),
        _ => false,
    }
}

/// How an identity token is exchanged for one of the registry: the address without its parameters, and the
/// form that it gets (distribution/distribution:docs/content/spec/auth/oauth.md@5e75227f).
fn identity(url: &Url, token: &str) -> Result<(String, String), Error> {
    let mut address = url.clone();
    let mut form = Url::parse("form:/").map_err(Error::other)?;
    {
        let mut pairs = form.query_pairs_mut();
        pairs.append_pair("grant_type", "refresh_token").append_pair("client_id", "envdoc");
        pairs.append_pair("refresh_token", token);
        for (name, value) in address.query_pairs() {
            pairs.append_pair(&name, &value);
        }
    }
    address.set_query(None);
    Ok((address.into(), form.query().unwrap_or_default().to_owned()))
}

/// `Bearer realm="https://…",service="…",scope="…"` as the address to ask.
fn token_address(challenge: &str) -> Option<Url> {
    let parameters = challenge.strip_prefix("Bearer ").or_else(|| challenge.strip_prefix("bearer "))?;
    let value = |name: &str| {
        let (_, rest) = parameters.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    let mut url = Url::parse(value("realm")?).ok()?;
    for name in ["service", "scope"] {
        if let Some(value) = value(name) {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_token_url_from_bearer_challenge() {
        let challenge = concat!(
            r#"Bearer realm="https://auth.example.org/token",service="registry.example.org","#,
            r#"scope="repository:nvidia/cuda:pull""#,
        );
        assert_eq!(
            token_address(challenge).map(String::from).as_deref(),
            Some(
                "https://auth.example.org/token?service=registry.example.org&\
                 scope=repository%3Anvidia%2Fcuda%3Apull"
            )
        );
        assert_eq!(token_address("Basic realm=\"x\""), None);
        assert_eq!(token_address("Bearer realm=\"no address\""), None);
    }

    #[test]
    fn identity_tokens_are_exchanged() {
        let url = Url::parse("https://a.example/token?service=r&scope=repository%3Ax%3Apull").unwrap();
        let (address, form) = identity(&url, "s+t").unwrap();
        assert_eq!(address, "https://a.example/token");
        assert_eq!(
            form,
            "grant_type=refresh_token&client_id=envdoc&refresh_token=s%2Bt&service=r&\
             scope=repository%3Ax%3Apull"
        );
    }

    #[test]
    fn which_token_servers_get_credentials() {
        let password = Login { username: "alice".into(), secret: "pw".into(), token: false };
        let identity = Login { username: String::new(), secret: "id".into(), token: true };
        let of = |registry: &str, realm: &str, login: Option<&Login>| {
            unsafe_realm(registry, &Url::parse(realm).unwrap(), login)
        };
        let (plain, foreign) = (Some(UnsafeRealm::Plain), Some(UnsafeRealm::ForeignIdentityToken));
        for login in [None, Some(&password), Some(&identity)] {
            // From https to http never, even on the same host; http only between the same host.
            assert_eq!(of("https://r.example", "http://r.example/token", login), plain);
            assert_eq!(of("https://r.example", "http://localhost:5999/steal", login), plain);
            assert_eq!(of("http://127.0.0.1:5998", "http://localhost:5999/steal", login), plain);
            assert_eq!(of("http://r.lan:5000", "http://r.lan:5001/token", login), None);
            assert_eq!(of("https://r.example", "ftp://r.example/token", login), plain);
            assert_eq!(of("https://r.example:5000", "https://r.example/token", login), None);
            assert_eq!(of("https://registry-1.docker.io", "https://auth.docker.io/token", login), None);
        }
        // Docker and containerd send a password to the token server that the registry names.
        assert_eq!(
            of("https://registry.gitlab.example", "https://gitlab.example/jwt", Some(&password)),
            None
        );
        let realm = "https://evil.example/token";
        assert_eq!(of("https://r.example", realm, Some(&identity)), foreign);
        assert_eq!(of("https://auth.docker.io", "https://registry-1.docker.io/t", Some(&identity)), foreign);
    }
}
