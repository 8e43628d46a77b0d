//! Programs of services that systemd starts.

use host::{Host, Stat};

use crate::{Fact, IntoFact};

/// The PATH that systemd gives a service on Debian and Fedora.
pub const SERVICE_PATH: &[&str] =
    &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The path of a program in [`SERVICE_PATH`].
pub(crate) fn in_service_path(host: &dyn Host, name: &str) -> Fact<String> {
    let mut unknown = None;
    for dir in SERVICE_PATH {
        let path = format!("{dir}/{name}");
        match host.stat(&path).json::<Stat>() {
            Fact::Known(_) => return Fact::Known(path),
            Fact::Absent => {}
            Fact::Unknown(why) => unknown = Some(why),
        }
    }
    unknown.map_or(Fact::Absent, Fact::Unknown)
}
