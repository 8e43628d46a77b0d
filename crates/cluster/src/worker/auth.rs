//! How the workers of one run recognize each other, and nobody else.
//!
//! The caller makes a random secret for each run and writes it to the standard input of its workers, which is
//! a pipe, an exec of the engine or an ssh channel: it is in no argument, no environment and no file. The two
//! sides of a TCP connection then prove that they have it (HMAC-SHA-256, RFC 2104, over a nonce of each):
//!
//! ```text
//! connector  nonce mac(hello)
//! listener   nonce mac(answer)      nothing where the first line is not right, or was seen before
//! connector  mac(confirm, claim) claim
//! ```
//!
//! Datagrams carry such a code each. It proves who speaks when a connection begins; what follows is neither
//! encrypted nor authenticated, for the test is of the network's speed.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Failure, Why};

/// The longest line of a handshake, in bytes.
const LINE_LIMIT_BYTES: usize = 400;
/// Hexadecimal digits of the code of a datagram: 128 bits, half of the whole code (RFC 2104, section 5).
pub(crate) const DATAGRAM_MAC_DIGITS: usize = 32;

/// The secret of a run. Its `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    fn random() -> Result<Secret, getrandom::Error> {
        Ok(Secret(random::<32>()?))
    }

    /// A code for some parts; `label` keeps the codes of one purpose from being used for another.
    fn mac(&self, label: &str, parts: &[&str]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(label.as_bytes());
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac)
    }

    /// The code as hexadecimal digits.
    fn sign(&self, label: &str, parts: &[&str]) -> String {
        self.mac(label, parts).map(|mac| hex(&mac.finalize().into_bytes())).unwrap_or_default()
    }

    /// The code of a datagram.
    pub(crate) fn sign_datagram(&self, label: &str, parts: &[&str]) -> String {
        let mut code = self.sign(label, parts);
        code.truncate(DATAGRAM_MAC_DIGITS);
        code
    }

    /// Whether hexadecimal digits are the code, or its first half or more. Takes as long for a wrong one.
    pub(crate) fn verify(&self, label: &str, parts: &[&str], digits: &str) -> bool {
        let (Some(mac), Some(code)) = (self.mac(label, parts), bytes(digits)) else { return false };
        code.len() * 2 >= DATAGRAM_MAC_DIGITS && mac.verify_truncated_left(&code).is_ok()
    }
}

/// The secret that this process gives its workers.
static GIVEN: OnceLock<Secret> = OnceLock::new();
/// The secret that this process, a worker, was given.
static OWN: OnceLock<Secret> = OnceLock::new();

/// The secret of this run, for the workers that it starts.
pub(crate) fn of_this_run() -> Result<Secret, getrandom::Error> {
    match GIVEN.get() {
        Some(secret) => Ok(secret.clone()),
        None => {
            let made = Secret::random()?;
            Ok(GIVEN.get_or_init(|| made).clone())
        }
    }
}

/// Keeps what the caller says; a worker has one caller, and the first word of it counts.
pub(super) fn keep(secret: Secret) {
    let _ = OWN.set(secret);
}

/// The secret that the caller gave this worker.
pub(crate) fn own() -> Result<&'static Secret, Failure> {
    OWN.get().ok_or_else(|| Failure {
        why: Why::NotUnderstood,
        message: "the worker got no secret from its caller, without which it opens no port".into(),
    })
}

/// The greetings that a listener has seen: none counts twice.
#[derive(Default)]
pub(crate) struct Seen(Mutex<HashSet<String>>);

impl Seen {
    /// Whether it is the first time. Only what has the right code is asked about, so that strangers fill
    /// nothing.
    pub(super) fn first(&self, nonce: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(nonce.to_owned())
    }
}

/// Why the other side of a connection is not one of this run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The connection.
    #[error(transparent)]
    Connection(#[from] std::io::Error),
    /// It closed the connection and sent nothing, as a worker does where the secret is wrong.
    #[error("accepted the connection and closed it")]
    Closed,
    /// It has not the secret of this run; what it said, cut.
    #[error("a different process answers: {0:?}")]
    Stranger(String),
}

/// The connector's side: proves that it belongs to this run, has the other side prove it, and says who it is.
pub(crate) async fn prove(stream: &mut TcpStream, secret: &Secret, claim: &str) -> Result<(), Refusal> {
    let own = random::<16>().map_err(std::io::Error::other)?;
    let hello = format!("{own} {}\n", secret.sign("hello", &[&own]));
    stream.write_all(hello.as_bytes()).await?;
    let line = line(stream).await?;
    let answered = line
        .split_once(' ')
        .filter(|(other, code)| other.len() == own.len() && secret.verify("answer", &[&own, other], code));
    let Some((other, _)) = answered else { return Err(Refusal::Stranger(line)) };
    let code = secret.sign("confirm", &[&own, other, claim]);
    Ok(stream.write_all(format!("{code} {claim}\n").as_bytes()).await?)
}

/// The listener's side: who the other side says that it is. Whoever does not belong to this run reads
/// nothing; without a deadline of its own.
pub(crate) async fn admit(stream: &mut TcpStream, secret: &Secret, seen: &Seen) -> Result<String, Refusal> {
    let stranger = |line: &str| Refusal::Stranger(line.chars().take(80).collect());
    let first = line(stream).await?;
    let (other, code) = first.split_once(' ').ok_or_else(|| stranger(&first))?;
    if !secret.verify("hello", &[other], code) || !seen.first(other) {
        return Err(stranger(&first));
    }
    let own = random::<16>().map_err(std::io::Error::other)?;
    let answer = format!("{own} {}\n", secret.sign("answer", &[other, &own]));
    stream.write_all(answer.as_bytes()).await?;
    let last = line(stream).await?;
    match last.split_once(' ') {
        Some((code, claim)) if secret.verify("confirm", &[other, &own, claim], code) => Ok(claim.to_owned()),
        _ => Err(stranger(&last)),
    }
}

/// A line without its end; not a byte more is read.
pub(crate) async fn line(stream: &mut TcpStream) -> Result<String, Refusal> {
    let mut line = Vec::new();
    while line.len() < LINE_LIMIT_BYTES {
        match stream.read_u8().await {
            Ok(b'\n') => break,
            Ok(byte) => line.push(byte),
            Err(_) if line.is_empty() => return Err(Refusal::Closed),
            Err(_) => break,
        }
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// Random bytes as hexadecimal digits.
pub(super) fn random<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(byte).collect())?
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tokio::net::TcpListener;

    pub(crate) fn secret() -> Secret {
        Secret::random().unwrap()
    }

    /// Everything that the other side sends until it closes.
    async fn rest(stream: &mut TcpStream) -> Vec<u8> {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        bytes
    }

    #[tokio::test]
    async fn authenticates_both_sides_and_rejects_strangers_and_replays() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (secret, seen) = (secret(), Seen::default());
        let accepted = async {
            let mut came = Vec::new();
            for _ in 0..5 {
                let (mut stream, _) = listener.accept().await.unwrap();
                came.push(admit(&mut stream, &secret, &seen).await);
            }
            came
        };
        let visits = async {
            // One that has the secret, by hand: what it says first is what an eavesdropper would have.
            let mut stream = TcpStream::connect(address).await.unwrap();
            let own = random::<16>().unwrap();
            let hello = format!("{own} {}\n", secret.sign("hello", &[&own]));
            stream.write_all(hello.as_bytes()).await.unwrap();
            let answer = line(&mut stream).await.unwrap();
            let (other, _) = answer.split_once(' ').unwrap();
            let confirm = format!("{} rank 1\n", secret.sign("confirm", &[&own, other, "rank 1"]));
            stream.write_all(confirm.as_bytes()).await.unwrap();
            // The same again: refused at the first line, and what follows is not read.
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(format!("{hello}{confirm}").as_bytes()).await.unwrap();
            assert_eq!(rest(&mut stream).await, b"", "a replay is answered");
            // A greeting that nobody has seen, and no right proof after it.
            let mut stream = TcpStream::connect(address).await.unwrap();
            let own = random::<16>().unwrap();
            let hello = format!("{own} {}\n{confirm}", secret.sign("hello", &[&own]));
            stream.write_all(hello.as_bytes()).await.unwrap();
            rest(&mut stream).await;
            // Another run, and a scanner.
            let other = Secret::random().unwrap();
            let mut stream = TcpStream::connect(address).await.unwrap();
            let refused = prove(&mut stream, &other, "rank 1").await;
            assert!(matches!(refused, Err(Refusal::Closed)), "{refused:?}");
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"GET / HTTP/1.0\n").await.unwrap();
            assert_eq!(rest(&mut stream).await, b"", "a stranger is answered");
        };
        let (came, ()) = tokio::join!(accepted, visits);
        assert!(matches!(&came[0], Ok(claim) if claim == "rank 1"), "{came:?}");
        assert!(came[1..].iter().all(|came| matches!(came, Err(Refusal::Stranger(_)))), "{came:?}");
    }

    #[tokio::test]
    async fn rejects_a_listener_without_the_secret() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let impostor = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let hello = line(&mut stream).await.unwrap();
            // It sends back what it got, which has a right code of another purpose.
            stream.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
            rest(&mut stream).await
        };
        let secret = secret();
        let asking = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            prove(&mut stream, &secret, "rank 1").await
        };
        let (more, refused) = tokio::join!(impostor, asking);
        assert!(matches!(refused, Err(Refusal::Stranger(_))), "{refused:?}");
        assert_eq!(more, b"", "the claim was sent to an impostor");
    }

    #[test]
    fn signature_is_bound_to_its_parts_and_label() {
        let secret = secret();
        let code = secret.sign("a", &["x", "y"]);
        assert!(secret.verify("a", &["x", "y"], &code));
        assert!(secret.verify("a", &["x", "y"], &secret.sign_datagram("a", &["x", "y"])));
        for (label, parts) in [("b", ["x", "y"]), ("a", ["xy", ""]), ("a", ["", "xy"])] {
            assert!(!secret.verify(label, &parts, &code), "{label} {parts:?}");
        }
        for digits in ["", "00", "zz", &code[..30], &code[1..]] {
            assert!(!secret.verify("a", &["x", "y"], digits), "{digits}");
        }
        assert!(!format!("{secret:?}").contains(&secret.0));
    }
}
