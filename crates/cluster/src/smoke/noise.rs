//! What repeated measurements are worth: how far they spread, and what may be said of them with confidence.
//! Pure: no clock, no network. docs/smoke.md explains it.

use diagnostic::units::rate;
use serde::{Deserialize, Serialize};

use super::bandwidth::median;

/// Rounds of what is measured again. The median of seven lies outside their range once in 64 times.
pub const ROUNDS: usize = 7;
/// Fewer rounds than this say nothing of a spread.
const ROUNDS_MIN: usize = 5;
/// How often an interval may miss the median that it should contain, at most; of few rounds the whole range
/// is taken.
const MISS_LIMIT: f64 = 1.0 / 64.0;
/// Standard deviations of a one-sided confidence of 99.95 % of a normal distribution.
const DEVIATIONS: f64 = 3.29;
/// Of fewer events the normal distribution promises too much: one packet of thirty would be loss.
const EVENTS_MIN: u64 = 10;

/// Where a true value lies, with confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// It is not less.
    pub low: f64,
    /// It is not more.
    pub high: f64,
}

impl Interval {
    /// Whether it is below a part of another one, whichever of their values are true.
    pub fn is_below(self, part: f64, of: Interval) -> bool {
        self.high < part * of.low
    }
}

/// The median of intervals: of their low ends, and of their high ones.
pub(super) fn middle(of: &[Interval]) -> Interval {
    let side = |side: fn(&Interval) -> f64| median(&of.iter().map(side).collect::<Vec<_>>());
    Interval { low: side(|one| one.low), high: side(|one| one.high) }
}

/// All intervals but one.
pub(super) fn others(of: &[Interval], but: usize) -> Vec<Interval> {
    of.iter().enumerate().filter(|(index, _)| *index != but).map(|(_, one)| *one).collect()
}

/// `1.24 GB/s`, or `0.91 to 1.30 GB/s` where it varies by more than a tenth.
pub(super) fn range(of: Interval) -> String {
    match of.high > of.low * 1.1 {
        true => format!("{} to {}", rate(of.low), rate(of.high)),
        false => rate(f64::midpoint(of.low, of.high)),
    }
}

/// The interval that contains the median of what some rounds are drawn from, whatever its distribution: the
/// number of rounds below the median is that of heads among as many coins. `None` of too few rounds.
pub fn of_median(rounds: &[f64]) -> Option<Interval> {
    let mut sorted: Vec<f64> = rounds.iter().copied().filter(|round| round.is_finite()).collect();
    if sorted.len() < ROUNDS_MIN {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    let outside = left_out(sorted.len());
    Some(Interval { low: sorted[outside], high: sorted[sorted.len() - 1 - outside] })
}

/// How many of so many sorted rounds may be left out at each end.
fn left_out(rounds: usize) -> usize {
    // The chance of so many heads at most, of one coin after the other.
    let (mut chance, mut heads_at_most, mut outside) = (0.5_f64.powi(rounds as i32), 0.0, 0);
    while outside < rounds / 2 {
        heads_at_most += chance;
        chance *= (rounds - outside) as f64 / (outside + 1) as f64;
        if 2.0 * (heads_at_most + chance) > MISS_LIMIT {
            break;
        }
        outside += 1;
    }
    outside
}

/// Packets that were sent, and those of them that were sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Packets {
    /// Packets that were sent.
    pub sent: u64,
    /// Those that were sent again.
    pub resent: u64,
}

impl Packets {
    /// The sum of two measurements.
    pub fn and(self, more: Packets) -> Packets {
        Packets { sent: self.sent.saturating_add(more.sent), resent: self.resent.saturating_add(more.resent) }
    }

    /// The part that was sent again; `None` where nothing was sent.
    pub fn part(self) -> Option<f64> {
        (self.sent > 0).then(|| self.resent.min(self.sent) as f64 / self.sent as f64)
    }

    /// Where the true part lies (E. B. Wilson's score interval). Of nothing it may be any; a few packets that
    /// were sent again may be chance, so that it may be 0.
    pub fn interval(self) -> Interval {
        let Some(part) = self.part() else { return Interval { low: 0.0, high: 1.0 } };
        let (sent, square) = (self.sent as f64, DEVIATIONS * DEVIATIONS);
        let middle = part + square / (2.0 * sent);
        let reach = DEVIATIONS * (part * (1.0 - part) / sent + square / (4.0 * sent * sent)).sqrt();
        let whole = 1.0 + square / sent;
        let low = if self.resent < EVENTS_MIN { 0.0 } else { ((middle - reach) / whole).max(0.0) };
        Interval { low, high: ((middle + reach) / whole).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_interval_is_within_the_rounds_and_around_their_middle(
            rounds in proptest::collection::vec(1e-3_f64..1e10, 0..60),
        ) {
            let Some(found) = of_median(&rounds) else {
                prop_assert!(rounds.len() < ROUNDS_MIN);
                return Ok(());
            };
            let mut sorted = rounds.clone();
            sorted.sort_by(f64::total_cmp);
            prop_assert!(sorted[0] <= found.low && found.high <= sorted[sorted.len() - 1]);
            prop_assert!(found.low <= sorted[sorted.len() / 2]);
            prop_assert!(sorted[(sorted.len() - 1) / 2] <= found.high);
            let turned: Vec<f64> = rounds.iter().rev().copied().collect();
            prop_assert_eq!(of_median(&turned), Some(found));
            let twice: Vec<f64> = rounds.iter().map(|round| round * 2.0).collect();
            let doubled = Interval { low: found.low * 2.0, high: found.high * 2.0 };
            prop_assert_eq!(of_median(&twice), Some(doubled));
        }

        #[test]
        fn one_round_that_was_disturbed_proves_nothing(
            healthy in proptest::collection::vec(0.9_f64..1.1, ROUNDS * 2),
            disturbed in 0.0_f64..0.1,
            at in 0..ROUNDS,
        ) {
            let (one, other) = healthy.split_at(ROUNDS);
            let mut one = one.to_vec();
            one[at] = disturbed;
            let intervals = of_median(&one).zip(of_median(other));
            prop_assert!(intervals.is_some_and(|(one, other)| !one.is_below(0.5, other)));
        }

        #[test]
        fn consistently_slow_rounds_are_significant(
            healthy in proptest::collection::vec(0.7_f64..1.3, ROUNDS),
            slow in proptest::collection::vec(0.0_f64..0.3, ROUNDS),
        ) {
            let intervals = of_median(&slow).zip(of_median(&healthy));
            prop_assert!(intervals.is_some_and(|(slow, healthy)| slow.is_below(0.5, healthy)));
        }

        #[test]
        fn retransmit_rate_is_in_its_interval_which_narrows(
            sent in 1_u64..1_000_000,
            resent in 0_u64..1_000_000,
        ) {
            let packets = Packets { sent, resent: resent.min(sent) };
            let (part, Interval { low, high }) = (packets.part().unwrap(), packets.interval());
            prop_assert!(0.0 <= low && low <= part + 1e-12, "{low} {part}");
            prop_assert!(part <= high + 1e-12 && high <= 1.0, "{part} {high}");
            let more = Packets { sent: sent * 10, resent: packets.resent * 10 }.interval();
            prop_assert!(more.high - more.low <= high - low + 1e-12);
        }

        #[test]
        fn lower_loss_bound_is_monotonic_in_retransmits(
            sent in 1_u64..100_000,
            resent in 0_u64..100_000,
        ) {
            let resent = resent.min(sent - 1);
            let [less, more] = [resent, resent + 1].map(|resent| Packets { sent, resent }.interval().low);
            prop_assert!(less <= more + 1e-12);
        }
    }

    #[test]
    fn median_interval_has_its_stated_coverage() {
        // Numbers of a linear congruential generator, skewed as bandwidths are: mostly near the best, at
        // times far below it. Their median is known.
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        for rounds in [7, 9, 15, 40] {
            let trials = 20_000;
            let missed = (0..trials)
                .filter(|_| {
                    let drawn: Vec<f64> = (0..rounds).map(|_| 1.0 - next().powi(4)).collect();
                    let Interval { low, high } = of_median(&drawn).unwrap();
                    !(low..=high).contains(&(1.0 - 0.5_f64.powi(4)))
                })
                .count();
            assert!(missed as f64 / f64::from(trials) <= MISS_LIMIT * 1.15, "{rounds}: {missed}");
        }
        assert_eq!([5, 7, 8, 10, 11, 20, 40].map(left_out), [0, 0, 0, 0, 1, 4, 11]);
    }

    #[test]
    fn loss_is_sure_only_of_enough_packets() {
        let low = |sent, resent| Packets { sent, resent }.interval().low;
        assert!(low(30, 1) < 0.001, "one of few");
        assert!(low(5_000, 150) > 0.02, "3 % of many");
        assert!(low(5_000, 3) < 0.001);
        assert_eq!(Packets::default().interval(), Interval { low: 0.0, high: 1.0 });
    }
}
