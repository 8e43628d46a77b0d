//! /dev/shm of this machine, which all its ranks share.

use std::time::Instant;

use super::{Endpoint, PhaseRunner};
use crate::smoke::outcome::PhaseFailed;
use crate::smoke::phase::PhaseId;
use crate::smoke::shm;

impl<'p> PhaseRunner<'p> {
    /// The first rank tries it for all.
    pub(super) async fn shared_memory(&mut self) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::Shm, "checking /dev/shm");
        let endpoint = |endpoint: &'p Endpoint| shm::Endpoint {
            name: "this machine",
            container: None,
            session: &endpoint.session,
        };
        let first: Vec<_> = self.endpoints.iter().take(1).map(endpoint).collect();
        shm::check(&first, self.options.deadline, start, &mut self.outcome).await
    }
}
