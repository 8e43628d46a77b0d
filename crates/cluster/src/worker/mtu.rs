//! The largest packet that arrives whole, by trying.

use std::time::Duration;

use super::auth::Secret;
use super::udp::{Line, PACKET_MIN_BYTES};
use super::{Answer, Failure, Why};

/// How often a size is tried before it counts as lost.
const ATTEMPTS_PER_SIZE: u32 = 3;
/// The longest that an acknowledgement may take. The first, over a path that nothing is known of, is waited
/// for longer.
const ACK_TIMEOUT: Duration = Duration::from_millis(250);
const FIRST_ACK_TIMEOUT: Duration = Duration::from_millis(700);

enum Tried {
    Arrived,
    Lost,
    Refused,
}

pub(super) async fn search(
    address: &str,
    port: u16,
    largest: u32,
    secret: &Secret,
) -> Result<Answer, Failure> {
    let line = Line::open(address, port, true, secret).await?;
    let largest = largest.clamp(PACKET_MIN_BYTES, 65_535);
    let (mut arrives, mut lost, mut refused) = (0, None, None);
    if !matches!(attempt(&line, PACKET_MIN_BYTES, FIRST_ACK_TIMEOUT).await?, Tried::Arrived) {
        return Ok(Answer::PathMtu { bytes: 0, lost: Some(PACKET_MIN_BYTES), refused: None });
    }
    let (mut low, mut high) = (PACKET_MIN_BYTES, largest);
    // What should arrive is tried first: most of the time it does.
    let mut next = largest;
    while low <= high {
        match attempt(&line, next, ACK_TIMEOUT).await? {
            Tried::Arrived => {
                arrives = next;
                low = next + 1;
            }
            Tried::Lost => {
                lost = Some(next);
                high = next - 1;
            }
            Tried::Refused => {
                refused = Some(next);
                high = next - 1;
            }
        }
        next = low + (high.saturating_sub(low)) / 2;
    }
    Ok(Answer::PathMtu { bytes: arrives, lost, refused })
}

async fn attempt(line: &Line<'_>, size: u32, wait: Duration) -> Result<Tried, Failure> {
    for _ in 0..ATTEMPTS_PER_SIZE {
        match line.once(size, wait).await {
            Ok(Some(_)) => return Ok(Tried::Arrived),
            Ok(None) => {}
            Err(Failure { why: Why::TooLarge, .. }) => return Ok(Tried::Refused),
            Err(failure) => return Err(failure),
        }
    }
    Ok(Tried::Lost)
}
