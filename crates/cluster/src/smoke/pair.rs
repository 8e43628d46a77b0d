//! What pairs of ranks carry, and the node or the links that are worse than the rest.

use diagnostic::units::rate;

use super::bandwidth::median;
use super::no_answer::NoAnswer;

/// The rates of a node's slow links lie within this factor where the node is their cause: a link at 1
/// MB/s and one at half of the usual rate have different causes.
const ALIKE: f64 = 4.0;

/// What two ranks carry between each other, alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    pub ranks: (usize, usize),
    /// The bytes that were carried, or why there were none.
    pub came: Result<Carried, PairError>,
}

/// Why a pair carries nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{node}: {fault}")]
pub struct PairError {
    /// The node that reports it, or does not answer.
    pub node: String,
    /// What it reports.
    pub fault: NoAnswer,
    /// The rank, where it does not even listen: it is not tried with others.
    pub deaf: Option<usize>,
}

/// What a pair carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Carried {
    /// From the first to the second, in bytes per second, while as much goes back.
    pub there: f64,
    /// From the second to the first.
    pub back: f64,
    /// The time of the smallest all-reduce between them, in seconds: two messages, there and back at once.
    pub trip: f64,
}

/// The node or the links that are worse than the rest; empty where none is.
pub fn blame(pairs: &[Pair], names: &[String]) -> Vec<String> {
    let failed: Vec<_> =
        pairs.iter().filter_map(|pair| Some((pair.ranks, pair.came.as_ref().err()?))).collect();
    let links: Vec<(usize, usize, f64)> = pairs
        .iter()
        .filter_map(|pair| {
            let came = pair.came.as_ref().ok()?;
            Some([(pair.ranks.0, pair.ranks.1, came.there), (pair.ranks.1, pair.ranks.0, came.back)])
        })
        .flatten()
        .collect();
    let usual = median(&links.iter().map(|(_, _, rate)| *rate).collect::<Vec<_>>());
    let slow: Vec<_> = links.iter().filter(|(_, _, rate)| *rate < usual / 2.0).collect();
    let mut message = Vec::new();
    // Fewer than three do not tell a node from a link.
    let nodes = if names.len() > 2 { 0..names.len() } else { 0..0 };
    let mut blamed = Vec::new();
    for node in nodes {
        let others = names.len() - 1;
        let name = &names[node];
        let dead = failed.iter().filter(|(ranks, _)| ranks.0 == node || ranks.1 == node).count();
        let with_every_peer = |is_own: &dyn Fn(usize, usize) -> bool| {
            let own: Vec<f64> =
                slow.iter().filter(|(from, to, _)| is_own(*from, *to)).map(|(.., rate)| *rate).collect();
            let (least, most) = own
                .iter()
                .fold((f64::INFINITY, 0.0), |(least, most), rate| (least.min(*rate), rate.max(most)));
            own.len() == others && most <= least * ALIKE
        };
        let sends = with_every_peer(&|from, _| from == node);
        let receives = with_every_peer(&|_, to| to == node);
        if dead == others {
            let why = failed
                .iter()
                .find(|(ranks, _)| ranks.0 == node || ranks.1 == node)
                .map_or(String::new(), |(_, why)| why.to_string());
            message.push(format!("{name} fails with all {others} other ranks: {why}"));
        } else if sends || receives {
            let way = match (sends, receives) {
                (true, true) => "sends and receives",
                (true, false) => "sends",
                _ => "receives",
            };
            let own =
                slow.iter().filter(|(from, to, _)| *from == node || *to == node).map(|(.., rate)| *rate);
            let least = own.fold(f64::INFINITY, f64::min);
            message.push(format!(
                "{name} {way} slowly with every peer: {}, other pairs {}",
                rate(least),
                rate(usual)
            ));
        } else {
            continue;
        }
        blamed.push(node);
    }
    let free = |one: usize, other: usize| !blamed.contains(&one) && !blamed.contains(&other);
    for ((one, other), why) in failed.iter().filter(|((one, other), _)| free(*one, *other)) {
        message.push(format!("{} and {}: {why}", names[*one], names[*other]));
    }
    for (from, to, carries) in slow.into_iter().filter(|(from, to, _)| free(*from, *to)) {
        message.push(format!(
            "{} to {}: only {}, other pairs {}",
            names[*from],
            names[*to],
            rate(*carries),
            rate(usual)
        ));
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (1..=count).map(|number| format!("node{number}")).collect()
    }

    /// All pairs of some ranks, with what `carries` says of a way.
    fn all(world: usize, carries: impl Fn(usize, usize) -> f64) -> Vec<Pair> {
        (0..world)
            .flat_map(|one| (one + 1..world).map(move |other| (one, other)))
            .map(|(one, other)| Pair {
                ranks: (one, other),
                came: Ok(Carried { there: carries(one, other), back: carries(other, one), trip: 1e-4 }),
            })
            .collect()
    }

    #[test]
    fn blames_the_slow_or_failed_node_or_link() {
        assert!(blame(&all(4, |_, _| 1e9), &names(4)).is_empty());
        let node = all(4, |from, _| if from == 2 { 1e6 } else { 1e9 });
        assert_eq!(
            blame(&node, &names(4)),
            ["node3 sends slowly with every peer: 1.0 MB/s, other pairs 1.00 GB/s"]
        );
        let node = all(5, |from, to| if from == 0 || to == 0 { 3e8 } else { 1e9 });
        assert!(blame(&node, &names(5))[0].starts_with("node1 sends and receives slowly"));
        let link = all(5, |from, to| if (from, to) == (3, 1) { 1e6 } else { 1e9 });
        assert_eq!(blame(&link, &names(5)), ["node4 to node2: only 1.0 MB/s, other pairs 1.00 GB/s"]);
        // A node that receives slowly, next to a link at less than half of the usual rate.
        let noisy = all(3, |from, to| match (from, to) {
            (_, 1) => 1.2e6,
            (0, 2) => 0.9e9,
            _ => 2.2e9,
        });
        assert_eq!(
            blame(&noisy, &names(3))[0],
            "node2 receives slowly with every peer: 1.2 MB/s, other pairs 2.20 GB/s"
        );
        assert!(blame(&noisy, &names(3))[1..].iter().all(|more| more.starts_with("node1 to node3: only")));
        let two = all(2, |from, _| if from == 0 { 1e6 } else { 1e9 });
        assert_eq!(blame(&two, &names(2)).len(), 1);
        let mut dead = all(3, |_, _| 1e9);
        for pair in dead.iter_mut().filter(|pair| pair.ranks.1 == 2) {
            let fault = NoAnswer::Broken("the connection stalled".into());
            pair.came = Err(PairError { node: "node3".into(), fault, deaf: None });
        }
        assert_eq!(
            blame(&dead, &names(3)),
            ["node3 fails with all 2 other ranks: node3: the connection stalled"]
        );
    }
}
