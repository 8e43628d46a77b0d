//! HTTP to package indexes and image registries.
//!
//! Every answer is bounded in size and time; nothing is ever fetched whole that can be large.

mod certificates;
pub(crate) mod login;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderName, LINK, RANGE,
};

use super::auth::Login;
use crate::digest;
use crate::error::{Error, LoginFault, Waited};

/// The most that is taken of a page of links or a list of tags, in bytes. The largest project pages have
/// about 20 MB.
pub const PAGE_LIMIT_BYTES: u64 = 64 << 20;

/// How many redirects are followed.
const REDIRECTS_MAX: usize = 10;

/// A client for one command.
pub struct Client {
    http: reqwest::Client,
    /// For token servers: no redirect leads to another host.
    login: reqwest::Client,
    runtime: &'static tokio::runtime::Runtime,
    deadline: Instant,
    limit: Duration,
}

/// One question.
#[derive(Debug, Clone, Copy)]
pub struct Get<'q> {
    /// With scheme, host and path: `https://registry-1.docker.io/v2/library/python/tags/list`.
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

    /// The digest of the body. An error where the registry names another one in its header
    /// Docker-Content-Digest. `what` is for the error: `the manifest of nginx:1`.
    pub fn digest(&self, what: &str) -> Result<String, Error> {
        self.verify_header(what, &self.body)?;
        Ok(digest::sha256(&self.body))
    }

    /// Compares the header Docker-Content-Digest, where there is one, with what it should be the digest of.
    pub fn verify_header(&self, what: &str, bytes: &[u8]) -> Result<(), Error> {
        match self.header(&HeaderName::from_static("docker-content-digest")) {
            "" => Ok(()),
            named => digest::verify(what, bytes, named),
        }
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
        let certificates = match certificates {
            None => Vec::new(),
            Some(pem) => reqwest::Certificate::from_pem_bundle(pem.as_bytes()).map_err(|error| {
                Error::Certificate(format!("the certificates cannot be read: {}", Error::from(error)))
            })?,
        };
        certificates::bounded()?;
        let build = |redirects| {
            let mut builder = reqwest::Client::builder()
                .user_agent(concat!("envdoc/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(Duration::from_secs(10))
                .redirect(redirects);
            if !certificates.is_empty() {
                builder = builder.tls_certs_merge(certificates.clone());
            }
            builder.build()
        };
        let runtime = crate::runtime();
        Ok(Client {
            http: build(redirects(false))?,
            login: build(redirects(true))?,
            runtime: runtime?,
            deadline,
            limit: deadline.saturating_duration_since(Instant::now()),
        })
    }

    /// Asks once. An answer with any status is an answer; an error is the reason why there was none.
    pub fn get(&self, get: &Get<'_>) -> Result<Answer, Error> {
        self.get_with(&self.http, get)
    }

    fn get_with(&self, http: &reqwest::Client, get: &Get<'_>) -> Result<Answer, Error> {
        let mut request = http.get(get.url).header(ACCEPT, get.accept);
        if let Some(range) = get.range {
            request = request.header(RANGE, range);
        }
        self.transact(request, get)
    }

    /// Sends a body once, with a method of its own.
    fn send(
        &self,
        http: &reqwest::Client,
        method: reqwest::Method,
        kind: &str,
        body: &[u8],
        get: &Get<'_>,
    ) -> Result<Answer, Error> {
        let request = http.request(method, get.url).header(CONTENT_TYPE, kind).body(body.to_vec());
        self.transact(request, get)
    }

    fn transact(&self, mut request: reqwest::RequestBuilder, get: &Get<'_>) -> Result<Answer, Error> {
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
            self.send(&self.http, reqwest::Method::PUT, kind, body, &get)
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
                (401, None, _) => {
                    access.authorization = Some(login::authorization(self, access, &answer)?);
                }
                (401, Some(_), None) => return Err(Error::RegistryLogin(LoginFault::Missing)),
                (401, Some(_), Some(login)) => return Err(refused(login)),
                _ => return Ok(answer),
            }
        }
    }
}

/// Follows redirects, but never from TLS to plain HTTP, and with `same_host` only to the same scheme, host
/// and port. Reqwest removes the header Authorization where a redirect leads to another host or port, but
/// would send a form again.
fn redirects(same_host: bool) -> reqwest::redirect::Policy {
    reqwest::redirect::Policy::custom(move |attempt| {
        let Some(last) = attempt.previous().last() else { return attempt.follow() };
        let next = attempt.url();
        let downgrade = last.scheme() == "https" && next.scheme() != "https";
        if downgrade || (same_host && last.origin() != next.origin()) {
            let url = without_password(next.as_str());
            return attempt.error(Error::OtherHost { url });
        }
        match attempt.previous().len() > REDIRECTS_MAX {
            true => attempt.error("too many redirects"),
            false => attempt.follow(),
        }
    })
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

/// `Link: </v2/…?last=…>; rel="next"`, made absolute.
fn next_page(answer: &Answer) -> Option<String> {
    let link = answer.header(&LINK);
    let (target, rest) = link.strip_prefix('<')?.split_once('>')?;
    rest.contains("next").then(|| join(&answer.url, target)).flatten()
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
    fn passwords_are_not_shown() {
        assert_eq!(
            without_password("https://user:secret@example.org/simple"),
            "https://***@example.org/simple"
        );
        assert_eq!(without_password("https://example.org/simple"), "https://example.org/simple");
    }
}
