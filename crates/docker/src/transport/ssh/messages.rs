//! What OpenSSH's client prints. The only file that reads its messages.

/// Why ssh ended, as its messages name it, without what differs between machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the host key has changed")]
    HostKeyChanged,
    #[error("the host key is not known")]
    HostKeyUnknown,
    /// Other users may read a private key, so ssh does not use it.
    #[error("the private key is readable by other users")]
    KeyReadableByOthers,
    #[error("Permission denied")]
    LoginDenied,
    #[error("the host name cannot be resolved")]
    NameNotResolved,
    #[error("Connection refused")]
    PortRefused,
    /// The port takes connections and sends no banner.
    #[error("the port accepts connections and sends no SSH banner")]
    NoBanner,
    #[error("Connection timed out")]
    TimedOut,
    #[error("No route to host")]
    NoRoute,
    #[error("Too many authentication failures")]
    TooManyKeys,
    #[error("the server closed the connection at once")]
    ClosedAtOnce,
    #[error("other users may write the SSH configuration")]
    ConfigurationWritable,
}

/// Faults in the order in which they are looked for, each with the words of ssh that name it.
pub(super) const FAULTS: &[(&str, Fault)] = &[
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", Fault::HostKeyChanged),
    ("Host key verification failed", Fault::HostKeyUnknown),
    ("bad permissions", Fault::KeyReadableByOthers),
    ("Permission denied (", Fault::LoginDenied),
    ("Could not resolve hostname", Fault::NameNotResolved),
    ("Connection refused", Fault::PortRefused),
    ("timed out during banner exchange", Fault::NoBanner),
    ("timed out", Fault::TimedOut),
    ("No route to host", Fault::NoRoute),
    ("Too many authentication failures", Fault::TooManyKeys),
    ("kex_exchange_identification", Fault::ClosedAtOnce),
    ("Bad owner or permissions", Fault::ConfigurationWritable),
];

/// How the lines begin that the ssh of a jump host writes about its own connection.
const JUMP_MESSAGES: [&str; 3] = ["ssh: ", "Host key verification failed", "kex_exchange_identification"];
/// How the lines of the frame begin that ssh draws around a warning.
const FRAME: &str = "@@@";
/// Names ssh in lines that say nothing else of who speaks.
const OWN_NAME: &str = "ssh: ";

/// Lines of ssh, without empty ones and without the frame of warnings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Messages<'t>(Vec<&'t str>);

impl<'t> Messages<'t> {
    /// All lines of a text that ssh alone wrote.
    pub fn of(text: &'t str) -> Messages<'t> {
        Messages(lines(text).filter(|line| !line.starts_with(FRAME)).collect())
    }

    /// The lines that the ssh of a jump host wrote, of a text in which others wrote too.
    pub fn of_jump_host(text: &'t str) -> Messages<'t> {
        Messages(
            lines(text).filter(|line| JUMP_MESSAGES.iter().any(|words| line.starts_with(words))).collect(),
        )
    }

    /// The fault that comes first in the order of [`FAULTS`], with the line that names it.
    pub fn fault(&self) -> Option<(Fault, &'t str)> {
        FAULTS.iter().find_map(|(words, fault)| Some((*fault, self.with(words)?)))
    }

    /// The last `count` lines.
    pub fn last(&self, count: usize) -> &[&'t str] {
        &self.0[self.0.len().saturating_sub(count)..]
    }

    /// Where the key is that a changed host key was compared with.
    pub fn offending_key(&self) -> Option<&'t str> {
        self.with("Offending")
    }

    /// The fingerprint of the key that the server showed.
    pub fn fingerprint(&self) -> Option<&'t str> {
        self.with("SHA256:").map(|line| line.trim_end_matches('.'))
    }

    /// That no host key of the server is known.
    pub fn no_known_key(&self) -> Option<&'t str> {
        self.with("host key is known for")
    }

    fn with(&self, words: &str) -> Option<&'t str> {
        self.0.iter().copied().find(|line| line.contains(words))
    }
}

/// What ssh said last about a socket that it could not forward.
pub fn forwarding_failure(log: &str) -> Option<&str> {
    log.lines().rfind(|line| line.contains("open failed")).map(str::trim)
}

/// A line without ssh's name before it.
pub fn without_name(line: &str) -> &str {
    line.trim_start_matches(OWN_NAME)
}

/// The last line of a text that is not empty, of whomever it is.
pub fn last_line(text: &str) -> Option<&str> {
    lines(text).last()
}

fn lines(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fault_that_explains_the_others_comes_first() {
        let text = "@@@@@@@@@\r\n@ WARNING: UNPROTECTED PRIVATE KEY FILE! @\r\n\
            Load key \"/root/.ssh/id_ed25519\": bad permissions\r\n\
            root@node2: Permission denied (publickey).\r\n";
        let messages = Messages::of(text);
        assert_eq!(
            messages.fault(),
            Some((Fault::KeyReadableByOthers, "Load key \"/root/.ssh/id_ed25519\": bad permissions"))
        );
        assert_eq!(messages.last(1), ["root@node2: Permission denied (publickey)."]);
        assert_eq!(messages.last(9).len(), 3);
        assert_eq!(Messages::of("Connection closed by UNKNOWN port 65535\n").fault(), None);
    }

    #[test]
    fn lines_of_a_jump_host_are_told_from_those_of_others() {
        let text =
            "Permission denied (to strangers)\nssh: connect to host jump port 22: Connection refused\n";
        let (fault, line) = Messages::of_jump_host(text).fault().unwrap();
        assert_eq!(fault, Fault::PortRefused);
        assert_eq!(without_name(line), "connect to host jump port 22: Connection refused");
        assert_eq!(last_line("a\n b \n\n"), Some("b"));
        assert_eq!(last_line(" \n"), None);
    }
}
