//! What counts of datagrams mean: a rate with its interval, a direction, a node.

use crate::problem::{Problem, Step};
use crate::worker::Failure;
use diagnostic::Fix;

/// From this part of lost packets on, TCP stalls for seconds at a time: nothing after it can be
/// measured.
const HEAVY_LOSS: f64 = 0.05;
/// The part that must be lost at the least, for 99 % confidence, where a rate is called a loss at all.
const CERTAIN_LOSS: f64 = 0.005;
/// The part that arrives twice, or behind a later one, from which on it is named.
const DISORDER_LIMIT: f64 = 0.05;
/// Standard deviations of the two-sided 99 % interval.
const Z: f64 = 2.576;

/// The datagrams from one place to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// The sender's place.
    pub from: usize,
    /// The receiver's.
    pub to: usize,
    pub sent: u32,
    pub arrived: u32,
    /// How many arrived a second time.
    pub duplicates: u32,
    /// How many came behind a later one.
    pub late: u32,
    /// Why one could not be sent: an answer to an earlier one, or no way there.
    pub refused: Option<Failure>,
}

impl Way {
    /// How many did not arrive.
    pub fn lost(&self) -> u32 {
        self.sent.saturating_sub(self.arrived)
    }

    /// Whether nothing at all arrives.
    pub fn is_blocked(&self) -> bool {
        self.arrived == 0
    }

    /// Whether everything that was sent arrived.
    fn is_whole(&self) -> bool {
        self.sent > 0 && self.lost() == 0
    }

    /// Whether it is worth a longer look.
    pub(super) fn is_odd(&self) -> bool {
        !self.is_blocked() && (self.lost() > 0 || self.duplicates > 1 || self.late > 1)
    }

    /// Counts a later run as well. Where one run lost everything and the other nothing, a path came or went
    /// between them: half of the packets were not lost by chance, and the later run counts.
    pub(super) fn add(&mut self, more: &Way) {
        let came = self.is_blocked() && more.is_whole();
        let went = self.is_whole() && more.is_blocked() && more.sent > 0;
        if came || went {
            *self = more.clone();
            return;
        }
        self.sent += more.sent;
        self.arrived += more.arrived;
        self.duplicates += more.duplicates;
        self.late += more.late;
        self.refused = self.refused.take().or_else(|| more.refused.clone());
    }

    fn rate(&self) -> f64 {
        f64::from(self.lost()) / f64::from(self.sent.max(1))
    }

    /// Whether so much is lost that TCP stalls.
    pub fn is_heavy(&self) -> bool {
        let (least, _) = interval(self.lost(), self.sent);
        !self.is_blocked() && self.rate() >= HEAVY_LOSS && least >= HEAVY_LOSS / 2.0
    }

    /// Whether some is lost, beyond what chance explains.
    pub fn is_lossy(&self) -> bool {
        !self.is_blocked() && interval(self.lost(), self.sent).0 >= CERTAIN_LOSS
    }

    fn is_doubled(&self) -> bool {
        interval(self.duplicates, self.sent).0 >= DISORDER_LIMIT / 2.0
            && f64::from(self.duplicates) >= f64::from(self.sent) * DISORDER_LIMIT
    }

    fn is_disordered(&self) -> bool {
        interval(self.late, self.sent).0 >= DISORDER_LIMIT / 2.0
            && f64::from(self.late) >= f64::from(self.sent) * DISORDER_LIMIT
    }

    /// `about 20 % of the packets from node1 to node2 are lost (103 of 520 did not arrive; 16 to 25 % with
    /// 99 % confidence)`.
    pub fn loss(&self, names: &[String]) -> String {
        let (least, most) = interval(self.lost(), self.sent);
        format!(
            "about {} % of the packets from {} to {} are lost ({} of {} did not arrive; {} to {} % with 99 % \
                confidence)",
            percent(self.rate()),
            names[self.from],
            names[self.to],
            self.lost(),
            self.sent,
            percent(least),
            percent(most)
        )
    }
}

/// The two-sided 99 % interval of a part that was seen `count` times of `of` (Wilson 1927).
pub fn interval(count: u32, of: u32) -> (f64, f64) {
    if of == 0 {
        return (0.0, 1.0);
    }
    let (n, p, z2) = (f64::from(of), f64::from(count.min(of)) / f64::from(of), Z * Z);
    let center = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    ((center - half).max(0.0), (center + half).min(1.0))
}

/// `20`, `2.5`: two figures.
fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent >= 10.0 { format!("{percent:.0}") } else { format!("{percent:.1}") }
}

/// Nodes that lose what comes in or goes out, whoever the other is, and directions that are bad alone: the
/// first is the worst. `heavy`: which ways count.
pub fn losses(ways: &[Way], names: &[String], counts: impl Fn(&Way) -> bool) -> Vec<(usize, String)> {
    let mut bad: Vec<&Way> = ways.iter().filter(|way| counts(way)).collect();
    let mut messages = Vec::new();
    // Fewer than three do not tell a node from a direction.
    for (node, name) in names.iter().enumerate().filter(|_| names.len() > 2) {
        for incoming in [true, false] {
            let of = |way: &Way| if incoming { way.to == node } else { way.from == node };
            let own: Vec<&Way> = bad.iter().copied().filter(|way| of(way)).collect();
            let all = ways.iter().filter(|way| of(way)).count();
            // One bad node among all: the others' directions are good.
            if own.len() < 2 || own.len() < all || own.len() < bad.len() {
                continue;
            }
            let sum = |part: fn(&Way) -> u32| own.iter().map(|way| part(way)).sum::<u32>();
            let (lost, sent) = (sum(Way::lost), sum(|way| way.sent));
            let rate = percent(f64::from(lost) / f64::from(sent.max(1)));
            let way = match incoming {
                true => format!("from the other nodes to {name}"),
                false => format!("from {name} to the other nodes"),
            };
            messages.push((
                node,
                format!("about {rate} % of the packets {way} are lost ({lost} of {sent} did not arrive)"),
            ));
            bad.clear();
            break;
        }
    }
    bad.sort_by(|one, other| other.rate().total_cmp(&one.rate()));
    messages.extend(bad.into_iter().map(|way| (way.from, way.loss(names))));
    messages
}

/// Where to look for the loss between nodes: of the worst way.
pub fn loss_fixes(ways: &[Way], names: &[String]) -> Vec<Fix> {
    let worst = ways.iter().filter(|way| !way.is_blocked()).max_by(|a, b| a.rate().total_cmp(&b.rate()));
    let Some((from, to)) = worst.map(|way| (&names[way.from], &names[way.to])) else { return Vec::new() };
    vec![
        Fix::safe(
            format!(
                "Read the error and drop counters, first on {to}, then on {from} (possible causes: bad \
                    cable, duplex mismatch, full switch buffer):"
            ),
            &["ip -s link", "ethtool -S INTERFACE"],
        ),
        Fix::safe(
            format!("Check for rules that drop at random or limit a rate, on {to} and {from}:"),
            &["iptables -L -n -v", "nft list ruleset", "tc -s qdisc"],
        ),
        Fix::run(
            format!("Measure the loss between the machines, without the containers, on {from}:"),
            format!("ping -c 500 -i 0.01 {to}"),
        ),
    ]
}

/// The problems of ways that lose so much that nothing else can be tried.
pub fn heavy(step: Step, ways: &[Way], names: &[String]) -> Vec<Problem> {
    let found = losses(ways, names, Way::is_heavy);
    let problem = |(node, message): (usize, String)| {
        let problem = Problem::of(step, &names[node], message);
        loss_fixes(ways, names).into_iter().fold(problem, Problem::fix)
    };
    found.into_iter().map(problem).collect()
}

/// Packets that arrive twice, and packets that overtake each other.
pub fn disorder(ways: &[Way], names: &[String]) -> Vec<String> {
    let mut messages = Vec::new();
    let rate = |count: u32, way: &Way| percent(f64::from(count) / f64::from(way.sent.max(1)));
    for way in ways {
        let (from, to, sent) = (&names[way.from], &names[way.to], way.sent);
        if way.is_doubled() {
            let (count, rate) = (way.duplicates, rate(way.duplicates, way));
            messages.push(format!(
                "about {rate} % of the packets from {from} to {to} arrive twice ({count} of {sent}): the \
                    network duplicates packets"
            ));
        }
        if way.is_disordered() {
            let (count, rate) = (way.late, rate(way.late, way));
            messages.push(format!(
                "about {rate} % of the packets from {from} to {to} arrive after a later one ({count} of \
                    {sent}): the network reorders packets"
            ));
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn way(from: usize, to: usize, sent: u32, arrived: u32) -> Way {
        Way { from, to, sent, arrived, duplicates: 0, late: 0, refused: None }
    }

    fn names(count: usize) -> Vec<String> {
        (1..=count).map(|number| format!("node{number}")).collect()
    }

    #[test]
    fn loss_message_has_direction_and_confidence_interval() {
        let message = way(0, 1, 520, 416).loss(&names(2));
        assert_eq!(
            message,
            "about 20 % of the packets from node1 to node2 are lost (104 of 520 did not arrive; 16 to 25 % \
                with 99 % confidence)"
        );
    }

    #[test]
    fn classifies_loss_as_none_light_heavy_or_blocked() {
        assert!(!way(0, 1, 520, 520).is_lossy());
        assert!(!way(0, 1, 520, 517).is_lossy());
        assert!(way(0, 1, 520, 504).is_lossy() && !way(0, 1, 520, 504).is_heavy());
        assert!(way(0, 1, 520, 470).is_heavy());
        assert!(!way(0, 1, 520, 0).is_heavy() && way(0, 1, 520, 0).is_blocked());
    }

    #[test]
    fn path_that_came_or_went_between_two_runs_is_no_loss() {
        let mut came = way(0, 1, 80, 0);
        came.add(&way(0, 1, 80, 80));
        assert!(!came.is_blocked() && !came.is_lossy());
        let mut went = way(0, 1, 80, 80);
        went.add(&way(0, 1, 80, 0));
        assert!(went.is_blocked());
        let mut lossy = way(0, 1, 80, 0);
        lossy.add(&way(0, 1, 80, 40));
        assert_eq!((lossy.sent, lossy.arrived), (160, 40));
    }

    #[test]
    fn attributes_loss_to_a_direction_or_a_node() {
        let two = [way(0, 1, 520, 416), way(1, 0, 120, 120)];
        let found = losses(&two, &names(2), Way::is_heavy);
        assert_eq!(found.len(), 1);
        assert!(found[0].1.contains("from node1 to node2"), "{found:?}");
        let mut three: Vec<Way> = crate::flow::measure::directions(3)
            .into_iter()
            .map(|(from, to)| way(from, to, 500, if to == 1 { 350 } else { 500 }))
            .collect();
        let found = losses(&three, &names(3), Way::is_heavy);
        assert_eq!(
            found,
            [(
                1,
                "about 30 % of the packets from the other nodes to node2 are lost (300 of 1000 did \
                    not arrive)"
                    .to_owned()
            )]
        );
        // Another bad direction besides: the node is not the whole of it.
        three.iter_mut().filter(|way| (way.from, way.to) == (0, 2)).for_each(|way| way.arrived = 300);
        let found = losses(&three, &names(3), Way::is_heavy);
        assert_eq!(found.len(), 3);
        assert!(found[0].1.contains("40 % of the packets from node1 to node3"), "{found:?}");
    }

    #[test]
    fn duplicates_and_reordering_are_not_reported_as_loss() {
        let doubled = Way { duplicates: 104, ..way(0, 1, 520, 520) };
        let messages = disorder(std::slice::from_ref(&doubled), &names(2));
        assert_eq!(messages.len(), 1);
        assert!(messages[0].contains("20 % of the packets from node1 to node2 arrive twice"), "{messages:?}");
        assert!(losses(&[doubled], &names(2), Way::is_lossy).is_empty());
        let late = Way { late: 52, ..way(1, 0, 520, 520) };
        assert!(disorder(&[late], &names(2))[0].contains("reorders"));
        assert!(disorder(&[Way { late: 3, duplicates: 2, ..way(1, 0, 520, 520) }], &names(2)).is_empty());
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_rate_and_narrows(count in 0_u32..1000, more in 1_u32..1000) {
            let of = count + more;
            let (least, most) = interval(count, of);
            let rate = f64::from(count) / f64::from(of);
            prop_assert!(0.0 <= least && least <= rate + 1e-9 && rate <= most + 1e-9 && most <= 1.0);
            let (closer, farther) = interval(count * 100, of * 100);
            prop_assert!(farther - closer < most - least);
        }
    }
}
