//! Before anything is started or changed: the limits of cluster.yaml that an engine may not set, of all
//! nodes at once. A short-lived container with them either starts or is refused; nothing is guessed.

use std::collections::BTreeSet;
use std::time::Duration;

use diagnostic::Fix;
use diagnostic::units::memory;

use super::Work;
use crate::container;
use crate::fixes;
use crate::observed_state::ObservedState;
use crate::plan::{ClusterPlan, Node, PLAN_LABEL};
use crate::probe;
use crate::problem::{Problem, Step};
use docker::engine::Engine;
use docker::fan_out;
use docker::run::{self, NotRan};
use docker::spec::Run;

/// The longest that one container may take: an engine under load takes seconds.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(60);
/// The least number of open files that cluster.yaml may ask for.
const NOFILE_MIN: u64 = 1024;
/// Prints the hard limits: open files, KiB of locked memory, KiB of stack; then the options of the mount at
/// /dev/shm.
const LIMITS_SCRIPT: &str = "ulimit -H -n; ulimit -H -l; ulimit -H -s; while read -r a b c options d; do if \
    [ \"$b\" = /dev/shm ]; then echo \"$options\"; fi; done </proc/mounts";
/// Docker's own size of /dev/shm, in bytes.
const SHM_DEFAULT_BYTES: u64 = 64 << 20;

/// A limit that an engine refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Refused {
    node: String,
    /// `memlock`, `nofile`, `stack`, `shm`.
    name: &'static str,
    /// What cluster.yaml asks for; -1 is unlimited.
    wanted: i64,
    /// The engine's own limit, or the size that it gives without one, in the unit of `wanted`.
    has: Option<u64>,
    /// What the engine said, where it is no resource limit of its own.
    why: Option<String>,
}

/// Tries the limits on all nodes that have the image and are not in `tried`, and adds these to it.
pub(super) async fn all(
    work: &Work<'_>,
    observed: &[ObservedState],
    tried: &mut BTreeSet<String>,
) -> Result<(), Vec<Problem>> {
    let due: Vec<_> = work
        .nodes
        .iter()
        .zip(observed)
        .filter(|((node, _), observed)| observed.image.is_some() && !tried.contains(&node.name))
        .collect();
    tried.extend(due.iter().map(|((node, _), _)| node.name.clone()));
    let due = due.into_iter().filter(|((node, _), observed)| !runs_with_them(work.plan, node, observed));
    let found = fan_out(due.map(|((node, engine), _)| of_node(work.plan, node, engine))).await;
    let refused: Vec<Refused> = found.into_iter().flatten().collect();
    if refused.is_empty() { Ok(()) } else { Err(vec![problem(work.plan, &refused)]) }
}

/// Whether its container runs already, with what cluster.yaml asks for.
fn runs_with_them(plan: &ClusterPlan, node: &Node, observed: &ObservedState) -> bool {
    let wanted = container::of(plan, node);
    observed
        .container
        .as_ref()
        .is_some_and(|found| found.running && found.labels.get(PLAN_LABEL) == wanted.labels.get(PLAN_LABEL))
}

/// What a node's engine refuses, all of it: an engine names only the first one. Any other reason why a
/// container does not start is left to the step that starts it.
async fn of_node(plan: &ClusterPlan, node: &Node, engine: &Engine) -> Vec<Refused> {
    let wanted = container::of(plan, node);
    let whole = trial(plan, node, engine, "exit 0", wanted.ulimits.clone(), Some(wanted.shm)).await;
    if !matches!(whole, Err(NotRan::Container(_))) {
        return Vec::new();
    }
    // Where it does not start without any of them either, none is the reason.
    let Ok(own) = trial(plan, node, engine, LIMITS_SCRIPT, Vec::new(), None).await else { return Vec::new() };
    let refuses = |name, wanted, why| Refused {
        node: node.name.clone(),
        name,
        wanted,
        has: own_limit(&own.stdout, name),
        why,
    };
    let mut refused = Vec::new();
    for (name, value) in wanted.ulimits {
        match trial(plan, node, engine, "exit 0", vec![(name, value)], None).await {
            Err(NotRan::Container(why)) if matches!(why.cause(), docker::Cause::LimitDenied { .. }) => {
                refused.push(refuses(name, value, None));
            }
            // An authorization plugin, for one.
            Err(NotRan::Container(why @ docker::Error::Engine { .. })) => {
                refused.push(refuses(name, value, Some(why.to_string())));
            }
            _ => {}
        }
    }
    if let Err(NotRan::Container(why @ docker::Error::Engine { .. })) =
        trial(plan, node, engine, "exit 0", Vec::new(), Some(wanted.shm)).await
    {
        let bytes = i64::try_from(wanted.shm).unwrap_or(i64::MAX);
        refused.push(refuses("shm", bytes, Some(why.to_string())));
    }
    refused
}

/// The engine's own limit, from the output of [`LIMITS_SCRIPT`].
pub(crate) fn own_limit(printed: &str, name: &str) -> Option<u64> {
    let mut lines = printed.lines();
    let number = |line: Option<&str>, unit: u64| {
        line?.trim().parse::<u64>().ok().map(|number| number.saturating_mul(unit))
    };
    match name {
        "nofile" => number(lines.next(), 1),
        "memlock" => number(lines.nth(1), 1024),
        "shm" => {
            let options = lines.nth(3).unwrap_or_default();
            let size = options.split(',').find_map(|option| option.strip_prefix("size=")?.strip_suffix('k'));
            Some(
                size.and_then(|kib| kib.parse::<u64>().ok())
                    .map_or(SHM_DEFAULT_BYTES, |kib| kib.saturating_mul(1024)),
            )
        }
        _ => number(lines.nth(2), 1024),
    }
}

async fn trial(
    plan: &ClusterPlan,
    node: &Node,
    engine: &Engine,
    script: &str,
    ulimits: Vec<(&'static str, i64)>,
    shm: Option<u64>,
) -> Result<run::Ran, NotRan> {
    let name = probe::name(plan, node);
    // One that an earlier run left has this name.
    let _ = run::remove(engine, &name).await;
    let spec = Run {
        image: plan.image_name().to_owned(),
        command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        only_reads: true,
        ulimits,
        shm,
        deadline: TRIAL_TIMEOUT,
        ..Run::default()
    };
    run::run(engine, &name, &spec).await
}

/// One report for all nodes, with one block for cluster.yaml.
fn problem(plan: &ClusterPlan, refused: &[Refused]) -> Problem {
    let one = |one: &Refused| {
        let has = one.has.map(|has| match &one.why {
            None => format!(" (its own limit is {})", shown(one.name, has)),
            Some(why) => format!(" ({why}; its default is {})", shown(one.name, has)),
        });
        let why = || one.why.as_ref().map(|why| format!(" ({why})"));
        let wanted = u64::try_from(one.wanted).map_or("unlimited".to_owned(), |value| shown(one.name, value));
        format!("{}: {} to {wanted}{}", one.node, one.name, has.or_else(why).unwrap_or_default())
    };
    let all: Vec<String> = refused.iter().map(one).collect();
    let message = format!(
        "Docker engines refuse limits that cluster.yaml asks for; nothing was started. {}",
        all.join("; ")
    );
    let mut problem = Problem::new(Step::Container, message);
    problem.node = Some(refused[0].node.clone()).filter(|node| refused.iter().all(|one| one.node == *node));
    if let Some(block) = block(plan, refused) {
        problem = problem.fix(Fix::manual(format!(
            "Use the engines' own limits in cluster.yaml, which fit all nodes (enough memlock for NCCL over \
             Ethernet, not for InfiniBand): `{block}`"
        )));
    }
    allowed(refused).into_iter().fold(problem, Problem::fix)
}

/// How the engines can be made to take the limits.
fn allowed(refused: &[Refused]) -> Vec<Fix> {
    let mut fixes = Vec::new();
    let own = refused.iter().filter(|one| one.why.is_none());
    let names: BTreeSet<&str> = own.map(|one| one.name).collect();
    if !names.is_empty() {
        let settings: Vec<String> =
            names.iter().map(|name| format!("Limit{}=infinity", name.to_uppercase())).collect();
        fixes.push(fixes::raise_limits(&settings.join(" and "), "these nodes"));
    }
    if refused.iter().any(|one| one.why.is_some()) {
        fixes.push(Fix::run(
            "Change the rule that refuses it on these nodes; show the plugins of the engine:",
            "docker info --format '{{.Plugins.Authorization}}'",
        ));
    }
    fixes
}

fn shown(name: &str, value: u64) -> String {
    match name {
        "nofile" => value.to_string(),
        _ => memory(value),
    }
}

/// The whole key `limits` for cluster.yaml, with values that all engines take; `None` where there are none,
/// or nobody knows them.
fn block(plan: &ClusterPlan, refused: &[Refused]) -> Option<String> {
    let least = |name: &str| {
        let of_name = refused.iter().filter(|one| one.name == name);
        of_name.map(|one| one.has).collect::<Option<Vec<u64>>>().map(|all| all.into_iter().min())
    };
    // The stack is no key of cluster.yaml, and RDMA needs all memory.
    if refused.iter().any(|one| one.name == "stack") || plan.network.infiniband {
        return None;
    }
    let memlock = match least("memlock")?.or(plan.memlock) {
        Some(bytes) => format!("{}k", bytes >> 10),
        None => "unlimited".to_owned(),
    };
    let nofile = least("nofile")?.unwrap_or(plan.nofile);
    let shm = least("shm")?.unwrap_or(plan.shm) >> 20;
    (nofile >= NOFILE_MIN).then(|| format!("limits: {{ shm: {shm}m, memlock: {memlock}, nofile: {nofile} }}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::two_nodes;
    use diagnostic::FixClass;

    fn refused(node: &str, name: &'static str, wanted: i64, has: Option<u64>) -> Refused {
        Refused { node: node.into(), name, wanted, has, why: None }
    }

    #[test]
    fn combines_refused_limits_of_all_nodes() {
        let plan = two_nodes("limits: {shm: 2g}");
        let all = [
            refused("node1", "memlock", -1, Some(8 << 20)),
            refused("node1", "nofile", 1_048_576, Some(524_288)),
            refused("node2", "memlock", -1, Some(64 << 10)),
        ];
        let problem = problem(&plan, &all);
        assert!(
            problem.message.ends_with(
                "node1: memlock to unlimited (its own limit is 8 MiB); node1: nofile to 1048576 (its own \
                limit is 524288); node2: memlock to unlimited (its own limit is 64 KiB)"
            ),
            "{}",
            problem.message
        );
        let [block, allow] = &problem.fixes[..] else { panic!("{:?}", problem.fixes) };
        assert!(block.title.ends_with("`limits: { shm: 2048m, memlock: 64k, nofile: 524288 }`"), "{block}");
        assert!(allow.title.contains("LimitMEMLOCK=infinity and LimitNOFILE=infinity"), "{allow}");
        assert_eq!(allow.class, FixClass::RestartsService);
    }

    #[test]
    fn shm_that_the_engine_refuses_is_in_the_same_report() {
        let plan = two_nodes("limits: {shm: 2g}");
        let own = "1024\n8192\nunlimited\nrw,nosuid,nodev,noexec,relatime,size=65536k,inode64\n";
        assert_eq!(
            ["nofile", "memlock", "stack", "shm"].map(|name| own_limit(own, name)),
            [Some(1024), Some(8 << 20), None, Some(64 << 20)]
        );
        let denied = "authorization denied by plugin policy: shm above 128 MiB";
        let shm =
            Refused { why: Some(denied.into()), ..refused("node2", "shm", 2 << 30, own_limit(own, "shm")) };
        let problem = problem(&plan, &[refused("node2", "memlock", -1, Some(8 << 20)), shm]);
        assert_eq!(
            problem.message,
            format!(
                "Docker engines refuse limits that cluster.yaml asks for; nothing was started. node2: \
                 memlock to unlimited (its own limit is 8 MiB); node2: shm to 2 GiB ({denied}; its default \
                 is 64 MiB)"
            )
        );
        let [block, allow, rule] = &problem.fixes[..] else { panic!("{:?}", problem.fixes) };
        assert!(block.title.contains("`limits: { shm: 64m, memlock: 8192k, nofile: "), "{block}");
        assert!(allow.title.contains("LimitMEMLOCK=infinity in"), "{allow}");
        assert!(rule.commands[0].contains("docker info"), "{rule}");
    }

    #[test]
    fn suggests_no_limits_that_are_unknown_or_too_small() {
        let plan = two_nodes("");
        assert_eq!(block(&plan, &[refused("node1", "memlock", -1, None)]), None);
        assert_eq!(block(&plan, &[refused("node1", "nofile", 1_048_576, Some(512))]), None);
        assert_eq!(block(&plan, &[refused("node1", "stack", 64 << 20, Some(8 << 20))]), None);
        let rdma = two_nodes("network: {infiniband: true}");
        assert_eq!(block(&rdma, &[refused("node1", "memlock", -1, Some(65_536))]), None);
    }
}
