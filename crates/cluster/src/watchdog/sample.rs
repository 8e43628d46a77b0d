//! What the ranks of a job on one node do now: one look at their processes from inside the container.

use std::collections::BTreeMap;

use host::process_stat::ProcessStat;

/// Prints /proc/net/dev, an empty line, then a line for each process of the job that belongs to a rank:
/// RANK, the kernel function that it sleeps in, its `io` on one line, its `stat`; with tabs between them.
/// `$1`: the job.
pub(super) const SCRIPT: &str = r#"
cat /proc/net/dev
echo
for pid in $(grep -lszx "ENVDOC_JOB=$1" /proc/[0-9]*/environ | cut -d/ -f3); do
    read -r stat 2>/dev/null <"/proc/$pid/stat" || continue
    rank=$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | sed -n 's/^RANK=//p')
    [ -n "$rank" ] || continue
    printf '%s\t%s\t%s\t%s\n' "$rank" "$(cat "/proc/$pid/wchan" 2>/dev/null)" \
        "$(tr '\n' ' ' 2>/dev/null <"/proc/$pid/io")" "$stat"
done
"#;

/// A rank with its child processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rank {
    /// The process id of its first process, in the container.
    pub id: u32,
    /// The state of that process, as in /proc/PID/stat: `S`, `T`, `D`.
    pub state: char,
    /// The kernel function that it sleeps in; `None` where the kernel does not show it.
    pub sleeps_in: Option<String>,
    /// CPU time of all of its processes, in ticks (1/100 s).
    pub cpu: u64,
    /// Bytes that they read and wrote.
    pub bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Bytes that the container's interfaces sent and received, but for the loopback one.
    pub network: u64,
    /// Its ranks by number.
    pub ranks: BTreeMap<u32, Rank>,
}

struct Process {
    rank: u32,
    parent: u32,
    of: Rank,
}

impl Sample {
    /// From what [`SCRIPT`] printed.
    pub(crate) fn parse(printed: &str) -> Sample {
        let (network, processes) = printed.split_once("\n\n").unwrap_or((printed, ""));
        let processes: Vec<Process> = processes.lines().filter_map(process).collect();
        let mut ranks: BTreeMap<u32, Rank> = BTreeMap::new();
        for first in processes.iter().filter(|one| !is_child(one, &processes)) {
            let own = processes.iter().filter(|other| other.rank == first.rank);
            let (cpu, bytes) = own.fold((0_u64, 0_u64), |(cpu, bytes), one| {
                (cpu.saturating_add(one.of.cpu), bytes.saturating_add(one.of.bytes))
            });
            ranks.entry(first.rank).or_insert(Rank { cpu, bytes, ..first.of.clone() });
        }
        Sample { network: sum(network.lines().filter_map(traffic)), ranks }
    }
}

/// Whether its parent belongs to the same rank: a data loader, a compiler.
fn is_child(one: &Process, all: &[Process]) -> bool {
    all.iter().any(|other| other.of.id == one.parent && other.rank == one.rank)
}

/// A line of /proc/net/dev: received bytes are in the first column, sent bytes in the ninth.
fn traffic(line: &str) -> Option<u64> {
    let (name, columns) = line.split_once(':')?;
    let columns: Vec<u64> = columns.split_whitespace().map_while(|text| text.parse().ok()).collect();
    (name.trim() != "lo").then_some(columns.first()?.saturating_add(*columns.get(8)?))
}

/// What a container prints may be any number.
fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn process(line: &str) -> Option<Process> {
    let mut parts = line.splitn(4, '\t');
    let (rank, sleeps_in, io, stat) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let stat = ProcessStat::parse(stat)?;
    let words: Vec<&str> = io.split_whitespace().collect();
    let moved = words.windows(2).filter(|pair| matches!(pair[0], "rchar:" | "wchar:"));
    let of = Rank {
        id: stat.id,
        state: stat.state()?,
        // `0`: it runs, or the kernel keeps it to itself.
        sleeps_in: Some(sleeps_in.to_owned()).filter(|name| !name.is_empty() && name != "0"),
        cpu: stat.ticks()?,
        bytes: sum(moved.filter_map(|pair| pair[1].parse::<u64>().ok())),
    };
    Some(Process { rank: rank.parse().ok()?, parent: stat.parent()?, of })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_its_first_process_with_its_children() {
        let printed = "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes\n    \
            lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n  \
            eth0: 1000 1 0 0 0 0 0 0 50 1 0 0 0 0 0 0\n\n\
            1\tfutex_wait_queue\trchar: 10 wchar: 5 syscr: 7 \t40 (python3 (a) b) \
            S 30 40 1 0 -1 0 0 0 0 0 100 20 3 4 20 0\n\
            1\t0\trchar: 1 wchar: 0 \t41 (loader) R 40 40 1 0 -1 0 0 0 0 0 7 0 0 0 20 0\n\
            no line\n";
        let sample = Sample::parse(printed);
        assert_eq!(sample.network, 1050);
        let rank =
            Rank { id: 40, state: 'S', sleeps_in: Some("futex_wait_queue".into()), cpu: 134, bytes: 16 };
        assert_eq!(sample.ranks, BTreeMap::from([(1, rank)]));
    }

    #[test]
    fn numbers_of_a_container_are_added_without_overflow() {
        let most = u64::MAX;
        let printed = format!(
            "eth0: {most} 0 0 0 0 0 0 0 {most} 0\neth1: 1 0 0 0 0 0 0 0 1 0\n\n\
             1\t0\trchar: {most} wchar: {most} \t40 (a) S 30 40 1 0 -1 0 0 0 0 0 {most} {most} 3 4 20 0\n\
             1\t0\trchar: 1 wchar: 1 \t41 (b) S 40 40 1 0 -1 0 0 0 0 0 1 1 1 1 20 0\n"
        );
        let sample = Sample::parse(&printed);
        assert_eq!((sample.network, sample.ranks[&1].cpu, sample.ranks[&1].bytes), (most, most, most));
    }
}
