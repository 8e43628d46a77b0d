//! The addresses of this machine.

use std::net::{IpAddr, UdpSocket};

/// Whether this machine has the address (`10.0.0.1`, `::1`): then a socket can be bound to it. Names are not
/// resolved.
pub fn is_own(address: &str) -> bool {
    address.parse::<IpAddr>().is_ok_and(|ip| UdpSocket::bind((ip, 0)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_ours_and_a_documentation_address_is_not() {
        assert!(is_own("127.0.0.1"));
        assert!(!is_own("192.0.2.7") && !is_own("localhost"));
    }
}
