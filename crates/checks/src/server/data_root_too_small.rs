//! There is little space where images lie.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::docker::State;

pub(super) const CHECK: Check = Check {
    id: "data-root-too-small",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::Host,
    summary: "the data root has room for a CUDA image (25 GiB)",
    explain: include_str!("data_root_too_small.md"),
    judge,
};

/// Below this the smallest of the measured images does not fit.
const TOO_SMALL: u64 = 11_000_000_000;
/// Below this the largest of them does not.
const SMALL: u64 = 25 << 30;

fn judge(facts: &Facts) -> Judged {
    let docker = &facts.docker;
    match docker.state() {
        State::Missing => return Err(Verdict::NotApplicable("no Docker engine on this machine".into())),
        State::Unknown(why) => return Err(Verdict::Unknown(why)),
        _ => {}
    }
    let root = docker.data_root.require("images are stored inside Docker Desktop's virtual machine")?;
    let free = root.space.available;
    if free >= SMALL {
        return Ok(Verdict::Pass);
    }
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let message = format!(
        "{:.1} GiB free in the data root {} ({:.0} GiB total); an image with CUDA and torch takes 10 to 24 \
         GB",
        gib(free),
        root.path,
        gib(root.space.total)
    );
    let fix = Fix::restarts_service(
        "Remove unused images and build cache, or move data-root to a larger disk:",
        &["docker system df", "docker builder prune", "docker image prune -a"],
    );
    Ok(if free < TOO_SMALL { Verdict::error(message, fix) } else { Verdict::warning(message, fix) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::host};

    use facts::testing::sparse::engine;

    #[test]
    fn free_space_decides() {
        let of = |gib: u64| {
            let space = format!(r#"{{"total":{},"available":{}}}"#, 500_u64 << 30, gib << 30);
            verdict_line(&CHECK, &host(&engine("{}", &[("space /var/lib/docker", space.as_str())])))
        };
        assert!(of(5).starts_with("error: 5.0 GiB free"));
        assert!(of(15).starts_with("warning: "));
        assert_eq!(of(200), "pass");
        let unknown = engine("{}", &[]).failing(&[("space /var/lib/docker", "permission denied")]);
        assert!(verdict_line(&CHECK, &host(&unknown)).starts_with("unknown: "));
        assert!(verdict_line(&CHECK, &host(&Sparse::new(&[]))).starts_with("not-applicable"));
    }
}
