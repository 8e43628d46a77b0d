//! The largest packet that arrives whole, by trying.

use std::time::{Duration, Instant};

use super::auth::Secret;
use super::udp::{Line, PACKET_MIN_BYTES};
use super::{Answer, Failure, Why};

/// Packets of one size that are sent at once, try by try, until one is acknowledged: most often the first is.
/// Where packets get lost at random, 4 of 10 each way, all 26 of them and their answers are lost once in
/// 100,000 sizes.
const BURSTS: [u32; 4] = [1, 3, 8, 14];
/// The longest that an acknowledgement of the last burst may take, and of those before: so many round trips,
/// within limits. The first, over a path that nothing is known of, is waited for longer.
const ACK_TIMEOUT: Duration = Duration::from_millis(250);
const ACK_TIMEOUT_MIN: Duration = Duration::from_millis(50);
const ACK_ROUND_TRIPS: u32 = 10;
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
    let (mut arrives, mut lost, mut refused) = (PACKET_MIN_BYTES, None, None);
    // Without the smallest there is no size to speak of.
    let first = Instant::now();
    if !matches!(attempt(&line, PACKET_MIN_BYTES, FIRST_ACK_TIMEOUT).await?, Tried::Arrived) {
        let message = format!("no packet of {PACKET_MIN_BYTES} bytes was acknowledged");
        return Err(Failure { why: Why::TimedOut, message });
    }
    let usual = (first.elapsed() * ACK_ROUND_TRIPS).clamp(ACK_TIMEOUT_MIN, ACK_TIMEOUT);
    let (mut low, mut high) = (PACKET_MIN_BYTES, largest);
    // What should arrive is tried first: most of the time it does.
    let mut next = largest;
    while low <= high {
        match attempt(&line, next, usual).await? {
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
    let mut numbers = Vec::new();
    for (turn, count) in BURSTS.into_iter().enumerate() {
        let wait = if turn + 1 == BURSTS.len() { wait.max(ACK_TIMEOUT) } else { wait };
        match line.burst(size, &mut numbers, count, wait).await {
            Ok(Some(_)) => return Ok(Tried::Arrived),
            Ok(None) => {}
            Err(Failure { why: Why::TooLarge, .. }) => return Ok(Tried::Refused),
            Err(failure) => return Err(failure),
        }
    }
    Ok(Tried::Lost)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::net::UdpSocket;

    use super::super::auth;
    use super::super::udp::acknowledgement;
    use super::*;

    /// A listener that answers packets up to a size, and of those only every fifth.
    async fn lossy(limit: usize, secret: &Secret) -> u16 {
        let secret = secret.clone();
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = socket.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (count, mut buffer) = (AtomicU32::new(0), vec![0; 65_535]);
            loop {
                let (size, from) = socket.recv_from(&mut buffer).await.unwrap();
                if size > limit || !count.fetch_add(1, Ordering::Relaxed).is_multiple_of(5) {
                    continue;
                }
                let number = std::str::from_utf8(&buffer[8..40]).unwrap();
                let answer = acknowledgement(size, number, "somebody", &secret);
                socket.send_to(answer.as_bytes(), from).await.unwrap();
            }
        });
        port
    }

    #[tokio::test]
    async fn packet_loss_does_not_reduce_the_path_mtu() {
        let secret = auth::tests::secret();
        let port = lossy(65_535, &secret).await;
        let answer = search("127.0.0.1", port, 1450, &secret).await.unwrap();
        assert_eq!(answer, Answer::PathMtu { bytes: 1450, lost: None, refused: None });
        // 28 bytes are headers.
        let port = lossy(1372, &secret).await;
        let answer = search("127.0.0.1", port, 1450, &secret).await.unwrap();
        assert_eq!(answer, Answer::PathMtu { bytes: 1400, lost: Some(1401), refused: None });
    }

    #[tokio::test]
    async fn path_mtu_times_out_without_acknowledgements() {
        let secret = auth::tests::secret();
        let port = lossy(0, &secret).await;
        let answer = search("127.0.0.1", port, 1450, &secret).await;
        assert!(matches!(answer, Err(Failure { why: Why::TimedOut, .. })), "{answer:?}");
    }
}
