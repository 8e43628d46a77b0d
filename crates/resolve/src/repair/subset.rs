//! Which of several pins have to change so that the rest holds.
//!
//! Pins are numbers here, in the order in which they are kept: 0 changes last. All of them together do not
//! hold, none of them does.

/// Searches for a set of changes, and counts them.
pub(super) struct Trials<F> {
    holds: F,
    /// Searches made so far.
    pub searches: usize,
    /// After so many searches no smaller set is looked for.
    limit: usize,
}

/// The pins that change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changes {
    /// In ascending order. None of them can be left out.
    pub pins: Vec<usize>,
    /// Whether no set with fewer changes exists; `false`: there may be one.
    pub fewest: bool,
}

impl<F: FnMut(&[usize]) -> bool> Trials<F> {
    pub(super) fn new(limit: usize, holds: F) -> Trials<F> {
        Trials { holds, searches: 0, limit }
    }

    pub(super) fn holds(&mut self, kept: &[usize]) -> bool {
        self.searches += 1;
        (self.holds)(kept)
    }

    /// The same while searches are left.
    fn holds_in_time(&mut self, kept: &[usize]) -> Option<bool> {
        (self.searches < self.limit).then(|| self.holds(kept))
    }

    /// As few changes as possible.
    pub(super) fn changes(&mut self, pins: usize) -> Changes {
        let all: Vec<usize> = (0..pins).collect();
        // A pin that does not hold alone changes in any case. Of very many pins it is cheaper to find out
        // first which ones hold together.
        let few = 2 * pins <= self.limit;
        let alone: Vec<usize> = all.iter().copied().filter(|pin| few && !self.holds(&[*pin])).collect();
        let mut kept = Vec::new();
        self.keep(&mut kept, &without(&all, &alone), alone.is_empty());
        let pins = without(&all, &kept);
        match self.fewer(&all, &pins, few.then_some(alone)) {
            Some(Some(fewer)) => Changes { pins: fewer, fewest: true },
            Some(None) => Changes { pins, fewest: true },
            None => Changes { pins, fewest: false },
        }
    }

    /// Adds to the kept pins what holds together with them, the first ones first; whether that is all of
    /// them. `fails`: all of them together are known not to hold.
    fn keep(&mut self, kept: &mut Vec<usize>, pins: &[usize], fails: bool) -> bool {
        if !fails && self.holds(&[kept, pins].concat()) {
            kept.extend(pins);
            return true;
        }
        if pins.len() > 1 {
            let (first, last) = pins.split_at(pins.len() / 2);
            let all_of_first = self.keep(kept, first, false);
            self.keep(kept, last, all_of_first);
        }
        false
    }

    /// Those of some pins that do not hold alone.
    fn alone(&mut self, pins: &[usize]) -> Option<Vec<usize>> {
        let mut alone = Vec::new();
        for pin in pins {
            if !self.holds_in_time(&[*pin])? {
                alone.push(*pin);
            }
        }
        Some(alone)
    }

    /// A set of changes with fewer than a known one, if there is any. `None`: the searches were used up.
    fn fewer(
        &mut self,
        all: &[usize],
        known: &[usize],
        alone: Option<Vec<usize>>,
    ) -> Option<Option<Vec<usize>>> {
        let forced = match alone {
            Some(alone) => alone,
            None => self.alone(known)?,
        };
        let free = without(all, &forced);
        let bound = known.len() - forced.len();
        if bound < 2 {
            return Some(None);
        }
        // Every set of changes has a pin of each conflict: the smallest one that has cannot be improved on.
        let mut conflicts: Vec<Vec<usize>> = Vec::new();
        while let Some(chosen) = (0..bound).find_map(|size| one_of_each(&conflicts, &[], size)) {
            let rest = without(&free, &chosen);
            if self.holds_in_time(&rest)? {
                let mut fewer = [forced, chosen].concat();
                fewer.sort_unstable();
                return Some(Some(fewer));
            }
            conflicts.push(self.conflict(&[], false, &rest)?);
        }
        Some(None)
    }

    /// Pins that do not hold together with others while every smaller part of them does (QuickXplain).
    /// `grown`: the others have just become more, and may not hold by themselves.
    fn conflict(&mut self, others: &[usize], grown: bool, pins: &[usize]) -> Option<Vec<usize>> {
        if grown && !self.holds_in_time(others)? {
            return Some(Vec::new());
        }
        if pins.len() <= 1 {
            return Some(pins.to_vec());
        }
        let (first, last) = pins.split_at(pins.len() / 2);
        let of_last = self.conflict(&[others, first].concat(), true, last)?;
        let of_first = self.conflict(&[others, &of_last].concat(), !of_last.is_empty(), first)?;
        Some([of_first, of_last].concat())
    }
}

fn without(all: &[usize], some: &[usize]) -> Vec<usize> {
    all.iter().copied().filter(|one| !some.contains(one)).collect()
}

/// So many pins at most that every conflict has one of them, besides those that are chosen already; of pins
/// that change the last one first.
fn one_of_each(conflicts: &[Vec<usize>], chosen: &[usize], more: usize) -> Option<Vec<usize>> {
    let open = conflicts.iter().find(|conflict| conflict.iter().all(|pin| !chosen.contains(pin)));
    let Some(conflict) = open else { return Some(chosen.to_vec()) };
    let mut last_first = conflict.clone();
    last_first.sort_unstable_by(|one, other| other.cmp(one));
    let with = |pin: usize| one_of_each(conflicts, &[chosen, &[pin]].concat(), more - 1);
    if more == 0 { None } else { last_first.into_iter().find_map(with) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Searches where these sets of pins conflict.
    fn trials(conflicts: &[Vec<usize>], limit: usize) -> Trials<impl FnMut(&[usize]) -> bool> {
        Trials::new(limit, move |kept: &[usize]| {
            conflicts.iter().all(|conflict| conflict.iter().any(|pin| !kept.contains(pin)))
        })
    }

    fn conflicts(pins: usize) -> impl Strategy<Value = Vec<Vec<usize>>> {
        let all: Vec<usize> = (0..pins).collect();
        prop::collection::vec(proptest::sample::subsequence(all, 1..4), 1..7)
    }

    #[test]
    fn one_pin_that_is_in_every_conflict_changes_alone() {
        let conflicts = [vec![0, 4], vec![1, 4], vec![2, 4], vec![3, 4]];
        assert_eq!(trials(&conflicts, 60).changes(5), Changes { pins: vec![4], fewest: true });
        // Kept first, and still the one that changes: otherwise four would.
        let conflicts = [vec![0, 1], vec![0, 2], vec![0, 3], vec![0, 4]];
        assert_eq!(trials(&conflicts, 60).changes(5), Changes { pins: vec![0], fewest: true });
    }

    #[test]
    fn of_two_pins_the_later_one_changes() {
        assert_eq!(trials(&[vec![1, 3]], 60).changes(5), Changes { pins: vec![3], fewest: true });
    }

    #[test]
    fn the_last_pins_of_many_take_few_searches() {
        let conflicts: Vec<Vec<usize>> = (44..50).map(|pin| vec![pin]).collect();
        let mut trials = trials(&conflicts, 60);
        assert_eq!(trials.changes(50), Changes { pins: (44..50).collect(), fewest: true });
        assert!(trials.searches <= 30, "{}", trials.searches);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 500, failure_persistence: None, ..ProptestConfig::default()
        })]

        /// Every set of pins is tried.
        #[test]
        fn no_set_with_fewer_changes_exists(conflicts in conflicts(9)) {
            let changes = trials(&conflicts, usize::MAX).changes(9);
            prop_assert!(changes.fewest);
            let enough = |changed: &dyn Fn(usize) -> bool| {
                conflicts.iter().all(|conflict| conflict.iter().any(|pin| changed(*pin)))
            };
            prop_assert!(enough(&|pin| changes.pins.contains(&pin)));
            let smallest = (0_u32..1 << 9).filter(|set| enough(&|pin| set & (1 << pin) != 0));
            let smallest = smallest.map(u32::count_ones).min();
            prop_assert_eq!(smallest, Some(u32::try_from(changes.pins.len()).unwrap()));
        }

        /// The searches are limited, and what is found without more of them has nothing superfluous.
        #[test]
        fn no_change_can_be_left_out_when_searches_run_out(
            conflicts in conflicts(12), limit in 0_usize..40,
        ) {
            let mut limited = trials(&conflicts, limit);
            let changes = limited.changes(12);
            prop_assert!(limited.searches <= limit.max(3 * 12), "{}", limited.searches);
            let kept: Vec<usize> = without(&(0..12).collect::<Vec<_>>(), &changes.pins);
            prop_assert!(limited.holds(&kept));
            for pin in &changes.pins {
                prop_assert!(!limited.holds(&[kept.clone(), vec![*pin]].concat()));
            }
        }
    }
}
