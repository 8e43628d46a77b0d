//! A lock from the request to the end of the work under it.

use std::time::Duration;

use super::{Access, Error, Lock, Obstacle, acquire};
use crate::plan::ClusterPlan;
use docker::engine::Engine;

/// What a lock is asked for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub plan: &'a ClusterPlan,
    /// The engine of its first node.
    pub engine: &'a Engine,
    /// The run's [`run_id`].
    pub id: &'a str,
    /// `up`, `launch`.
    pub command: &'a str,
    /// What it does with the cluster.
    pub access: Access,
    /// The longest that it waits for other runs.
    pub limit: Duration,
    /// Whether it may go on without a lock where the engine gives none: what only looks must work on a
    /// cluster that is broken.
    pub optional: bool,
}

/// What happens while a run asks for a lock.
pub enum Notice<'a> {
    /// It waits for this.
    Waiting(&'a Obstacle),
    /// It goes on without a lock.
    Unlocked(&'a docker::Error),
}

/// A lock that is held, or none where that is allowed.
pub struct Held<'e>(Option<Lock<'e>>);

impl<'e> Held<'e> {
    /// Asks for one; without a request there is none. `None` after an interruption, which leaves nothing.
    pub async fn take(
        request: Option<Request<'e>>,
        notice: impl Fn(Notice<'_>),
        interrupted: impl Future<Output = ()>,
    ) -> Result<Option<Held<'e>>, Error> {
        tokio::select! {
            held = Held::asked(request, notice) => held.map(Some),
            () = interrupted => {
                if let Some(request) = &request {
                    Lock::new(request).release().await;
                }
                Ok(None)
            }
        }
    }

    async fn asked(request: Option<Request<'e>>, notice: impl Fn(Notice<'_>)) -> Result<Held<'e>, Error> {
        let Some(request) = request else { return Ok(Held(None)) };
        match acquire(&request, |obstacle| notice(Notice::Waiting(obstacle))).await {
            Ok(lock) => Ok(Held(Some(lock))),
            Err(Error::Engine(why)) if request.optional => {
                notice(Notice::Unlocked(&why));
                Ok(Held(None))
            }
            Err(why) => Err(why),
        }
    }

    /// Does something, and gives signs of life meanwhile.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let Held(Some(lock)) = self else { return work.await };
        tokio::select! {
            done = work => done,
            never = lock.keep() => match never {},
        }
    }

    pub async fn release(self) {
        if let Some(lock) = self.0 {
            lock.release().await;
        }
    }
}

/// Does something while holding the lock; `None` after an interruption.
pub async fn with<T>(
    request: Option<Request<'_>>,
    notice: impl Fn(Notice<'_>),
    work: impl Future<Output = T>,
    interrupted: impl Future<Output = ()>,
) -> Result<Option<T>, Error> {
    let mut interrupted = std::pin::pin!(interrupted);
    let Some(held) = Held::take(request, notice, &mut interrupted).await? else { return Ok(None) };
    let done = tokio::select! {
        done = held.during(work) => Some(done),
        () = &mut interrupted => None,
    };
    held.release().await;
    Ok(done)
}
