//! What is tried between pairs of containers, and the causes of what fails. Engines exchange whole tables of
//! names only every 30 s: a name that is learned while causes are looked for makes what was seen before void.

use std::time::Instant;

use futures_util::{StreamExt, stream};

use super::Work;
use crate::causes::{Before, Causes, causes};
use crate::container_probe::{self, ContainerProbe, Tried};
use crate::problem::Problem;
use crate::worker::bundle::Bundle;

/// Pairs that are tried at once.
const MAX_PARALLEL: usize = 32;

/// Tries pairs (from, to).
pub(super) async fn of_pairs(
    work: &Work<'_>,
    containers: &[ContainerProbe<'_>],
    pairs: Vec<(usize, usize)>,
) -> Vec<Tried> {
    stream::iter(pairs)
        .map(|(from, to)| container_probe::pair(work.plan, containers, from, to))
        .buffer_unordered(MAX_PARALLEL)
        .collect()
        .await
}

/// Why pairs do not reach each other. Looks again while engines learn names meanwhile, until `until` (`None`:
/// no engine learns any); `tried` is what was tried last, `gossip` the directions in which the engines'
/// gossip was seen to be blocked.
pub(super) async fn judged(
    work: &Work<'_>,
    bundle: &Bundle,
    containers: &[ContainerProbe<'_>],
    tried: &mut Vec<Tried>,
    gossip: &[Problem],
    reattached: bool,
    until: Option<Instant>,
) -> Causes {
    let mut late = Vec::new();
    loop {
        if tried.iter().all(|tried| tried.well(containers[tried.from].mtu)) {
            return Causes::default();
        }
        let before = Before { reattached, gossip: gossip.to_vec(), late: late.clone() };
        let causes = causes(work.plan, bundle, containers, tried, before).await;
        if until.is_none_or(|until| Instant::now() >= until) {
            return causes;
        }
        let learned = learned(work, containers, tried).await;
        if learned.is_empty() {
            return causes;
        }
        late.extend(learned);
    }
}

/// Tries the pairs again that failed, where the engine of one did not know the name or the location of the
/// other. The pairs (from, to) that it knows by now; `tried` is unchanged if there are none.
async fn learned(
    work: &Work<'_>,
    containers: &[ContainerProbe<'_>],
    tried: &mut Vec<Tried>,
) -> Vec<(usize, usize)> {
    let of = |tried: &Tried| (tried.from, tried.to);
    let unnamed: Vec<_> = tried.iter().filter(|tried| tried.name.is_err()).map(of).collect();
    let found: Vec<_> = tried.iter().filter(|tried| tried.found_late()).map(of).collect();
    if unnamed.is_empty() && found.is_empty() {
        return Vec::new();
    }
    let dead: Vec<_> = tried.iter().filter(|tried| tried.dead()).map(of).collect();
    let again = of_pairs(work, containers, dead).await;
    let learns = |again: &&Tried| {
        let named = again.name.is_ok() && unnamed.contains(&of(again));
        named || (again.connects.is_ok() && found.contains(&of(again)))
    };
    let learned: Vec<_> = again.iter().filter(learns).map(of).collect();
    if !learned.is_empty() {
        tried.retain(|tried| !tried.dead());
        tried.extend(again);
    }
    learned
}
