//! `/proc/PID/stat`: what the kernel counts of a process, on one line (proc_pid_stat(5)).

/// The line of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat<'t> {
    /// The process ID.
    pub id: u32,
    /// The name of its program, which may hold spaces and brackets itself.
    pub name: &'t str,
    /// The fields from the third on.
    fields: Vec<&'t str>,
}

impl<'t> ProcessStat<'t> {
    /// Reads the line; `None` where it is not one.
    pub fn parse(line: &'t str) -> Option<ProcessStat<'t>> {
        let (id, rest) = line.split_once(" (")?;
        let (name, fields) = rest.rsplit_once(") ")?;
        Some(ProcessStat { id: id.trim().parse().ok()?, name, fields: fields.split_whitespace().collect() })
    }

    /// A field by its number in proc_pid_stat(5), from 3.
    pub fn field(&self, number: usize) -> Option<&'t str> {
        self.fields.get(number.checked_sub(3)?).copied()
    }

    /// `R`, `S`, `D`, `T`, `Z`, …
    pub fn state(&self) -> Option<char> {
        self.field(3)?.chars().next()
    }

    /// The process ID of its parent.
    pub fn parent(&self) -> Option<u32> {
        self.field(4)?.parse().ok()
    }

    /// Clock ticks for which it and its children that have ended ran, in user mode and in the kernel.
    pub fn ticks(&self) -> Option<u64> {
        let parts: Option<Vec<u64>> = (14..=17).map(|number| self.field(number)?.parse().ok()).collect();
        Some(parts?.into_iter().fold(0, u64::saturating_add))
    }

    /// Clock ticks from the boot of the machine to its start.
    pub fn started(&self) -> Option<u64> {
        self.field(22)?.parse().ok()
    }

    /// Bytes of its virtual memory: 0 after its end, and for threads of the kernel.
    pub fn memory(&self) -> Option<u64> {
        self.field(23)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_may_hold_anything() {
        let line = "40 (ld-linux (x) y) T 7 40 40 0 -1 0 0 0 0 0 5 6 7 8 20 0 1 0 1000 4096 9\n";
        let stat = ProcessStat::parse(line).unwrap();
        assert_eq!(
            (stat.id, stat.name, stat.state(), stat.parent()),
            (40, "ld-linux (x) y", Some('T'), Some(7))
        );
        assert_eq!((stat.ticks(), stat.started(), stat.memory()), (Some(26), Some(1000), Some(4096)));
    }

    #[test]
    fn short_lines_have_no_fields() {
        let stat = ProcessStat::parse("1 (a) S").unwrap();
        assert_eq!(
            (stat.state(), stat.parent(), stat.ticks(), stat.started()),
            (Some('S'), None, None, None)
        );
        assert_eq!(["", "1", "x (a) S 1", "1 (a"].map(ProcessStat::parse), [None, None, None, None]);
        assert_eq!(stat.field(2), None);
    }
}
