//! The kernel log, as a log among the others.

use super::Read;
use super::blocks::{Blocks, LIMITS};
use catalog::Catalog;
use facts::Fact;

/// The log of a machine; each line gets `prefix`. A log that could not be read is [`Read::unread`].
pub fn read(catalog: &'static Catalog, name: String, prefix: &str, log: Fact<String>) -> Read {
    match log {
        Fact::Known(log) => lines(catalog, &name, prefix, &log),
        Fact::Absent => Read::missing(name, "not found"),
        Fact::Unknown(why) => Read::missing(name, &why.detail),
    }
}

fn lines(catalog: &'static Catalog, name: &str, prefix: &str, log: &str) -> Read {
    let mut blocks = Blocks::new(catalog, name, LIMITS);
    log.lines().for_each(|line| blocks.feed(format!("{prefix}{}\n", record(line)).as_bytes()));
    blocks.end()
}

/// Converts a /dev/kmsg record (`4,1234,12345678,-;words`) to dmesg format (`[12.345678] words`).
/// Other lines are kept.
fn record(line: &str) -> String {
    let shown = || {
        let (fields, words) = line.split_once(';')?;
        let mut fields = fields.split(',');
        let (_, _) = (fields.next()?.parse::<u32>().ok()?, fields.next()?.parse::<u64>().ok()?);
        let time = fields.next()?.parse::<u64>().ok()?;
        Some(format!("[{:5}.{:06}] {words}", time / 1_000_000, time % 1_000_000))
    };
    shown().unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_kmsg_records_to_dmesg_lines() {
        let raw = "4,1234,12345678,-;NVRM: Xid (PCI:0000:38:00): 79, GPU has fallen off the bus.";
        assert_eq!(record(raw), "[   12.345678] NVRM: Xid (PCI:0000:38:00): 79, GPU has fallen off the bus.");
        for line in
            [" SUBSYSTEM=pci", "[   12.345678] words; more", "2026-03-01T10:00:00+0000 gpu1 kernel: words"]
        {
            assert_eq!(record(line), line);
        }
    }

    #[test]
    fn unreadable_kernel_log_is_reported_as_unread() {
        let read =
            |name: &str, prefix: &str, log| read(catalog::testing::catalog(), name.into(), prefix, log);
        let denied = read("kernel log", "", Fact::unknown("permission denied"));
        assert_eq!(denied.unread.as_deref(), Some("permission denied"));
        assert!(read("kernel log", "", Fact::Absent).unread.is_some());
        assert_eq!(read("kernel log", "node1  | ", Fact::Known("a\nb\n".into())).lines, 2);
    }
}
