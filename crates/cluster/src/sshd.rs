//! What OpenSSH's server prints. The only file that reads its messages.

/// Why a server does not serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Its port is taken.
    PortInUse,
    /// Other users may read its keys, or write the files that it trusts.
    KeysReadableByOthers,
}

/// Faults in the order in which they are looked for, each with the words that name it.
const FAULTS: &[(&[&str], Fault)] = &[
    (&["Address already in use"], Fault::PortInUse),
    (
        &["UNPROTECTED PRIVATE KEY FILE", "bad permissions", "bad ownership or modes"],
        Fault::KeysReadableByOthers,
    ),
];

/// The fault that its output names.
pub(crate) fn fault(printed: &str) -> Option<Fault> {
    let named = |words: &&[&str]| words.iter().any(|word| printed.contains(word));
    FAULTS.iter().find(|(words, _)| named(words)).map(|(_, fault)| *fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_prints() {
        let taken =
            "Bind to port 2222 on 0.0.0.0 failed: Address already in use.\nCannot bind any address.\n";
        assert_eq!(fault(taken), Some(Fault::PortInUse));
        let modes = "Authentication refused: bad ownership or modes for file /run/envdoc/authorized_keys\n";
        assert_eq!(fault(modes), Some(Fault::KeysReadableByOthers));
        assert_eq!(fault("Server listening on 0.0.0.0 port 2222.\n"), None);
    }
}
