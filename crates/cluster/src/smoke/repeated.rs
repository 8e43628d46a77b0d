//! What looked slow, measured again in interleaved rounds: each round measures everything that is compared,
//! so that what disturbs the machine for a while disturbs all of it.

use super::noise::{Interval, Packets, of_median};

/// What a first look makes doubtful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Doubts {
    /// A link that carries less than the others, or than it should.
    pub links: bool,
    /// A ring that carries less than its path.
    pub ring: bool,
    /// Packets that were sent again.
    pub loss: bool,
    /// A rank that takes longer than the others for its own part.
    pub own: bool,
}

impl Doubts {
    pub fn any(self) -> bool {
        self.links || self.ring || self.loss || self.own
    }
}

/// The rounds; what was not doubtful is empty. Rates are bytes per second.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Repeated {
    /// What was doubtful at first sight.
    pub doubts: Doubts,
    /// Of each link of the ring, its rates while the other links rest: from the rank before to this one.
    pub links: Vec<Vec<f64>>,
    /// Of each rank, the rates of a connection with itself.
    pub loopback: Vec<Vec<f64>>,
    /// The rates of the slowest link while all links carry data.
    pub path: Vec<f64>,
    /// Bus bandwidths of the ring.
    pub ring: Vec<f64>,
    /// The part of the time in which the busiest summing thread ran or waited for a processor.
    pub busy: Vec<f64>,
    /// Of each rank, the seconds for its own part.
    pub own: Vec<Vec<f64>>,
    /// Of each rank, what it sent at a part of the path's rate.
    pub paced: Vec<Packets>,
    /// That rate, in bytes per second.
    pub pace: f64,
}

/// The interval of the median; of too few rounds their whole range. `None` of no round.
pub fn spread(rounds: &[f64]) -> Option<Interval> {
    of_median(rounds).or_else(|| {
        let low = rounds.iter().copied().reduce(f64::min)?;
        let high = rounds.iter().copied().reduce(f64::max)?;
        Some(Interval { low, high })
    })
}

/// The spreads of several series; `None` where one of them has no round.
pub fn spreads(series: &[Vec<f64>]) -> Option<Vec<Interval>> {
    (!series.is_empty()).then(|| series.iter().map(|rounds| spread(rounds)).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_of_few_rounds_is_their_range() {
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[2.0, 1.0]), Some(Interval { low: 1.0, high: 2.0 }));
        assert_eq!(spreads(&[]), None);
        assert_eq!(spreads(&[vec![1.0], vec![]]), None);
        assert_eq!(spreads(&[vec![1.0]]), Some(vec![Interval { low: 1.0, high: 1.0 }]));
    }
}
