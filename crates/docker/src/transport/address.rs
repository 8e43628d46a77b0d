//! `ssh://user@host:port/path/of/docker.sock`.

use crate::error::Error;

/// Where the engine listens on the other machine if the endpoint names no socket.
const DEFAULT_SOCKET: &str = "/var/run/docker.sock";

/// An endpoint over SSH, safe to be put on the command line of ssh.
#[derive(Debug, Clone, PartialEq, Eq)]
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

fn invalid(text: &str, expected: &'static str) -> Error {
    Error::Invalid { text: text.to_owned(), expected }
}

impl SshAddress {
    /// Takes an endpoint apart; what could be anything but a name, a port or a path is refused.
    pub fn parse(endpoint: &str) -> Result<SshAddress, Error> {
        let rest = endpoint.strip_prefix("ssh://").ok_or_else(|| invalid(endpoint, "an ssh:// endpoint"))?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, authority)) => (Some(user), authority),
            None => (None, authority),
        };
        if user.is_some_and(|user| user.contains(':')) {
            return Err(Error::other(
                "the endpoint contains a password, which other users can see; use an SSH key",
            ));
        }
        let (host, port) = match authority.strip_prefix('[').and_then(|v6| v6.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').unwrap_or(port))),
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        let port = port
            .map(|port| port.parse().ok().filter(|&port| port != 0).ok_or_else(|| invalid(port, "a port")));
        let bracketed = authority.starts_with('[');
        let of_host = |byte: u8| {
            byte.is_ascii_alphanumeric() || b"._-".contains(&byte) || (bracketed && b":%".contains(&byte))
        };
        if host.is_empty() || host.starts_with('-') || !host.bytes().all(of_host) {
            return Err(invalid(host, "a host name or address"));
        }
        let of_user = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+$\\@".contains(&byte);
        if let Some(user) = user
            && (user.is_empty() || user.starts_with('-') || !user.bytes().all(of_user))
        {
            return Err(invalid(user, "a user name"));
        }
        let of_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=@".contains(&byte);
        let socket = if path.trim_matches('/').is_empty() { DEFAULT_SOCKET } else { path };
        if !socket.bytes().all(of_path) {
            return Err(invalid(socket, "a path that ssh can forward"));
        }
        Ok(SshAddress {
            user: user.map(str::to_owned),
            host: host.to_owned(),
            port: port.transpose()?,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_ssh_endpoints() {
        let parse = |text| SshAddress::parse(text).unwrap();
        let plain = parse("ssh://gpu1");
        assert_eq!((plain.user, plain.port, plain.socket.as_str()), (None, None, DEFAULT_SOCKET));
        let full = parse("ssh://root@10.0.0.5:2201/run/user/1000/docker.sock");
        assert_eq!((full.user.as_deref(), full.host.as_str()), (Some("root"), "10.0.0.5"));
        assert_eq!((full.port, full.socket.as_str()), (Some(2201), "/run/user/1000/docker.sock"));
        assert_eq!(
            (full.ssh_arguments(), full.known_hosts_name()),
            ("-p 2201 root@10.0.0.5".into(), "[10.0.0.5]:2201".into())
        );
        let v6 = parse("ssh://[fe80::1%eth0]:22/");
        assert_eq!(
            (v6.host.as_str(), v6.port, v6.socket.as_str()),
            ("fe80::1%eth0", Some(22), DEFAULT_SOCKET)
        );
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
            assert!(SshAddress::parse(text).is_err(), "{text}");
        }
    }
}
