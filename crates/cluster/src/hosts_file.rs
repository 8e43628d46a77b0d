//! What this machine's `/etc/hosts` says of a node that it cannot reach: ssh shows the name alone, and a
//! wrong line sends it to another machine.

use std::net::IpAddr;
use std::path::Path;

use crate::plan::Node;
use docker::transport::ConnectCause;
use docker::transport::ssh::messages::Fault;
use host::file;

const PATH: &str = "/etc/hosts";

/// The line that decides which machine a name means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Counted from 1.
    number: usize,
    address: IpAddr,
}

/// Where the address of a node comes from that cannot be reached, if `/etc/hosts` gives one to its name.
pub(crate) fn explanation(node: &Node, cause: Option<ConnectCause>) -> Option<String> {
    if !depends_on_address(cause?) {
        return None;
    }
    let host = &node.engine.ssh()?.host;
    let line = line_of(&file::text_of(Path::new(PATH)).ok()?, host)?;
    Some(sentence(&line, host, &node.address))
}

/// Whether another machine than the one that was meant would show this too.
fn depends_on_address(cause: ConnectCause) -> bool {
    match cause {
        ConnectCause::SshTimedOut => true,
        ConnectCause::Ssh(fault) => matches!(
            fault,
            Fault::NoRoute
                | Fault::TimedOut
                | Fault::PortRefused
                | Fault::NoBanner
                | Fault::HostKeyChanged
                | Fault::HostKeyUnknown
                | Fault::LoginDenied
        ),
        _ => false,
    }
}

/// The first line that names the host, as the resolver takes it.
pub(crate) fn line_of(text: &str, host: &str) -> Option<Line> {
    text.lines().zip(1..).find_map(|(line, number)| {
        let line = line.split('#').next().unwrap_or_default();
        let (address, names) = line.trim_start().split_once(char::is_whitespace)?;
        names
            .split_whitespace()
            .any(|name| name.eq_ignore_ascii_case(host))
            .then(|| Some(Line { number, address: address.parse().ok()? }))?
    })
}

/// `given`: the node's address in cluster.yaml, which may be its name.
fn sentence(line: &Line, host: &str, given: &str) -> String {
    let Line { number, address } = line;
    let other = given.parse::<IpAddr>().ok().filter(|given| given != address);
    let other = other.map_or(String::new(), |given| format!(", but cluster.yaml gives the node {given}"));
    format!("line {number} of {PATH} on this machine gives {host} the address {address}{other}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "127.0.0.1 localhost\n# 10.77.10.1 node2\n\n10.77.10.99\tNode2 db # moved\n\
        10.77.10.2 node2\nbroken\nfe80::1%eth0 node3\n";

    #[test]
    fn the_first_line_that_names_the_host_decides() {
        let line = line_of(TEXT, "node2").unwrap();
        assert_eq!(line, Line { number: 4, address: [10, 77, 10, 99].into() });
        for unnamed in ["node1", "moved", "node3", "broken"] {
            assert_eq!(line_of(TEXT, unnamed), None, "{unnamed}");
        }
        let start = "line 4 of /etc/hosts on this machine gives node2 the address 10.77.10.99";
        assert_eq!(sentence(&line, "node2", "node2"), start);
        assert_eq!(sentence(&line, "node2", "10.77.10.99"), start);
        let differs = format!("{start}, but cluster.yaml gives the node 10.77.10.2");
        assert_eq!(sentence(&line, "node2", "10.77.10.2"), differs);
    }

    #[test]
    fn a_fault_of_the_engine_itself_is_not_one_of_the_address() {
        assert!(depends_on_address(ConnectCause::Ssh(Fault::NoRoute)));
        assert!(!depends_on_address(ConnectCause::Ssh(Fault::NameNotResolved)));
        assert!(!depends_on_address(ConnectCause::Denied));
    }
}
