//! Packets whose content the network changed.

use crate::flow::rate::Way;

/// A receiver whose machine threw packets away because their checksum was wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The ranks that sent meanwhile.
    pub from: Vec<usize>,
    /// The receiver's rank.
    pub to: usize,
    /// How many it threw away.
    pub count: u64,
    /// How many were sent to it.
    pub sent: u32,
}

impl Changed {
    /// Whether at least half of what did not arrive was changed.
    pub fn explains(&self, ways: &[Way]) -> bool {
        let own = ways.iter().filter(|way| way.to == self.to && self.from.contains(&way.from));
        let (lost, sent) = own.fold((0, 0), |(lost, sent), way| (lost + way.lost(), sent + way.sent));
        let part = |count: f64, of: u32| count / f64::from(of.max(1));
        self.count as f64 / f64::from(self.sent.max(1)) * 2.0 >= part(f64::from(lost), sent)
    }

    /// `node2 dropped 8 packets with a wrong checksum while node1 sent 400: …`.
    pub fn message(&self, names: &[String]) -> String {
        let from: Vec<&str> = self.from.iter().map(|rank| names[*rank].as_str()).collect();
        format!(
            "{} dropped {} packets with a wrong checksum while {} sent {}: their content is changed on the \
                way",
            names[self.to],
            self.count,
            from.join(", "),
            self.sent
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_changed_ones_do_not_explain_a_heavy_loss() {
        let way = |arrived| Way { from: 0, to: 1, sent: 520, arrived, duplicates: 0, late: 0, refused: None };
        let changed = |count| Changed { from: vec![0], to: 1, count, sent: 400 };
        assert!(changed(118).explains(&[way(353)]));
        assert!(!changed(4).explains(&[way(353)]));
    }
}
