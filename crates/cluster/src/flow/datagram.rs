//! What a numbered datagram looks like: a fixed beginning, its flow, its number, and a code by which only the
//! workers of this run can have made it. A copy of one is a duplicate, whoever made the copy.

use super::FLOW_LENGTH;
use crate::worker::auth::{DATAGRAM_MAC_DIGITS, Secret};

/// Begins each datagram; flow, number and code follow.
pub(crate) const BEGINNING: &[u8] = b"envdoc# ";
/// Bytes of a datagram: small, so that its size is no reason to lose it.
const DATAGRAM_BYTES: usize = 172;
/// Bytes of a number.
const NUMBER_BYTES: usize = 4;

/// A datagram.
pub(crate) fn write(flow: &str, number: u32, secret: &Secret) -> Vec<u8> {
    let mut datagram = BEGINNING.to_vec();
    datagram.extend_from_slice(flow.as_bytes());
    datagram.extend_from_slice(&number.to_be_bytes());
    datagram.extend_from_slice(secret.sign_datagram("numbered", &[flow, &number.to_string()]).as_bytes());
    datagram.resize(DATAGRAM_BYTES, b'.');
    datagram
}

/// The flow and the number of a datagram of this run.
pub(crate) fn read<'d>(datagram: &'d [u8], secret: &Secret) -> Option<(&'d str, u32)> {
    let rest = datagram.strip_prefix(BEGINNING)?;
    let flow = std::str::from_utf8(rest.get(..FLOW_LENGTH)?).ok()?;
    let (number, rest) = rest.get(FLOW_LENGTH..)?.split_at_checked(NUMBER_BYTES)?;
    let number = u32::from_be_bytes(number.try_into().ok()?);
    let code = std::str::from_utf8(rest.get(..DATAGRAM_MAC_DIGITS)?).ok()?;
    secret.verify("numbered", &[flow, &number.to_string()], code).then_some((flow, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::auth;

    const FLOW: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_datagram_is_read_as_it_was_written() {
        let secret = auth::tests::secret();
        let datagram = write(FLOW, 70_000, &secret);
        assert_eq!(read(&datagram, &secret), Some((FLOW, 70_000)));
        for length in 0..BEGINNING.len() + FLOW_LENGTH + NUMBER_BYTES + DATAGRAM_MAC_DIGITS {
            assert_eq!(read(&datagram[..length], &secret), None);
        }
    }

    #[test]
    fn nobody_without_the_secret_makes_or_changes_one() {
        let secret = auth::tests::secret();
        assert_eq!(read(&write(FLOW, 1, &auth::tests::secret()), &secret), None);
        let datagram = write(FLOW, 1, &secret);
        for at in BEGINNING.len()..BEGINNING.len() + FLOW_LENGTH + NUMBER_BYTES + DATAGRAM_MAC_DIGITS {
            let mut changed = datagram.clone();
            changed[at] ^= 1;
            assert_eq!(read(&changed, &secret), None, "byte {at}");
        }
    }
}
