//! All-reduces of a rank: checked, timed, checked again.

use std::time::{Duration, Instant};

use super::counters::busy_seconds;
use super::rank_task::Answer;
use super::ring::{Broken, Data, Ring};

/// How many times as long as this rank another one may take to write and check its numbers before the wait
/// for it counts as a stall of the connection: a rank with a tenth of a processor takes ten to twenty times.
const PATIENCE: u32 = 30;

/// A rank between the all-reduces of one task.
struct Rounds<'r> {
    ring: &'r mut Ring,
    /// What the ranks meet with.
    together: Data,
    /// When the ring was used last.
    last: Instant,
}

impl Rounds<'_> {
    /// One all-reduce: its seconds.
    fn timed(&mut self, data: &Data) -> Result<f64, Broken> {
        // Everybody begins at the same time; else the wait for the last one would count as bandwidth.
        self.ring.meet(&self.together, self.last.elapsed() * PATIENCE)?;
        let start = Instant::now();
        self.ring.all_reduce(data)?;
        self.last = Instant::now();
        Ok((self.last - start).as_secs_f64())
    }
}

/// Checks, warms up, measures and checks again.
pub(super) fn reduce(
    ring: &mut Ring,
    (number, world): (usize, usize),
    elements: usize,
    (warmup, iterations): (usize, usize),
    corrupt: Option<usize>,
) -> Result<Answer, Broken> {
    let mut rounds = Rounds { ring, together: Data::new(world, world), last: Instant::now() };
    let mut data = Data::new(elements, world);
    let (mut wrong, mut first_wrong, mut own) = (0, None, Duration::ZERO);
    let mut checked = |rounds: &mut Rounds<'_>, data: &mut Data, corrupt: Option<usize>| {
        let start = Instant::now();
        data.fill(number);
        own += start.elapsed();
        corrupt.into_iter().for_each(|index| data.corrupt(index));
        let seconds = rounds.timed(data)?;
        let start = Instant::now();
        let (count, first) = data.wrong(world);
        own += start.elapsed();
        wrong += count;
        first_wrong = first_wrong.or(first);
        Ok(seconds)
    };
    checked(&mut rounds, &mut data, corrupt)?;
    // What is summed again and again would soon be infinite, which costs other time than numbers do.
    data.zero();
    for _ in 0..warmup {
        rounds.timed(&data)?;
    }
    let mut seconds = Vec::with_capacity(iterations);
    let (start, before) = (Instant::now(), busy_seconds());
    for _ in 1..iterations {
        seconds.push(rounds.timed(&data)?);
    }
    let busy = before.zip(busy_seconds()).filter(|_| iterations > 1);
    let busy = busy.map(|(before, now)| (now - before) / start.elapsed().as_secs_f64());
    let last = checked(&mut rounds, &mut data, None)?;
    seconds.extend((iterations > 0).then_some(last));
    Ok(Answer::Reduced { seconds, own: own.as_secs_f64(), busy, wrong, first_wrong })
}
