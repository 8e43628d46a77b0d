//! Entries of an overlay that an engine lost or never got: the engines tell each other by gossip which
//! container is where, and without the entry of a container the engine carries nothing to it. From inside
//! that looks like a blocked port, and is none.

use std::net::IpAddr;

use super::container_probe::{ContainerProbe, Tried};
use super::problem::{Problem, Step};
use crate::fixes;
use crate::worker::{Failure, Why};
use diagnostic::Fix;

/// What an engine does not have, or has wrong, of another one's container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StaleEntry {
    /// The name, while the other engine has its own container's: the addresses that it gives instead, where
    /// it gives any.
    Name(Vec<IpAddr>),
    /// The name came late, and packets for it stop at the other machine all the same.
    Late,
    /// Its hardware address: the engine answers for every container that it knows of, and did not for this
    /// one.
    Hardware,
    /// The machine that it is on: from there connections stand, which takes the overlay's data both ways, and
    /// nothing gets there.
    Machine,
}

/// What the engine of `tried.from` lost of the container of `tried.to`, where what was tried shows that.
/// `back` is the same the other way round; `datagram` says whether one gets from the one container to the
/// other, where that was tried.
pub fn stale_entry(
    tried: &Tried,
    back: Option<&Tried>,
    datagram: Option<&Result<(), Failure>>,
) -> Option<StaleEntry> {
    let failed = |tried: &Tried| tried.connects.as_ref().err().map(|failure| failure.why);
    if tried.neighbour == Some(false) && failed(tried) == Some(Why::Unreachable) {
        return Some(StaleEntry::Hardware);
    }
    let stands = back.is_some_and(|back| back.connects.is_ok());
    let nothing =
        datagram.is_some_and(|datagram| datagram.as_ref().is_err_and(|failure| failure.why == Why::TimedOut));
    if failed(tried) == Some(Why::TimedOut) && stands && nothing {
        return Some(StaleEntry::Machine);
    }
    match &tried.name {
        // Another address is what the container had before; without any, the other engine's own knowledge
        // shows that names are announced.
        Err(name) if !name.instead.is_empty() || back.is_some_and(|back| back.name.is_ok()) => {
            Some(StaleEntry::Name(name.instead.clone()))
        }
        _ => None,
    }
}

impl StaleEntry {
    /// The finding with its fixes; `reattached`: the other container was reattached before.
    pub fn problem(
        &self,
        step: Step,
        one: &ContainerProbe<'_>,
        other: &ContainerProbe<'_>,
        tried: &Tried,
        reattached: bool,
    ) -> Problem {
        let (a, b, address) = (&one.node.name, &other.node.name, other.address);
        let failure = tried.connects.as_ref().err().map_or(String::new(), |failure| failure.message.clone());
        let observation = match self {
            StaleEntry::Name(instead) if instead.is_empty() => {
                format!("{a} cannot resolve {b}, while {b} resolves {a} and 7946/tcp is open")
            }
            StaleEntry::Name(instead) => {
                format!("its name resolves to the old address {} (now {address})", listed(instead))
            }
            StaleEntry::Late => format!(
                "{a} resolved {b} late, and packets from {a} reach the machine {b} and not its container"
            ),
            StaleEntry::Hardware => format!(
                "no ARP answer for {address} ({failure}), which the engine gives for every container it knows"
            ),
            StaleEntry::Machine => format!(
                "no packet passes from {a} to {address} ({failure}), while a connection from {b} to {a} \
                    works, which needs 4789/udp in both directions"
            ),
        };
        let again = if reattached { " even after the container was reattached" } else { "" };
        let has = match self {
            StaleEntry::Late => "may have an incomplete overlay entry",
            _ => "has no overlay entry",
        };
        let message =
            format!("the Docker engine on {a} {has} for the container of {b}{again}: {observation}");
        let problem = Problem::of(step, a, message);
        match reattached {
            false => problem
                .fix(fixes::reattach())
                .fix(fixes::restart_container(format!("Restart the container by hand, on {b}:"), b)),
            true => problem
                .fix(fixes::restart_engine(format!(
                    "Restart the Docker engine on {a} (also restarts its containers), which fetches all \
                        entries again:"
                )))
                .fix(Fix::run(
                    format!("If it comes back, check on {a} whether 7946/udp arrives from {b}:"),
                    "tcpdump -ni any udp port 7946",
                )),
        }
    }
}

/// The fewest containers to reattach so that every pair has one of them: either side of a pair works. A busy
/// one is chosen only where the other side is busy too.
pub fn to_reattach(pairs: &[(usize, usize)], busy: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut left = pairs.to_vec();
    let mut chosen = Vec::new();
    while let Some((first, last)) = left.last().copied() {
        let count = |index: usize| left.iter().filter(|(from, to)| *from == index || *to == index).count();
        let idle = left.iter().flat_map(|(from, to)| [*from, *to]).filter(|index| !busy(*index));
        let most = idle.map(|index| (count(index), index)).max();
        // Of two nodes alone it is the one that the other lost.
        let of_pair = if busy(last) && !busy(first) { first } else { last };
        let index = most.filter(|(most, _)| *most > count(of_pair)).map_or(of_pair, |(_, index)| index);
        chosen.push(index);
        left.retain(|(from, to)| *from != index && *to != index);
    }
    chosen.sort_unstable();
    chosen
}

fn listed(addresses: &[IpAddr]) -> String {
    addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container_probe::Unresolved;

    fn tried(connects: Option<Why>) -> Tried {
        let failure = |why| Failure { why, message: String::new() };
        Tried {
            from: 0,
            to: 1,
            name: Ok(()),
            connects: connects.map_or(Ok(()), |why| Err(failure(why))),
            neighbour: connects.map(|_| true),
            packet: None,
            ssh: None,
        }
    }

    fn nothing() -> Result<(), Failure> {
        Err(Failure { why: Why::TimedOut, message: String::new() })
    }

    #[test]
    fn unanswered_arp_is_a_stale_hardware_entry() {
        let one = Tried { neighbour: Some(false), ..tried(Some(Why::Unreachable)) };
        // The answer of the one cannot leave either: the other way round fails too.
        let back = tried(Some(Why::TimedOut));
        assert_eq!(stale_entry(&one, Some(&back), Some(&nothing())), Some(StaleEntry::Hardware));
        assert_eq!(stale_entry(&back, Some(&one), Some(&nothing())), None);
        // Unreachable for another reason, or the table could not be read.
        assert_eq!(stale_entry(&tried(Some(Why::Unreachable)), None, None), None);
        assert!(!one.found_late(), "nobody answers for it");
        let late = Tried { neighbour: Some(true), ..one.clone() };
        assert!(late.found_late() && stale_entry(&late, None, None).is_none());
        assert!(!tried(Some(Why::TimedOut)).found_late());
        assert_eq!(stale_entry(&Tried { neighbour: None, ..one }, None, None), None);
    }

    #[test]
    fn reverse_connection_rules_out_a_blocked_port() {
        let one = tried(Some(Why::TimedOut));
        assert_eq!(stale_entry(&one, Some(&tried(None)), Some(&nothing())), Some(StaleEntry::Machine));
        // A datagram gets there: it is the listener, not the way.
        assert_eq!(stale_entry(&one, Some(&tried(None)), Some(&Ok(()))), None);
        assert_eq!(stale_entry(&one, Some(&tried(None)), None), None);
        // 4789/udp blocked: neither way.
        assert_eq!(stale_entry(&one, Some(&tried(Some(Why::TimedOut))), Some(&nothing())), None);
        // Refused: somebody was reached.
        assert_eq!(stale_entry(&tried(Some(Why::Refused)), Some(&tried(None)), Some(&nothing())), None);
    }

    #[test]
    fn name_known_on_one_side_only_is_a_stale_name_entry() {
        let unknown = |instead: &[IpAddr]| Tried {
            name: Err(Unresolved { message: String::new(), instead: instead.to_vec() }),
            ..tried(None)
        };
        assert_eq!(stale_entry(&unknown(&[]), Some(&tried(None)), None), Some(StaleEntry::Name(Vec::new())));
        // Neither knows the other: the gossip may be blocked.
        assert_eq!(stale_entry(&unknown(&[]), Some(&unknown(&[])), None), None);
        let old: IpAddr = "10.0.1.6".parse().unwrap();
        assert_eq!(
            stale_entry(&unknown(&[old]), Some(&unknown(&[])), None),
            Some(StaleEntry::Name(vec![old]))
        );
    }
}
