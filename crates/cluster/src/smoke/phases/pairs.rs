//! Pair by pair: which link, or which node, is the bad one. All pairs in rounds in which every rank is in one
//! pair at most, so that pairs do not take each other's bandwidth at a rank; n ranks need n-1 rounds (the
//! circle method of round-robin tournaments), n where n is odd.

use std::collections::BTreeMap;
use std::time::Duration;

use docker::fan_out;

use super::{Endpoint, Options, ask::ask};
use crate::smoke::bandwidth::median;
use crate::smoke::no_answer::{NoAnswer, expected};
use crate::smoke::pair::{Carried, Pair, PairError};
use crate::smoke::rank_task::{Answer, Task};

/// Seconds that the bytes of one way should take.
const STREAM_SECONDS: f64 = 0.1;
/// The most bytes of one way.
const STREAM_LIMIT_BYTES: usize = 32 << 20;
/// Pairs that are tried again.
const RETRIED_PAIRS: usize = 8;
/// Rounds of the smallest all-reduce, for its time.
const LATENCY_ROUNDS: usize = 20;

/// The rounds: in each, every rank at most once; together, every pair once.
fn rounds(world: usize) -> Vec<Vec<(usize, usize)>> {
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

pub(super) async fn tournament(endpoints: &[Endpoint], options: &Options) -> Vec<Pair> {
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
}
