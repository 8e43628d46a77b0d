//! Pair by pair: which link, or which node, is the bad one. All pairs in rounds in which every rank is in one
//! pair at most, so that pairs do not take each other's bandwidth at a rank; n ranks need n-1 rounds (the
//! circle method of round-robin tournaments), n where n is odd.

use std::collections::BTreeMap;
use std::time::Duration;

use docker::fan_out;

use super::bandwidth::median;
use super::phases::{Endpoint, NoAnswer, Options, ask, expected};
use super::rank::{Answer, Task};
use diagnostic::units::rate;

/// Seconds that the bytes of one way should take.
const STREAM_SECONDS: f64 = 0.1;
/// The most bytes of one way.
const STREAM_LIMIT_BYTES: usize = 32 << 20;
/// Pairs that are tried again.
const RETRIED_PAIRS: usize = 8;
/// Rounds of the smallest all-reduce, for its time.
const LATENCY_ROUNDS: usize = 20;

/// What two ranks carry between each other, alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The ranks.
    pub ranks: (usize, usize),
    /// What came of it.
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

/// The rounds: in each, every rank at most once; together, every pair once.
pub fn rounds(world: usize) -> Vec<Vec<(usize, usize)>> {
    // Of an odd number one pauses in each round: its partner would be `world`.
    let even = world + world % 2;
    (0..even.saturating_sub(1))
        .map(|round| {
            let seat = |index: usize| if index == 0 { 0 } else { 1 + (index - 1 + round) % (even - 1) };
            let pairs = (0..even / 2).map(|index| (seat(index), seat(even - 1 - index)));
            let ordered = pairs.map(|(one, other)| (one.min(other), one.max(other)));
            ordered.filter(|(_, other)| *other < world).collect()
        })
        .collect()
}

/// Plays all rounds.
pub async fn tournament(endpoints: &[Endpoint], options: &Options) -> Vec<Pair> {
    let mut pairs = Vec::new();
    // Who does not answer once is not asked in every round.
    let mut gone: BTreeMap<usize, PairError> = BTreeMap::new();
    for (number, round) in rounds(endpoints.len()).into_iter().enumerate() {
        let run = |ranks: (usize, usize)| format!("pair-{number}-{}-{}", ranks.0, ranks.1);
        let played = fan_out(round.into_iter().map(|ranks| {
            let missing = gone.get(&ranks.0).or_else(|| gone.get(&ranks.1)).cloned();
            async move {
                match missing {
                    Some(error) => (ranks, Err(PairError { deaf: None, ..error })),
                    None => (ranks, carried(endpoints, ranks, &run(ranks), options).await),
                }
            }
        }))
        .await;
        for (ranks, came) in played {
            if let Err(error @ PairError { deaf: Some(rank), .. }) = &came {
                gone.insert(*rank, error.clone());
            }
            pairs.push(Pair { ranks, came });
        }
    }
    pairs.sort_by_key(|pair| pair.ranks);
    again(endpoints, options, &mut pairs).await;
    pairs
}

/// Pairs that look slow are tried again: what was disturbed once is not bad.
async fn again(endpoints: &[Endpoint], options: &Options, pairs: &mut [Pair]) {
    for turn in 0..2 {
        let rates = pairs.iter().filter_map(|pair| pair.came.as_ref().ok());
        let usual = median(&rates.flat_map(|came| [came.there, came.back]).collect::<Vec<_>>());
        let slow = |came: &Carried| came.there.min(came.back) < usual / 2.0;
        for pair in pairs.iter_mut().filter(|pair| pair.came.as_ref().is_ok_and(slow)).take(RETRIED_PAIRS) {
            let run = format!("again-{turn}-{}-{}", pair.ranks.0, pair.ranks.1);
            let (Ok(now), Ok(before)) = (carried(endpoints, pair.ranks, &run, options).await, &pair.came)
            else {
                continue;
            };
            pair.came = Ok(Carried {
                there: now.there.max(before.there),
                back: now.back.max(before.back),
                trip: now.trip.min(before.trip),
            });
        }
    }
}

async fn carried<'p>(
    endpoints: &'p [Endpoint],
    ranks: (usize, usize),
    run: &str,
    options: &Options,
) -> Result<Carried, PairError> {
    let both = [&endpoints[ranks.0], &endpoints[ranks.1]];
    let mut ports = [0; 2];
    let listen = |endpoint: &'p Endpoint| {
        ask(endpoint, Task::Listen { address: Some(endpoint.address) }, options.deadline)
    };
    for (index, answer) in fan_out(both.map(listen)).await.into_iter().enumerate() {
        match answer {
            Ok(Answer::Listening { port }) => ports[index] = port,
            other => {
                let deaf = Some(if index == 0 { ranks.0 } else { ranks.1 });
                let fault = NoAnswer::of(other, &|rank| name_in(both, rank));
                return Err(PairError { node: both[index].node.clone(), fault, deaf });
            }
        }
    }
    let join = |number: usize| Task::Join {
        run: run.to_owned(),
        own: both[number].session.hello.nonce.clone(),
        left: both[1 - number].session.hello.nonce.clone(),
        number,
        world: 2,
        address: both[1 - number].address,
        port: ports[1 - number],
        stall: options.stall.as_secs_f64(),
    };
    two(both, join, options.deadline).await?;
    let deadline = options.stall * 4;
    let (mut rates, mut bytes) = ([0.0_f64; 2], 1 << 20);
    for _ in 0..2 {
        let task = |_| Task::Stream { bytes, sends: true, receives: true, rate: None };
        for (index, answer) in two(both, task, deadline).await?.into_iter().enumerate() {
            if let Answer::Streamed { seconds, .. } = answer {
                rates[index] = rates[index].max(bytes as f64 / seconds);
            }
        }
        bytes = ((rates[0].min(rates[1]) * STREAM_SECONDS) as usize).clamp(1 << 18, STREAM_LIMIT_BYTES);
    }
    let small = |_| Task::AllReduce { elements: 2, warmup: 2, iterations: LATENCY_ROUNDS, corrupt: None };
    let mut trip = 0.0_f64;
    for answer in two(both, small, deadline).await? {
        if let Answer::Reduced { seconds, .. } = answer {
            trip = trip.max(median(&seconds));
        }
    }
    fan_out(both.map(|endpoint| ask(endpoint, Task::Leave, Duration::from_secs(1)))).await;
    // What a rank receives is what the other one sent.
    Ok(Carried { there: rates[1], back: rates[0], trip })
}

/// The node of a rank of a pair, whose ranks are 0 and 1.
fn name_in(both: [&Endpoint; 2], rank: usize) -> String {
    both.get(rank).map_or_else(|| format!("rank {rank}"), |endpoint| endpoint.node.clone())
}

/// A task for both.
async fn two(
    both: [&Endpoint; 2],
    task: impl Fn(usize) -> Task,
    deadline: Duration,
) -> Result<Vec<Answer>, PairError> {
    let asked = both.iter().enumerate().map(|(number, endpoint)| ask(endpoint, task(number), deadline));
    let mut answers = Vec::new();
    for (endpoint, answer) in both.iter().zip(fan_out(asked).await) {
        let answer = expected(answer, &|rank| name_in(both, rank));
        answers.push(answer.map_err(|fault| PairError { node: endpoint.node.clone(), fault, deaf: None })?);
    }
    Ok(answers)
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
        let sends = slow.iter().filter(|(from, ..)| *from == node).count();
        let receives = slow.iter().filter(|(_, to, _)| *to == node).count();
        if dead == others {
            let why = failed
                .iter()
                .find(|(ranks, _)| ranks.0 == node || ranks.1 == node)
                .map_or(String::new(), |(_, why)| why.to_string());
            message.push(format!("{name} fails with all {others} other ranks: {why}"));
        } else if sends == others || receives == others {
            let way = match (sends == others, receives == others) {
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
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_robin_covers_every_pair_without_overlap(world in 2_usize..65) {
            let rounds = rounds(world);
            prop_assert_eq!(rounds.len(), world - 1 + world % 2);
            let mut all = BTreeSet::new();
            for round in rounds {
                let seats: BTreeSet<_> = round.iter().flat_map(|(one, other)| [*one, *other]).collect();
                prop_assert_eq!(seats.len(), round.len() * 2);
                all.extend(round);
            }
            prop_assert_eq!(all.len(), world * (world - 1) / 2);
        }
    }

    fn names(count: usize) -> Vec<String> {
        (1..=count).map(|number| format!("node{number}")).collect()
    }

    /// All pairs of some ranks, with what `carries` says of a way.
    fn all(world: usize, carries: impl Fn(usize, usize) -> f64) -> Vec<Pair> {
        rounds(world)
            .into_iter()
            .flatten()
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
