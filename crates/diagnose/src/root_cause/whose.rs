//! Whose event it is: ranks, a node, or both.

use std::fmt;

use super::timeline::Event;
use diagnostic::words::capital;

/// The processes that an event is about, and where they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// Processes of the job, and their node where the log names it: `rank 3 on node-2`.
    Processes(Processes, Option<String>),
    /// A node by its name, where the log names no rank.
    Node(String),
}

/// Processes of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Processes {
    /// Ranks of the job.
    Ranks(Vec<u32>),
    /// A rank on its node, where the log has only that number.
    LocalRank(u32),
    /// A rank without a number.
    Unnumbered,
}

impl Whose {
    /// The rank and node of an event; `None` where its line names neither.
    pub fn of(event: &Event) -> Option<Whose> {
        let rank = event.prefix.rank.map(|rank| Processes::Ranks(vec![rank]));
        let processes = rank.or_else(|| event.prefix.local_rank.map(Processes::LocalRank));
        let node = event.prefix.node.clone();
        match processes {
            Some(processes) => Some(Whose::Processes(processes, node)),
            None => node.map(Whose::Node),
        }
    }

    /// Ranks whose nodes are not known.
    pub fn ranks(ranks: &[u32]) -> Whose {
        Whose::Processes(Processes::Ranks(ranks.to_vec()), None)
    }

    /// It at the start of a sentence: `Rank 3`. The name of a node keeps its case.
    pub fn at_start(&self) -> String {
        match self {
            Whose::Processes(processes, node) => {
                format!("{}{}", capital(&processes.to_string()), suffix(node.as_deref()))
            }
            Whose::Node(name) => name.clone(),
        }
    }
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whose::Processes(processes, node) => write!(f, "{processes}{}", suffix(node.as_deref())),
            Whose::Node(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Processes::Ranks(ranks) => {
                let numbers: Vec<String> = ranks.iter().map(u32::to_string).collect();
                let word = if ranks.len() == 1 { "rank" } else { "ranks" };
                write!(f, "{word} {}", numbers.join(", "))
            }
            Processes::LocalRank(rank) => write!(f, "local rank {rank}"),
            Processes::Unnumbered => f.write_str("a rank"),
        }
    }
}

fn suffix(node: Option<&str>) -> String {
    node.map_or(String::new(), |node| format!(" on {node}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_starts_with_a_capital_letter_unless_it_is_the_name_of_a_node() {
        let node = || Some("gpu-a".to_owned());
        let both = |whose: &Whose| (whose.to_string(), whose.at_start());
        let texts = |small: &str, start: &str| (small.to_owned(), start.to_owned());
        let of = |processes, node| both(&Whose::Processes(processes, node));
        assert_eq!(both(&Whose::ranks(&[3])), texts("rank 3", "Rank 3"));
        assert_eq!(both(&Whose::ranks(&[3, 5])), texts("ranks 3, 5", "Ranks 3, 5"));
        assert_eq!(
            of(Processes::LocalRank(1), node()),
            texts("local rank 1 on gpu-a", "Local rank 1 on gpu-a")
        );
        assert_eq!(of(Processes::Unnumbered, node()), texts("a rank on gpu-a", "A rank on gpu-a"));
        assert_eq!(both(&Whose::Node("node 2".into())), texts("node 2", "node 2"));
    }
}
