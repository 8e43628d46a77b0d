//! Access Control Services of a bridge, from its configuration space.

use super::DEVICES;
use crate::{Fact, IntoFact};
use host::{Host, Missing, MissingKind};

/// Whether the bridge at this address redirects.
pub(super) fn redirects(host: &dyn Host, address: &str) -> Fact<bool> {
    let path = format!("{DEVICES}/{address}/config");
    host.hex(&path).text().and_then(|config| parse_acs(&config)).about(&path)
}

/// Walks the extended capabilities from 0x100 on to Access Control Services (id 0x0d), whose control register
/// is at +6; bit 2 of it is "P2P Request Redirect".
pub(super) fn parse_acs(config: &str) -> Fact<bool> {
    let byte = |at: usize| config.get(at * 2..at * 2 + 2).and_then(|two| u32::from_str_radix(two, 16).ok());
    let word = |at: usize| Some(byte(at)? | byte(at + 1)? << 8);
    // The kernel shows 64 bytes to everybody and the rest to root only. 256 are all where there is no
    // extended space.
    if config.len() < 256 * 2 {
        return Fact::Unknown(Missing::new(
            MissingKind::Denied,
            format!("{}: only root may read the whole configuration space", Missing::denied()),
        ));
    }
    let mut at = 0x100;
    for _ in 0..64 {
        let (Some(id), Some(next)) = (word(at), word(at + 2)) else { return Fact::Absent };
        if id == 0x000d {
            return word(at + 6).map_or(Fact::Absent, |control| Fact::Known(control & 0x0004 != 0));
        }
        at = (next >> 4) as usize;
        if at < 0x100 {
            break;
        }
    }
    Fact::Absent
}
