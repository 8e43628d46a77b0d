//! Whether a question would start the engine.

use host::{Host, Stat};

use super::{Endpoint, Fact};
use crate::IntoFact;

/// The reason when asking would start the engine.
pub(crate) const IDLE: &str = "the engine is stopped; connecting would start it (docker.socket)";

/// Whether the engine is stopped and a question would start it.
pub(super) struct Idle {
    pub(super) known: Fact<bool>,
    /// A question might start the engine, so that none may be asked while this is unknown.
    pub(super) may_start: bool,
}

/// systemd listens on the socket in the engine's place, and starts it at the first connection.
pub(super) fn idle(
    host: &dyn Host,
    asked: &Fact<Endpoint>,
    socket: &Fact<Stat>,
    running: &Fact<Vec<String>>,
) -> Idle {
    let certain = |known| Idle { known, may_start: false };
    let path = asked.known().and_then(Endpoint::socket);
    let default = path.is_some_and(|path| path == "/var/run/docker.sock" || path == "/run/docker.sock");
    match (socket, running) {
        (Fact::Known(_), Fact::Absent | Fact::Unknown(_)) if default => {}
        (Fact::Unknown(why), _) => return certain(Fact::Unknown(why.clone())),
        _ => return certain(Fact::Known(false)),
    }
    let exists = |path: &str| host.stat(path).json::<Stat>().map(|_| true).absent_as(false);
    // A daemon with a pid file of its own is found by its control group.
    let signs = [
        ("/run/systemd/system", true),
        ("/lib/systemd/system/docker.socket", true),
        ("/sys/fs/cgroup/system.slice/docker.service", false),
        ("/sys/fs/cgroup/systemd/system.slice/docker.service", false),
    ];
    for (path, wanted) in signs {
        match exists(path) {
            Fact::Known(there) if there == wanted => {}
            Fact::Known(_) => return certain(Fact::Known(false)),
            other => return certain(other),
        }
    }
    let path = socket.known().map_or("", |socket| socket.path.as_str());
    let known = match (listened_to(host, path), running) {
        // Systemd listens, or an engine that could not be looked for.
        (Fact::Known(true), Fact::Unknown(why)) => Fact::Unknown(why.clone()),
        (listened, _) => listened,
    };
    Idle { known, may_start: true }
}

/// Whether somebody listens on a socket: its file stays when the engine and `docker.socket` are both stopped.
///
/// ```text
/// Num       RefCount Protocol Flags    Type St Inode Path
/// 0000000000000000: 00000002 00000000 00010000 0001 01 24519 /run/docker.sock
/// ```
///
/// Flag 0x10000 (`__SO_ACCEPTCON`) marks those that listen.
fn listened_to(host: &dyn Host, socket: &str) -> Fact<bool> {
    let listens = |line: &str| {
        let mut words = line.split_whitespace();
        words.nth(3) == Some("00010000")
            && words.last().is_some_and(|path| path == socket || path == "/var/run/docker.sock")
    };
    let all = host.read("/proc/net/unix").text().must_exist("/proc/net/unix").about("docker.socket");
    all.map(|all| all.lines().any(listens))
}
