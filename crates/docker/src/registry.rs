//! HTTP to package indexes and image registries.
//!
//! Every answer is bounded in size and time; nothing is ever fetched whole that can be large.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderName, LINK, RANGE,
};

use super::auth::Login;
use crate::error::{Error, LoginFault, Waited};

/// The most that is taken of a page of links or a list of tags, in bytes. The largest project pages have
/// about 20 MB.
pub const PAGE_LIMIT_BYTES: u64 = 64 << 20;

/// A client for one command.
pub struct Client {
    http: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    deadline: Instant,
    limit: Duration,
}

/// One question.
#[derive(Debug, Clone, Copy)]
pub struct Get<'q> {
    /// The address.
    pub url: &'q str,
    /// What kinds of answer are understood.
    pub accept: &'q str,
    /// A range in HTTP's words: `bytes=-65536`.
    pub range: Option<&'q str>,
    /// The header Authorization.
    pub authorization: Option<&'q str>,
    /// The most that is taken of the answer, in bytes; a longer one is an error.
    pub limit_bytes: u64,
}

/// What a server said.
#[derive(Debug)]
pub struct Answer {
    /// HTTP's status.
    pub status: u16,
    /// The address at the end of all redirections.
    pub url: String,
    /// The body; empty where the whole file came instead of the range that was asked for.
    pub body: Vec<u8>,
    headers: HeaderMap,
}

impl Answer {
    /// A header's text; empty where there is none.
    fn header(&self, name: &HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The digest of a manifest, as the registry tells it.
    pub fn digest(&self) -> Option<String> {
        let digest = self.header(&HeaderName::from_static("docker-content-digest"));
        Some(digest.to_owned()).filter(|digest| !digest.is_empty())
    }

    /// The kind of the body: `text/html`.
    pub fn content_type(&self) -> &str {
        self.header(&CONTENT_TYPE)
    }

    /// Where the range that came begins, and how long the whole file is: `bytes 392295-394294/394295`.
    pub fn range(&self) -> Option<(u64, u64)> {
        let (range, whole) = self.header(&CONTENT_RANGE).strip_prefix("bytes ")?.split_once('/')?;
        Some((range.split('-').next()?.parse().ok()?, whole.parse().ok()?))
    }
}

impl Client {
    /// A client that trusts the system's certificates and those of `certificates` (PEM), and gives up at
    /// `deadline`. Proxies are those of the environment.
    pub fn new(certificates: Option<&str>, deadline: Instant) -> Result<Client, Error> {
        // An error only says that it was installed before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("envdoc/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10));
        if let Some(pem) = certificates {
            let certificates = reqwest::Certificate::from_pem_bundle(pem.as_bytes()).map_err(|error| {
                Error::Certificate(format!("the certificates cannot be read: {}", Error::from(error)))
            })?;
            builder = builder.tls_certs_merge(certificates);
        }
        let http = builder.build()?;
        let runtime = crate::runtime();
        Ok(Client {
            http,
            runtime: runtime?,
            deadline,
            limit: deadline.saturating_duration_since(Instant::now()),
        })
    }

    /// Asks once. An answer with any status is an answer; an error is the reason why there was none.
    pub fn get(&self, get: &Get<'_>) -> Result<Answer, Error> {
        self.runtime.block_on(async {
            match tokio::time::timeout_at(self.deadline.into(), self.exchange(get)).await {
                Ok(answer) => answer,
                Err(_) => Err(Error::TimedOut { what: Waited::ServerAnswer, after: self.limit }),
            }
        })
    }

    async fn exchange(&self, get: &Get<'_>) -> Result<Answer, Error> {
        let mut request = self.http.get(get.url).header(ACCEPT, get.accept);
        if let Some(range) = get.range {
            request = request.header(RANGE, range);
        }
        if let Some(authorization) = get.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        receive(request, get).await
    }

    /// Sends a body once, with a method of its own.
    fn send(&self, method: reqwest::Method, kind: &str, body: &[u8], get: &Get<'_>) -> Result<Answer, Error> {
        let mut request = self.http.request(method, get.url).header(CONTENT_TYPE, kind).body(body.to_vec());
        if let Some(authorization) = get.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        self.runtime.block_on(async {
            match tokio::time::timeout_at(self.deadline.into(), receive(request, get)).await {
                Ok(answer) => answer,
                Err(_) => Err(Error::TimedOut { what: Waited::ServerAnswer, after: self.limit }),
            }
        })
    }

    /// Every tag of a repository, for anonymous readers.
    pub fn tags(&self, registry: &str, repository: &str) -> Result<BTreeSet<String>, Error> {
        let mut access = Access::new(registry, None);
        let mut next = format!("/v2/{repository}/tags/list?n=1000");
        let mut tags = BTreeSet::new();
        // 1000 tags an answer: no repository has so many pages.
        for _ in 0..100 {
            let answer = self.ask(&mut access, &next, "application/json", PAGE_LIMIT_BYTES)?;
            if answer.status != 200 {
                return Err(Error::Http { status: answer.status, path: None });
            }
            #[derive(serde::Deserialize)]
            struct Page {
                #[serde(default)]
                tags: Option<Vec<String>>,
            }
            let page: Page = serde_json::from_slice(&answer.body)
                .map_err(|error| malformed("invalid list of tags", error))?;
            tags.extend(page.tags.unwrap_or_default());
            match next_page(&answer) {
                Some(page) => next = page,
                None => return Ok(tags),
            }
        }
        Err(malformed("invalid list of tags", "more than 100 pages"))
    }

    /// Asks a registry by Docker's registry protocol, with the token that it sends readers for. An answer
    /// with any other status than 401 is an answer.
    pub fn ask(
        &self,
        access: &mut Access,
        path: &str,
        accept: &str,
        limit_bytes: u64,
    ) -> Result<Answer, Error> {
        let url = join(&access.registry, path)
            .ok_or_else(|| Error::Invalid { text: path.to_owned(), expected: "a URL" })?;
        // A login is for the registry alone, wherever its pages lead.
        if !url.strip_prefix(&access.registry).is_some_and(|rest| rest.starts_with('/')) {
            return Err(Error::OtherHost { url: without_password(&url) });
        }
        self.authorized(access, &|authorization| {
            self.get(&Get { url: &url, accept, range: None, authorization, limit_bytes })
        })
    }

    /// Puts something into a registry, a manifest; as [`Client::ask`] otherwise.
    pub fn put(&self, access: &mut Access, path: &str, kind: &str, body: &[u8]) -> Result<Answer, Error> {
        let url = join(&access.registry, path)
            .ok_or_else(|| Error::Invalid { text: path.to_owned(), expected: "a URL" })?;
        self.authorized(access, &|authorization| {
            let get = Get { url: &url, accept: "*/*", range: None, authorization, limit_bytes: 1 << 20 };
            self.send(reqwest::Method::PUT, kind, body, &get)
        })
    }

    /// Asks, and again with a token where the registry wants one.
    fn authorized(
        &self,
        access: &mut Access,
        ask: &dyn Fn(Option<&str>) -> Result<Answer, Error>,
    ) -> Result<Answer, Error> {
        loop {
            let authorization = access.authorization.clone();
            let answer = ask(authorization.as_deref())?;
            match (answer.status, &authorization, &access.login) {
                (401, None, login) => {
                    access.authorization = Some(self.authorization(&answer, login.as_ref())?);
                }
                (401, Some(_), None) => return Err(Error::RegistryLogin(LoginFault::Missing)),
                (401, Some(_), Some(login)) => return Err(refused(login)),
                _ => return Ok(answer),
            }
        }
    }

    /// What to send after a registry has refused: its token, or the login itself.
    fn authorization(&self, answer: &Answer, login: Option<&Login>) -> Result<String, Error> {
        let challenge = answer.header(&reqwest::header::WWW_AUTHENTICATE);
        let named = login.filter(|login| !login.token);
        let basic = named.map(|login| {
            format!("Basic {}", STANDARD.encode(format!("{}:{}", login.username, login.secret)))
        });
        if challenge.get(..6).is_some_and(|kind| kind.eq_ignore_ascii_case("basic ")) {
            return basic.ok_or(Error::RegistryLogin(LoginFault::NoPassword));
        }
        let url = token_address(challenge).ok_or(Error::RegistryLogin(LoginFault::UnknownScheme))?;
        let mut get = Get {
            url: &url,
            accept: "application/json",
            range: None,
            authorization: basic.as_deref(),
            limit_bytes: 1 << 20,
        };
        let identity =
            login.filter(|login| login.token).map(|login| identity(&url, &login.secret)).transpose()?;
        let answer = match &identity {
            Some((address, form)) => {
                get.url = address;
                let kind = "application/x-www-form-urlencoded";
                self.send(reqwest::Method::POST, kind, form.as_bytes(), &get)?
            }
            None => self.get(&get)?,
        };
        if let (401 | 403, Some(login)) = (answer.status, login) {
            return Err(refused(login));
        }
        let token: serde_json::Value = serde_json::from_slice(&answer.body)
            .map_err(|error| malformed("the registry returned no token", error))?;
        let token = token["token"].as_str().or_else(|| token["access_token"].as_str());
        token.map(|token| format!("Bearer {token}")).ok_or_else(|| {
            malformed("the registry returned no token", format!("HTTP status {}", answer.status))
        })
    }
}

/// Sends a request and takes its answer, as far as `get` allows.
async fn receive(request: reqwest::RequestBuilder, get: &Get<'_>) -> Result<Answer, Error> {
    let mut response = request.send().await?;
    let mut answer = Answer {
        status: response.status().as_u16(),
        url: response.url().to_string(),
        body: Vec::new(),
        headers: response.headers().clone(),
    };
    if get.range.is_some() && answer.status == 200 {
        return Ok(answer);
    }
    while let Some(chunk) = response.chunk().await? {
        if (answer.body.len() + chunk.len()) as u64 > get.limit_bytes {
            return Err(Error::TooLarge { what: "the answer", limit_kib: get.limit_bytes >> 10 });
        }
        answer.body.extend_from_slice(&chunk);
    }
    Ok(answer)
}

/// A registry, and how it lets in.
pub struct Access {
    registry: String,
    login: Option<Login>,
    authorization: Option<String>,
}

impl Access {
    /// The registry at an address (`https://registry-1.docker.io`), with a login where there is one.
    pub fn new(registry: &str, login: Option<Login>) -> Access {
        Access { registry: registry.to_owned(), login, authorization: None }
    }
}

fn refused(login: &Login) -> Error {
    Error::RegistryLogin(match login.token {
        true => LoginFault::TokenRejected,
        false => LoginFault::Rejected { user: login.username.clone() },
    })
}

fn malformed(what: &'static str, message: impl ToString) -> Error {
    Error::Malformed { what, message: message.to_string() }
}

/// How an identity token is exchanged for one of the registry: the address without its parameters, and the
/// form that it gets (distribution/distribution:docs/content/spec/auth/oauth.md@5e75227f).
fn identity(url: &str, token: &str) -> Result<(String, String), Error> {
    let mut address = reqwest::Url::parse(url).map_err(Error::other)?;
    let mut form = reqwest::Url::parse("form:/").map_err(Error::other)?;
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

/// `Link: </v2/…?last=…>; rel="next"`, made absolute.
fn next_page(answer: &Answer) -> Option<String> {
    let link = answer.header(&LINK);
    let (target, rest) = link.strip_prefix('<')?.split_once('>')?;
    rest.contains("next").then(|| join(&answer.url, target)).flatten()
}

/// `Bearer realm="https://…",service="…",scope="…"` as the address to ask.
fn token_address(challenge: &str) -> Option<String> {
    let parameters = challenge.strip_prefix("Bearer ").or_else(|| challenge.strip_prefix("bearer "))?;
    let value = |name: &str| {
        let (_, rest) = parameters.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    let mut url = reqwest::Url::parse(value("realm")?).ok()?;
    for name in ["service", "scope"] {
        if let Some(value) = value(name) {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    Some(url.into())
}

/// Resolves a link in the page at `base`.
pub fn join(base: &str, target: &str) -> Option<String> {
    Some(reqwest::Url::parse(base).ok()?.join(target).ok()?.into())
}

/// A URL without its password.
pub fn without_password(url: &str) -> String {
    let Ok(mut parsed) = reqwest::Url::parse(url) else { return url.to_owned() };
    if parsed.username().is_empty() && parsed.password().is_none() {
        return url.to_owned();
    }
    let _ = parsed.set_username("***");
    let _ = parsed.set_password(None);
    parsed.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_become_addresses() {
        let challenge = r#"Bearer realm="https://auth.example.org/token",service="registry.example.org",scope="repository:nvidia/cuda:pull""#;
        assert_eq!(
            token_address(challenge).as_deref(),
            Some(
                "https://auth.example.org/token?service=registry.example.org&scope=repository%3Anvidia%2Fcuda%3Apull"
            )
        );
        assert_eq!(token_address("Basic realm=\"x\""), None);
        assert_eq!(token_address("Bearer realm=\"no address\""), None);
    }

    #[test]
    fn identity_tokens_are_exchanged() {
        let (address, form) =
            identity("https://a.example/token?service=r&scope=repository%3Ax%3Apull", "s+t").unwrap();
        assert_eq!(address, "https://a.example/token");
        assert_eq!(
            form,
            "grant_type=refresh_token&client_id=envdoc&refresh_token=s%2Bt&service=r&scope=repository%3Ax%3Apull"
        );
    }

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(
            without_password("https://user:secret@example.org/simple"),
            "https://***@example.org/simple"
        );
        assert_eq!(without_password("https://example.org/simple"), "https://example.org/simple");
    }
}
