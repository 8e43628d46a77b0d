//! What names and values of `cluster.yaml` may be.
//!
//! They go into compose files, sshd's and ssh's configuration, hostfiles, environments and commands. Each of
//! those has characters of its own that change what is meant; none of them gets past here, so nothing behind
//! has to be clever about quoting.

use std::net::IpAddr;

use diagnostic::error::{Error, Kind};
use facts::docker::{Endpoint, SshAddress, Target, TcpAddress, Tls};

/// A kind of value.
pub struct Rule {
    /// What it is: `a node's name`.
    what: &'static str,
    /// Whether a text is one.
    fits: fn(&str) -> bool,
    /// What one looks like, a sentence.
    looks: &'static str,
}

/// Place of a value: `cluster.yaml: node 2, address`.
#[derive(Debug, Clone)]
pub struct At(pub String);

impl At {
    /// A place within this one.
    pub fn key(&self, key: &str) -> At {
        At(format!("{}, {key}", self.0))
    }

    /// An error about the value there.
    pub fn wrong(&self, message: impl std::fmt::Display, hint: impl Into<String>) -> Error {
        Error::new(Kind::Usage, format!("{}: {message}", self.0)).hint(hint)
    }

    /// The value, where it fits.
    pub fn fits<'v>(&self, rule: &Rule, value: &'v str) -> Result<&'v str, Error> {
        if (rule.fits)(value) {
            return Ok(value);
        }
        Err(self.wrong(format!("{value:?} is not {}", rule.what), rule.looks))
    }

    /// An engine's endpoint.
    pub fn endpoint(&self, text: &str) -> Result<Endpoint, Error> {
        let endpoint = Endpoint::from(text);
        if is_plain(&endpoint) {
            return Ok(endpoint);
        }
        let looks = "write unix:///var/run/docker.sock, ssh://USER@HOST:PORT or tcp://HOST:PORT";
        Err(self.wrong(format!("{text:?} is not an engine endpoint"), looks))
    }
}

/// A cluster's name.
pub const CLUSTER: Rule = Rule {
    what: "a cluster name",
    fits: |text| label(text) && text.len() <= 40,
    looks: "use 2 to 40 lowercase letters, digits and `-`, starting with a letter; it prefixes the names \
        of volumes and networks",
};

/// A node's name.
pub const NODE: Rule = Rule {
    what: "a node name",
    fits: |text| label(text) && !["localhost", "all", "host"].contains(&text),
    looks: "use 2 to 63 lowercase letters, digits and `-`, starting with a letter, and not `all`, `host` \
        or `localhost`; it becomes a host and container name",
};

/// An address of a machine.
pub const ADDRESS: Rule = Rule {
    what: "an address",
    fits: |text| text.parse::<IpAddr>().is_ok() || domain(text),
    looks: "write an IP address such as 10.0.18.1 or fd00::1, or a host name; put a port or user in `engine`",
};

/// A user of ssh.
pub const SSH_USER: Rule = Rule {
    what: "a user name of ssh",
    fits: is_ssh_user,
    looks: "write a name of letters, digits and . _ - that begins with a letter, a digit or `_`",
};

/// An image's name.
pub const IMAGE: Rule = Rule {
    what: "an image name",
    fits: |text| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._/:@-".contains(c))
            && text.len() <= 512
    },
    looks: "write REGISTRY/NAME:TAG or NAME@sha256:…, in letters, digits and . _ / : @ -",
};

/// A registry, and what stands before the names in it.
pub const REGISTRY: Rule = Rule {
    what: "a registry",
    fits: |text| {
        let host = text.split('/').next().unwrap_or_default();
        (host.contains('.') || host.contains(':') || host == "localhost")
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._/:-".contains(c))
            && !text.ends_with('/')
            && text.len() <= 256
    },
    looks: "write HOST:PORT or HOST/TEAM where the host has a dot or a port: registry.example:5000/team",
};

/// A file of the controlling machine.
pub const FILE: Rule = Rule {
    what: "a path",
    fits: |text| !text.is_empty() && !text.starts_with('-') && text.chars().all(|c| !c.is_control()),
    looks: "write a non-empty path without control characters that does not start with `-`",
};

/// A path on the machines or in the containers.
pub const PATH: Rule = Rule {
    what: "an absolute path without special characters",
    fits: |text| {
        text.starts_with('/')
            && text.chars().all(|c| c.is_alphanumeric() || "/._+@-".contains(c))
            && !text.split('/').any(|part| part == ".." || part == ".")
    },
    looks: "start it with / and use only letters, digits and . _ + @ -, no `..`; otherwise rename or \
        symlink the directory",
};

/// GPUs by index or UUID.
pub const GPU: Rule = Rule {
    what: "a GPU",
    fits: |text| {
        let uuid = text.strip_prefix("GPU-").or_else(|| text.strip_prefix("MIG-"));
        match uuid {
            Some(rest) => !rest.is_empty() && rest.chars().all(|c| c.is_ascii_hexdigit() || "-/".contains(c)),
            None => text.len() <= 3 && !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()),
        }
    },
    looks: "write an index (0, 1, …) or a UUID (GPU-…, MIG-…) as shown by `nvidia-smi -L`",
};

/// Name of an environment variable.
pub const VARIABLE: Rule = Rule {
    what: "a variable name",
    fits: |text| {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    },
    looks: "use letters, digits and `_`, not starting with a digit",
};

/// Value of an environment variable, or of a label.
pub const VALUE: Rule = Rule {
    what: "a value that reaches every process unchanged",
    fits: |text| {
        text.len() <= 4096
            && !text.chars().any(|c| c.is_control() || "$`\"\\".contains(c))
            && !text.contains("{{")
    },
    looks: "compose, sshd, the DeepSpeed launcher and shells each change $ ` \" \\ {{ and line breaks; \
        put such a value in a file",
};

/// A label's name.
pub const LABEL: Rule = Rule {
    what: "a label name",
    fits: |text| {
        text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._/-".contains(c))
            && !text.starts_with("envdoc.")
            && !text.starts_with("com.docker.")
    },
    looks: "use letters, digits and . _ / -, starting with a lowercase letter; envdoc.* and com.docker.* \
        are reserved",
};

/// A network's name.
pub const NETWORK: Rule = Rule {
    what: "a network name",
    fits: |text| {
        text.len() >= 2
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
            && !["host", "none", "bridge", "default", "ingress", "docker_gwbridge"].contains(&text)
    },
    looks: "use at least two letters, digits and . _ -, and not a built-in network (host, bridge, none, \
        default, ingress, docker_gwbridge)",
};

/// An interface's name.
pub const INTERFACE: Rule = Rule {
    what: "an interface name",
    fits: |text| {
        (1..=15).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    },
    looks: "write one interface as shown by `ip link` (ib0, eno1np0), at most 15 characters",
};

/// A user of the containers.
pub const USER: Rule = Rule {
    what: "a user name",
    fits: |text| {
        text.len() <= 32
            && text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c))
    },
    looks: "write the name of a user in the image: lowercase letters, digits, `_` and `-`",
};

/// A secret's name.
pub const SECRET: Rule = Rule {
    what: "a secret name",
    fits: |text| {
        text.len() <= 64
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    },
    looks: "use letters, digits and . _ -, starting with a letter or digit; it becomes the file \
        /run/secrets/NAME",
};

/// A word of a command.
pub const WORD: Rule = Rule {
    what: "a command argument",
    fits: |text| !text.chars().any(|c| c == '\0' || c == '\n' || c == '\r') && !text.contains("{{"),
    looks: "write one argument per item, without line breaks or {{; put a longer program in a file",
};

/// NFS mount options.
pub const OPTIONS: Rule = Rule {
    what: "a list of NFS mount options",
    fits: |text| {
        !text.is_empty()
            && text.split(',').all(|one| {
                !one.is_empty() && !["addr", "bind"].contains(&one.split('=').next().unwrap_or_default())
            })
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.,=-".contains(c))
    },
    looks: "write options such as vers=4.2,noatime; the address is taken from `nfs`",
};

/// A label of a domain name that cannot be taken for a number.
fn label(text: &str) -> bool {
    (2..=63).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && !text.ends_with('-')
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// A host name, maybe with its domain. One that is all digits and dots would be a broken address.
fn domain(text: &str) -> bool {
    text.len() <= 253
        && text.contains(|c: char| c.is_ascii_alphabetic())
        && text.split('.').all(|part| {
            (1..=63).contains(&part.len())
                && !part.starts_with('-')
                && !part.ends_with('-')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        })
}

fn is_ssh_user(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// Whether every part of an endpoint is one that nothing takes for something else.
fn is_plain(endpoint: &Endpoint) -> bool {
    match endpoint.target() {
        Ok(Target::Unix(path)) => (PATH.fits)(path),
        Ok(Target::Ssh(SshAddress { user, host, port: _, socket })) => {
            user.as_deref().is_none_or(is_ssh_user) && (ADDRESS.fits)(host) && (PATH.fits)(socket)
        }
        Ok(Target::Tcp(TcpAddress { host, port: Some(_), tls: Tls::IfConfigured })) => (ADDRESS.fits)(host),
        _ => false,
    }
}

/// A size in bytes: `16g`, `512MiB`, `1073741824`. Units are of 1024, as Docker takes them.
pub fn bytes(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_values_that_shell_or_compose_would_expand() {
        for text in ["$HOME", "`id`", "a\"b", "a\\b", "a\nb", "{{.Node.Hostname}}", "a\0"] {
            assert!(!(VALUE.fits)(text), "{text:?}");
        }
        for text in ["", "=mlx5_0:1,mlx5_1:1", "^docker,lo", "a b", "ü", "it's", "#1"] {
            assert!((VALUE.fits)(text), "{text:?}");
        }
    }

    #[test]
    fn names_are_host_names() {
        for text in ["node1", "gpu-a", "ab"] {
            assert!((NODE.fits)(text), "{text}");
        }
        for text in [
            "",
            "a",
            "10",
            "1a",
            "-oProxyCommand=x",
            "a;b",
            "a b",
            "A1",
            "a_b",
            "ab-",
            "all",
            "localhost",
            "ab\n",
        ] {
            assert!(!(NODE.fits)(text), "{text:?}");
        }
    }

    #[test]
    fn validates_docker_endpoints() {
        for text in [
            "unix:///var/run/docker.sock",
            "ssh://10.0.18.2",
            "ssh://root@gpu2.example.com:2201",
            "ssh://root@[fd00::2]:22/run/user/1000/docker.sock",
            "tcp://10.0.18.2:2376",
            "tcp://10.0.18.2:2376/",
        ] {
            assert!(is_plain(&text.into()), "{text}");
        }
        for text in [
            "",
            "10.0.18.2",
            "http://a:1",
            "https://a:1",
            "ssh://",
            "ssh://-oProxyCommand=id",
            "ssh://-l@host",
            "ssh://a:b@host",
            "ssh://host:0",
            "ssh://host:x",
            "ssh://host/a b",
            "ssh://fd00::1:22",
            "ssh://[fd00::1]x",
            "tcp://host",
            "tcp://root@host:1",
            "tcp://host:1/v1",
            "unix://docker.sock",
            "unix:///a$(id)",
        ] {
            assert!(!is_plain(&text.into()), "{text}");
        }
    }

    #[test]
    fn addresses_and_paths() {
        for text in ["10.0.18.1", "fd00::1", "gpu1", "gpu1.example.com"] {
            assert!((ADDRESS.fits)(text), "{text}");
        }
        for text in ["10.0.18", "10.0.18.256", "a b", "a:22", "root@a", "-a", "a..b", "a;b", ""] {
            assert!(!(ADDRESS.fits)(text), "{text}");
        }
        for text in ["/srv/code", "/", "/daten/größe"] {
            assert!((PATH.fits)(text), "{text}");
        }
        for text in ["code", "./code", "/a/../b", "/a b", "/a:ro", "/a$b", "/a,b", "/a'b"] {
            assert!(!(PATH.fits)(text), "{text}");
        }
    }

    #[test]
    fn parses_byte_sizes() {
        assert_eq!(bytes("16g"), Some(16 << 30));
        assert_eq!(bytes("512 MiB"), Some(512 << 20));
        assert_eq!(bytes("1024"), Some(1024));
        for text in ["", "g", "-1", "1.5g", "16 gigs", "99999999999t"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
