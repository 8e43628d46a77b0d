//! What engines, builders, registries and ssh send, through the readers that are private. The targets in
//! `fuzz/` call this, and nothing else does.

use crate::build;
use crate::printed;
use crate::registry::login;
use crate::transport::{Endpoint, ssh};

/// What a container prints, as frames that arrive in pieces of `size` bytes.
///
/// # Panics
///
/// Where it reads as something else than when it arrives at once, or a piece is longer than the limit.
pub fn printed(bytes: &[u8], size: usize) {
    let whole = printed::of_chunks([bytes].into_iter());
    let cut = printed::of_chunks(bytes.chunks(size.max(1)));
    for error in [false, true] {
        let all = |pieces: &[printed::Printed]| -> Vec<u8> {
            pieces.iter().filter(|piece| piece.error == error).flat_map(|piece| piece.bytes.clone()).collect()
        };
        assert_eq!(all(&whole), all(&cut), "standard error: {error}");
    }
    let longest = whole.iter().chain(&cut).map(|piece| piece.bytes.len()).max();
    assert!(longest.is_none_or(|bytes| bytes <= printed::PIECE_LIMIT_BYTES), "{longest:?}");
}

/// The messages of the classic builder, one JSON object a line.
///
/// # Panics
///
/// Where a line of a step holds a line end.
pub fn build_output(text: &str) {
    build::read_messages(text.lines(), &mut |event| {
        if let build::Event::Output { line, .. } = event {
            assert!(!line.contains(['\n', '\r', '\u{1b}']), "{line:?}");
        }
    });
}

/// The message and the fixes of the error for what ssh left when it ended: its own messages, its standard
/// error, and what the login shell printed, with an empty line between two of them.
pub fn ssh_ended(status: i32, text: &str) -> Vec<String> {
    let endpoint = Endpoint::from("ssh://user@gpu1:22");
    let Some(address) = endpoint.ssh() else { return Vec::new() };
    let parts: Vec<&str> = text.splitn(3, "\n\n").collect();
    let part = |index: usize| parts.get(index).copied().unwrap_or_default();
    let error = ssh::why_ended(address, Some(status), [part(0), part(1), part(2)]);
    [error.message].into_iter().chain(error.fixes.iter().map(diagnostic::Fix::to_string)).collect()
}

/// The address of the token server that a registry names, where it may get a login.
pub fn token_server(registry: &str, challenge: &str) -> Option<String> {
    login::safe_token_server(registry, challenge)
}
