//! One question to one DNS server (RFC 1035), whatever this machine's resolver is set to.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::{Answer, Failure, Why, udp};

const PORT: u16 = 53;
/// Bytes of a message before its question.
const HEADER_BYTES: usize = 12;
/// Record type and class of an IPv4 address.
const TYPE_A: u16 = 1;
const CLASS_IN: u16 = 1;
/// "Recursion desired".
const FLAGS: u16 = 0x0100;

/// What a server says of a question, in addition to its answers: RCODE in RFC 1035, section 4.1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    NoError,
    NxDomain,
    ServFail,
    Refused,
    Other(u8),
}

impl Code {
    fn of(flags: u16) -> Code {
        match (flags & 0xf) as u8 {
            0 => Code::NoError,
            2 => Code::ServFail,
            3 => Code::NxDomain,
            5 => Code::Refused,
            other => Code::Other(other),
        }
    }

    /// Why there is no address.
    fn failure(self, server: IpAddr, name: &str) -> Failure {
        let (why, message) = match self {
            Code::NoError => (Why::UnknownName, format!("{server} has no address for {name}")),
            Code::NxDomain => (Why::UnknownName, format!("{server} does not know {name} (NXDOMAIN)")),
            Code::ServFail => (
                Why::NameServer,
                format!("{server} could not look {name} up (SERVFAIL): its own servers fail"),
            ),
            Code::Refused => {
                (Why::NameServer, format!("{server} refuses to answer for {name} from here (REFUSED)"))
            }
            Code::Other(code) => (Why::NameServer, format!("{server} answers for {name} with RCODE {code}")),
        };
        Failure { why, message }
    }
}

/// The IPv4 addresses that a server gives for a name; [`Why::UnknownName`] where it answers without one,
/// [`Why::NameServer`] where it cannot or will not say.
pub(super) async fn resolve(name: &str, server: IpAddr) -> Result<Answer, Failure> {
    let number = std::process::id() as u16;
    let question = question(number, name);
    let answer = udp::exchange(SocketAddr::new(server, PORT), &question).await?;
    let (code, addresses) = addresses(&answer, number).ok_or_else(|| Failure {
        why: Why::NotUnderstood,
        message: format!("{server} sent no valid DNS answer"),
    })?;
    match addresses.is_empty() {
        false => Ok(Answer::Resolved { addresses }),
        true => Err(code.failure(server, name)),
    }
}

fn question(number: u16, name: &str) -> Vec<u8> {
    let mut message = Vec::new();
    for word in [number, FLAGS, 1, 0, 0, 0] {
        message.extend(word.to_be_bytes());
    }
    for label in name.split('.').filter(|label| !label.is_empty() && label.len() < 64) {
        message.push(label.len() as u8);
        message.extend(label.as_bytes());
    }
    message.push(0);
    message.extend(TYPE_A.to_be_bytes());
    message.extend(CLASS_IN.to_be_bytes());
    message
}

/// Of an answer to the question of this number; `None` where it is none.
pub(crate) fn addresses(message: &[u8], number: u16) -> Option<(Code, Vec<IpAddr>)> {
    let word = |at: usize| Some(u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]));
    let flags = word(2)?;
    let is_answer = flags & 0x8000 != 0;
    if word(0)? != number || !is_answer {
        return None;
    }
    let (questions, answers) = (word(4)?, word(6)?);
    let mut at = HEADER_BYTES;
    for _ in 0..questions {
        at = after_name(message, at)? + 4;
    }
    let mut found = Vec::new();
    for _ in 0..answers {
        at = after_name(message, at)?;
        let (kind, length) = (word(at)?, usize::from(word(at + 8)?));
        let data = message.get(at + 10..at + 10 + length)?;
        if kind == TYPE_A
            && let Ok(bytes) = <[u8; 4]>::try_from(data)
        {
            found.push(IpAddr::V4(Ipv4Addr::from(bytes)));
        }
        at += 10 + length;
    }
    Some((Code::of(flags), found))
}

/// Where a name ends: after its last label, or after the pointer in its place.
fn after_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length if length >= 0xc0 => return Some(at + 2),
            length => at += 1 + usize::from(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_dns_queries_and_parses_responses() {
        let asked = question(7, "node1");
        assert_eq!(asked[12..], *b"\x05node1\0\0\x01\0\x01");
        let mut answer = asked.clone();
        (answer[2], answer[7]) = (0x81, 1);
        answer.extend(b"\xc0\x0c\0\x01\0\x01\0\0\x02\x58\0\x04\x0a\0\x01\x06");
        assert_eq!(addresses(&answer, 7), Some((Code::NoError, vec!["10.0.1.6".parse().unwrap()])));
        assert_eq!(addresses(&answer, 8), None);
        assert_eq!(addresses(&asked, 7), None);
        for length in 0..answer.len() {
            let found = addresses(&answer[..length], 7).map(|(_, found)| found);
            assert_eq!(found.unwrap_or_default(), Vec::<IpAddr>::new());
        }
    }

    #[test]
    fn explains_dns_response_codes() {
        let server = "10.0.0.2".parse().unwrap();
        let cases = [
            (0, Why::UnknownName, "has no address for node1"),
            (2, Why::NameServer, "SERVFAIL"),
            (3, Why::UnknownName, "NXDOMAIN"),
            (5, Why::NameServer, "REFUSED"),
            (9, Why::NameServer, "RCODE 9"),
        ];
        for (code, why, expected) in cases {
            let mut message = question(7, "node1");
            (message[2], message[3]) = (0x81, code);
            let (code, found) = addresses(&message, 7).unwrap();
            assert!(found.is_empty());
            let failure = code.failure(server, "node1");
            assert!(failure.why == why && failure.message.contains(expected), "{failure:?}");
        }
    }
}
