//! The address of a container engine, taken apart once.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The engine's socket on another machine if the endpoint names none.
const DEFAULT_SOCKET: &str = "/var/run/docker.sock";

/// Where an engine is reached, as `docker --host` takes it: `unix:///var/run/docker.sock`, `ssh://root@gpu1`,
/// `tcp://10.0.0.5:2376`. It is shown and stored as it was written, valid or not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Endpoint {
    text: String,
    elsewhere: bool,
    target: Result<Target, EndpointFault>,
}

/// What an endpoint leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A socket file of this machine, by its path.
    Unix(String),
    /// A TCP port.
    Tcp(TcpAddress),
    /// A socket file of another machine, over SSH.
    Ssh(SshAddress),
}

/// `tcp://10.0.0.5:2376`, `http://…`, `https://…`. Displayed without the scheme.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TcpAddress {
    /// Name or address (IPv6 without brackets); empty in `tcp://:2375`.
    pub host: String,
    /// The port, where the endpoint names one.
    pub port: Option<u16>,
    /// Whether the engine speaks TLS there.
    pub tls: Tls,
}

/// Whether an engine at a TCP port speaks TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tls {
    /// `http://`.
    Never,
    /// `tcp://`: where certificates are configured.
    IfConfigured,
    /// `https://`.
    Always,
}

/// `ssh://user@host:port/path/of/docker.sock`, safe to be put on the command line of ssh.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SshAddress {
    /// The user; without one ssh's own configuration decides.
    pub user: Option<String>,
    /// Name, alias of ssh's configuration, or address (IPv6 without brackets).
    pub host: String,
    /// The port; without one ssh's own configuration decides.
    pub port: Option<u16>,
    /// The engine's socket there.
    pub socket: String,
}

/// Why an endpoint leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum EndpointFault {
    #[error("unsupported endpoint; expected unix://, tcp:// or ssh://")]
    Scheme,
    #[error("the endpoint contains a password, which other users can see; use an SSH key")]
    Password,
    #[error("{0:?} is not a host name or address")]
    Host(String),
    #[error("{0:?} is not a port")]
    Port(String),
    #[error("{0:?} is not a user name")]
    User(String),
    #[error("an endpoint over TCP names no user")]
    TcpUser,
    #[error("{0:?} is not a path that ssh can forward")]
    SshPath(String),
    #[error("an endpoint over TCP has no path such as {0:?}")]
    TcpPath(String),
}

impl Endpoint {
    /// A socket file of this machine.
    pub fn unix(path: impl fmt::Display) -> Endpoint {
        format!("unix://{path}").into()
    }

    /// The engine of the machine with this name or address (IPv6 without brackets), over SSH.
    pub fn over_ssh(user: Option<&str>, host: &str) -> Endpoint {
        let user = user.map(|user| format!("{user}@")).unwrap_or_default();
        let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
        format!("ssh://{user}{open}{host}{close}").into()
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is another machine's engine: `ssh://`, or TCP to an address that is not this machine's
    /// loopback.
    pub fn is_elsewhere(&self) -> bool {
        self.elsewhere
    }

    /// What it leads to.
    pub fn target(&self) -> Result<&Target, &EndpointFault> {
        self.target.as_ref()
    }

    /// The path of the socket file, if it is one of this machine.
    pub fn socket(&self) -> Option<&str> {
        match &self.target {
            Ok(Target::Unix(path)) => Some(path),
            _ => None,
        }
    }

    /// The address for ssh, if it is reached over SSH.
    pub fn ssh(&self) -> Option<&SshAddress> {
        match &self.target {
            Ok(Target::Ssh(address)) => Some(address),
            _ => None,
        }
    }
}

/// Where an engine listens if nobody says otherwise.
impl Default for Endpoint {
    fn default() -> Endpoint {
        "unix:///var/run/docker.sock".into()
    }
}

impl From<String> for Endpoint {
    fn from(text: String) -> Endpoint {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", &text));
        let tcp = |tls| (!is_loopback(split_port(split_path(rest).0).0), TcpAddress::parse(rest, tls));
        let (elsewhere, target) = match scheme {
            "unix" => (false, Ok(Target::Unix(rest.to_owned()))),
            "tcp" => tcp(Tls::IfConfigured),
            "http" => tcp(Tls::Never),
            "https" => tcp(Tls::Always),
            "ssh" => (true, SshAddress::parse(rest).map(Target::Ssh)),
            // What systemd hands over, a pipe of Windows, or no endpoint at all.
            "fd" | "npipe" | "" => (false, Err(EndpointFault::Scheme)),
            _ => (true, Err(EndpointFault::Scheme)),
        };
        Endpoint { elsewhere, target, text }
    }
}

impl From<&str> for Endpoint {
    fn from(text: &str) -> Endpoint {
        text.to_owned().into()
    }
}

impl From<Endpoint> for String {
    fn from(endpoint: Endpoint) -> String {
        endpoint.text
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl TcpAddress {
    fn parse(rest: &str, tls: Tls) -> Result<Target, EndpointFault> {
        let (authority, path) = split_path(rest);
        match authority.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => return Err(EndpointFault::Password),
            Some(_) => return Err(EndpointFault::TcpUser),
            None => {}
        }
        if !path.trim_matches('/').is_empty() {
            return Err(EndpointFault::TcpPath(path.to_owned()));
        }
        let (host, port) = split_port(authority);
        Ok(Target::Tcp(TcpAddress { host: host.to_owned(), port: port.map(port_number).transpose()?, tls }))
    }
}

/// `10.0.0.5:2376`, `[fd00::1]:2376`.
impl fmt::Display for TcpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]", self.host)?,
            false => f.write_str(&self.host)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl SshAddress {
    /// What could be anything but a name, a port or a path is refused.
    fn parse(rest: &str) -> Result<SshAddress, EndpointFault> {
        let (authority, path) = split_path(rest);
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, authority)) => (Some(user), authority),
            None => (None, authority),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err(EndpointFault::Password);
        }
        let (host, port) = split_port(authority);
        let bracketed = authority.starts_with('[');
        let of_host = |byte: u8| {
            byte.is_ascii_alphanumeric() || b"._-".contains(&byte) || (bracketed && b":%".contains(&byte))
        };
        if host.is_empty() || host.starts_with('-') || !host.bytes().all(of_host) {
            return Err(EndpointFault::Host(host.to_owned()));
        }
        let of_user = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+$\\@".contains(&byte);
        if let Some(user) = user
            && (user.is_empty() || user.starts_with('-') || !user.bytes().all(of_user))
        {
            return Err(EndpointFault::User(user.to_owned()));
        }
        let of_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=@".contains(&byte);
        let socket = if path.trim_matches('/').is_empty() { DEFAULT_SOCKET } else { path };
        if !socket.bytes().all(of_path) {
            return Err(EndpointFault::SshPath(socket.to_owned()));
        }
        Ok(SshAddress {
            user: user.map(str::to_owned),
            host: host.to_owned(),
            port: port.map(port_number).transpose()?,
            socket: socket.to_owned(),
        })
    }

    /// What a person types after `ssh`: `-p 2201 root@gpu1`.
    pub fn ssh_arguments(&self) -> String {
        let port = self.port.map(|port| format!("-p {port} ")).unwrap_or_default();
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        format!("{port}{user}{}", self.host)
    }

    /// Who logs in where, as far as the endpoint names it: `root@gpu1`, `gpu1`.
    pub fn login(&self) -> String {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        format!("{user}{}", self.host)
    }

    /// Its name in known_hosts: `gpu1`, `[gpu1]:2201`.
    pub fn known_hosts_name(&self) -> String {
        match self.port {
            Some(port) if port != 22 => format!("[{}]:{port}", self.host),
            _ => self.host.clone(),
        }
    }
}

/// `user@host:22` and `/run/docker.sock`.
fn split_path(rest: &str) -> (&str, &str) {
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

/// Host, without the brackets of an IPv6 address, and port.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.strip_prefix('[').and_then(|v6| v6.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':').unwrap_or(port))),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    }
}

fn port_number(text: &str) -> Result<u16, EndpointFault> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|&port| digits && port != 0);
    number.ok_or_else(|| EndpointFault::Port(text.to_owned()))
}

/// Whether an address means this machine; none does, as in `tcp://:2375`.
fn is_loopback(host: &str) -> bool {
    host.is_empty() || host == "localhost" || host == "::1" || host.starts_with("127.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ssh(text: &str) -> SshAddress {
        Endpoint::from(text).ssh().unwrap().clone()
    }

    #[test]
    fn parses_ssh_endpoints() {
        let plain = ssh("ssh://gpu1");
        assert_eq!((plain.user, plain.port, plain.socket.as_str()), (None, None, DEFAULT_SOCKET));
        let full = ssh("ssh://root@10.0.0.5:2201/run/user/1000/docker.sock");
        assert_eq!((full.user.as_deref(), full.host.as_str()), (Some("root"), "10.0.0.5"));
        assert_eq!((full.port, full.socket.as_str()), (Some(2201), "/run/user/1000/docker.sock"));
        assert_eq!(
            (full.ssh_arguments(), full.known_hosts_name()),
            ("-p 2201 root@10.0.0.5".into(), "[10.0.0.5]:2201".into())
        );
        let v6 = ssh("ssh://[fe80::1%eth0]:22/");
        assert_eq!(
            (v6.host.as_str(), v6.port, v6.socket.as_str()),
            ("fe80::1%eth0", Some(22), DEFAULT_SOCKET)
        );
        assert_eq!(Endpoint::over_ssh(Some("ops"), "fd00::2").as_str(), "ssh://ops@[fd00::2]");
        assert_eq!(ssh(Endpoint::over_ssh(None, "fd00::2").as_str()).host, "fd00::2");
    }

    #[test]
    fn rejects_ssh_endpoints_with_options_or_shell_syntax() {
        for text in [
            "ssh://",
            "ssh://-oProxyCommand=id",
            "ssh://-oProxyCommand=id@gpu",
            "ssh://user:secret@gpu",
            "ssh://gpu;id",
            "ssh://gpu:0",
            "ssh://gpu:99999",
            "ssh://gpu:22x",
            "ssh://gpu/run/$(id).sock",
            "ssh://gpu/run/a b",
            "ssh://fd00::1",
            "ssh://[fd00::1]x",
        ] {
            assert!(Endpoint::from(text).target().is_err(), "{text}");
        }
    }

    #[test]
    fn parses_tcp_endpoints() {
        let tcp = |text: &str| match Endpoint::from(text).target() {
            Ok(Target::Tcp(address)) => address.clone(),
            other => panic!("{text}: {other:?}"),
        };
        let v6 = tcp("tcp://[fd00::1]:2376/");
        assert_eq!((v6.host.as_str(), v6.port, v6.tls), ("fd00::1", Some(2376), Tls::IfConfigured));
        assert_eq!(v6.to_string(), "[fd00::1]:2376");
        assert_eq!((tcp("https://engine").port, tcp("https://engine").tls), (None, Tls::Always));
        assert_eq!((tcp("http://:2375").host.as_str(), tcp("http://:2375").tls), ("", Tls::Never));
        for (text, fault) in [
            ("tcp://u:pw@gpu:2376", EndpointFault::Password),
            ("tcp://root@gpu:2376", EndpointFault::TcpUser),
            ("tcp://gpu:x", EndpointFault::Port("x".into())),
            ("tcp://gpu:1/v1", EndpointFault::TcpPath("/v1".into())),
            ("gpu:2376", EndpointFault::Scheme),
            ("fd://", EndpointFault::Scheme),
        ] {
            assert_eq!(Endpoint::from(text).target(), Err(&fault), "{text}");
        }
    }

    #[test]
    fn recognizes_endpoints_of_other_machines() {
        for text in [
            "ssh://root@gpu",
            "ssh://user:secret@gpu",
            "tcp://10.0.0.5:2376",
            "tcp://[fd00::1]:2375",
            "tcp://gpu:x",
            "https://engine:2376",
        ] {
            assert!(Endpoint::from(text).is_elsewhere(), "{text}");
        }
        for text in [
            "unix:///var/run/docker.sock",
            "tcp://127.0.0.1:2375",
            "tcp://localhost:2375",
            "tcp://localhost:x",
            "tcp://[::1]:2375",
            "tcp://:2375",
            "npipe:////./pipe/docker_engine",
            "10.0.0.5:2375",
        ] {
            assert!(!Endpoint::from(text).is_elsewhere(), "{text}");
        }
    }

    #[test]
    fn stores_an_endpoint_as_it_was_written() {
        for text in ["tcp://10.0.0.5:02376/", "ssh://gpu/", "nonsense"] {
            let json = serde_json::to_string(&Endpoint::from(text)).unwrap();
            assert_eq!(json, format!("{text:?}"));
            assert_eq!(serde_json::from_str::<Endpoint>(&json).unwrap(), Endpoint::from(text));
        }
    }
}
