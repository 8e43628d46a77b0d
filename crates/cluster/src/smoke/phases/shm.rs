//! /dev/shm of this machine, which all its ranks share.

use std::time::Instant;

use super::{PhaseRunner, Place};
use crate::smoke::outcome::PhaseFailed;
use crate::smoke::phase::PhaseId;
use crate::smoke::shm;

impl<'p> PhaseRunner<'p> {
    /// The first rank tries it for all.
    pub(super) async fn shared_memory(&mut self) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::Shm, "checking /dev/shm");
        let place =
            |place: &'p Place| shm::Place { name: "this machine", container: None, session: &place.session };
        let first: Vec<_> = self.places.iter().take(1).map(place).collect();
        shm::check(&first, self.options.deadline, start, &mut self.outcome).await
    }
}
