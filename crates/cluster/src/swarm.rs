//! What is to be done so that the nodes are one swarm: decided from what their engines say, and nothing of
//! anybody else's is touched.

use std::net::IpAddr;

use diagnostic::Fix;
use docker::swarm::{Member, State};

use super::observed_state::ObservedState;
use super::plan::Node;
use super::problem::{Problem, Step};
use super::record::Recorded;

mod same_engine;

pub use same_engine::namesakes;
use same_engine::twice;

const STEP: Step = Step::Swarm;

/// What is to be done with a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing: it is in.
    None,
    /// Start a swarm.
    Init,
    /// Join the first node's.
    Join,
    /// It is joining: wait.
    Wait,
    /// An attempt to join has failed before and left a mark: leave, and join again.
    Again,
}

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// For each node, in order.
    pub actions: Vec<Action>,
    /// Ids of members that are earlier lives of our nodes, to be taken off the list when those have joined.
    pub stale: Vec<String>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Decides. `members` are those of the first node's swarm, where it manages one; `former`: machines that were
/// nodes of the cluster and may still be members.
pub fn decide(
    nodes: &[ObservedState],
    members: &[Member],
    former: &[Recorded],
) -> Result<Decision, Vec<Problem>> {
    let mut problems = twice(nodes);
    let Some((leader, others)) = nodes.split_first() else { return Ok(Decision::default()) };
    let first = match leading(leader) {
        Ok(action) => action,
        Err(problem) => {
            problems.push(problem);
            return Err(problems);
        }
    };
    let mut decision = Decision { actions: vec![first], ..Decision::default() };
    for node in others {
        match following(node, leader, first, members) {
            Ok(action) => decision.actions.push(action),
            Err(problem) => problems.push(problem),
        }
    }
    let is_ours = |member: &Member| nodes.iter().any(|node| node.machine.swarm.node == member.id);
    let (stale, strangers): (Vec<_>, Vec<_>) =
        members.iter().filter(|member| !is_ours(member)).partition(|member| {
            !member.ready && nodes.iter().any(|node| node.machine.hostname == member.hostname)
        });
    let former = |member: &Member| former.iter().any(|former| former.hostname == member.hostname);
    let strangers: Vec<_> = strangers.into_iter().filter(|member| !former(member)).collect();
    decision.stale = stale.into_iter().map(|member| member.id.clone()).collect();
    let changes = decision.actions.iter().any(|action| *action != Action::None);
    if !strangers.is_empty() {
        let names: Vec<_> = strangers.iter().map(|member| member.hostname.as_str()).collect();
        let message =
            format!("the swarm of {} has members outside this cluster: {}", leader.name, names.join(", "));
        if changes {
            problems.push(
                Problem::of(
                    STEP,
                    &leader.name,
                    format!(
                        "{message}; envdoc does not add nodes to a \
                            swarm it does not manage"
                    ),
                )
                .fix(Fix::run(
                    "Join the missing nodes yourself with `docker swarm join`, then use the swarm as it is:",
                    "envdoc cluster up",
                ))
                .fix(Fix::run(
                    "Remove those members if they are gone for good:",
                    format!("docker node rm {}", names.join(" ")),
                )),
            );
        } else {
            decision.notes.push(format!("{message}; using the swarm as it is"));
        }
    }
    if problems.is_empty() { Ok(decision) } else { Err(problems) }
}

/// Whether an engine is starting a swarm, not joining one.
pub fn is_starting(node: &ObservedState) -> bool {
    node.machine.swarm.state == State::Pending && node.machine.swarm.managers.is_empty()
}

fn leading(leader: &ObservedState) -> Result<Action, Problem> {
    let swarm = &leader.machine.swarm;
    match swarm.state {
        State::Inactive => Ok(Action::Init),
        State::Active if swarm.manager => Ok(Action::None),
        State::Active => Err(Problem::of(
            STEP,
            &leader.name,
            format!(
                "{} is a worker of a swarm that {} manages; the first node must be a manager",
                leader.name,
                swarm.managers.join(", ")
            ),
        )
        .fix(Fix::run(
            "Put the manager first under `nodes`, or promote this node on the manager:",
            "docker node promote NODE",
        ))
        .fix(Fix::manual("Use a machine that is in no swarm as the first node"))),
        State::Pending => Err(Problem::of(
            STEP,
            &leader.name,
            match swarm.managers.is_empty() {
                true => format!("{} is starting or joining a swarm", leader.name),
                false => {
                    format!("{} is joining a different swarm ({})", leader.name, swarm.managers.join(", "))
                }
            },
        )
        .fix(Fix::run("Wait until it is done, then run again:", "docker info --format '{{json .Swarm}}'"))),
        State::Locked => Err(locked(leader)),
        State::Error => Err(unwell(leader)),
    }
}

fn locked(node: &ObservedState) -> Problem {
    Problem::of(STEP, &node.name, format!("the swarm on {} is locked", node.name)).fix(Fix::run(
        "Unlock it with the key that `docker swarm unlock-key` printed:",
        "docker swarm unlock",
    ))
}

fn unwell(node: &ObservedState) -> Problem {
    Problem::of(
        STEP,
        &node.name,
        format!("the swarm on {} reports an error: {}", node.name, node.machine.swarm.error),
    )
    .fix(Fix::run("Read the engine's log:", "journalctl -u docker"))
    .fix(Fix::manual("Fix the cause; envdoc leaves this swarm alone because its state may be the only copy"))
}

fn following(
    node: &ObservedState,
    leader: &ObservedState,
    first: Action,
    members: &[Member],
) -> Result<Action, Problem> {
    let swarm = &node.machine.swarm;
    let elsewhere = || {
        let managers = match swarm.managers.is_empty() {
            true => "itself".to_owned(),
            false => swarm.managers.join(", "),
        };
        Problem::of(
            STEP,
            &node.name,
            format!(
                "{} is already a member of a different swarm, managed by {managers}; envdoc does not \
                    remove it from there",
                node.name
            ),
        )
        .fix(Fix::manual(
            "Put that swarm's manager first under `nodes`, or remove the node from cluster.yaml",
        ))
        .fix(Fix::restarts_service(
            "Leave its swarm, if nothing on that node needs it (`docker ps`):",
            &["docker swarm leave"],
        ))
    };
    let ours = swarm
        .managers
        .iter()
        .any(|manager| manager.rsplit_once(':').is_some_and(|(host, _)| host == leader.address));
    match swarm.state {
        State::Inactive => Ok(Action::Join),
        State::Active if first == Action::None && members.iter().any(|member| member.id == swarm.node) => {
            Ok(Action::None)
        }
        State::Active => Err(elsewhere()),
        State::Pending if ours => Ok(Action::Wait),
        State::Pending => Err(elsewhere()),
        State::Locked => Err(locked(node)),
        // It never became a member of anything: nothing is lost by leaving.
        State::Error if swarm.node.is_empty() && node.joining => Ok(Action::Again),
        State::Error => Err(unwell(node)),
    }
}

/// A member whose address in the swarm is none of its machine's any more. `own`: those that it has; `leader`:
/// the node that manages the swarm, where it is another one.
pub fn moved(
    step: Step,
    (node, hostname): (&Node, &str),
    joined: IpAddr,
    own: &[IpAddr],
    leader: Option<&str>,
) -> Option<Problem> {
    if own.is_empty() || own.contains(&joined) {
        return None;
    }
    let name = &node.name;
    let listed = own.iter().filter(|address| address.is_ipv4() == joined.is_ipv4());
    let listed: Vec<String> = listed.map(IpAddr::to_string).collect();
    let message = format!(
        "the swarm has the address {joined} for {name}, which that machine no longer has (it has {}); the \
            other nodes send its containers' traffic to the old address",
        listed.join(", ")
    );
    let problem = Problem::of(step, name, message).fix(Fix::safe(
        format!("Show it, on {name}:"),
        &["docker info --format '{{.Swarm.NodeAddr}}'", "ip -brief address"],
    ));
    Some(match leader {
        Some(leader) => problem
            .fix(Fix::restarts_service(
                format!("Take {name} out of the swarm, on {name}:"),
                &["docker swarm leave"],
            ))
            .fix(Fix::run(
                format!("Remove its old entry, on {leader}:"),
                format!("docker node rm --force {hostname}"),
            ))
            .fix(Fix::run("Join it with its new address:", "envdoc cluster up")),
        None => problem.fix(Fix::restarts_service(
            "Make the swarm again with the new address:",
            &["envdoc cluster down --leave-swarm && envdoc cluster up"],
        )),
    })
}

/// A note on a member whose address in the swarm is not that of cluster.yaml: its machine was not asked.
pub fn other_address(observed: &ObservedState) -> Option<String> {
    let swarm = &observed.machine.swarm;
    let (joined, planned) = (swarm.address.parse::<IpAddr>().ok()?, observed.address.parse::<IpAddr>().ok()?);
    (swarm.state == State::Active && joined != planned).then(|| {
        format!(
            "{name}: the swarm knows it as {joined}, cluster.yaml as {planned}; if {joined} is no address of \
                that machine any more, packets to its containers get lost. Check on {name}: `ip -brief \
                address`; `envdoc cluster up` checks it too",
            name = observed.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use docker::swarm::{Machine, Membership};

    fn node(number: usize, state: State, id: &str, manager: bool, managers: &[&str]) -> ObservedState {
        ObservedState {
            name: format!("node{number}"),
            address: format!("10.0.18.{number}"),
            machine: Machine {
                id: format!("ENGINE{number}"),
                hostname: format!("host{number}"),
                swarm: Membership {
                    state,
                    node: id.into(),
                    manager,
                    managers: managers.iter().map(|address| (*address).to_owned()).collect(),
                    ..Membership::default()
                },
                ..Machine::default()
            },
            ..ObservedState::default()
        }
    }

    fn member(id: &str, hostname: &str, ready: bool) -> Member {
        Member { id: id.into(), hostname: hostname.into(), ready, ..Member::default() }
    }

    fn message(result: Result<Decision, Vec<Problem>>) -> String {
        result.unwrap_err().into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("\n")
    }

    const OURS: &[&str] = &["10.0.18.1:2377"];

    #[test]
    fn bare_nodes_become_a_swarm() {
        let nodes = [node(1, State::Inactive, "", false, &[]), node(2, State::Inactive, "", false, &[])];
        assert_eq!(decide(&nodes, &[], &[]).unwrap().actions, [Action::Init, Action::Join]);
    }

    #[test]
    fn own_swarm_is_reused_and_missing_nodes_join() {
        let nodes = [
            node(1, State::Active, "a", true, OURS),
            node(2, State::Active, "b", false, OURS),
            node(3, State::Inactive, "", false, &[]),
            node(4, State::Pending, "", false, OURS),
            ObservedState { joining: true, ..node(5, State::Error, "", false, &[]) },
        ];
        let members = [member("a", "host1", true), member("b", "host2", true), member("old", "host3", false)];
        let decision = decide(&nodes, &members, &[]).unwrap();
        assert_eq!(decision.actions, [Action::None, Action::None, Action::Join, Action::Wait, Action::Again]);
        assert_eq!(decision.stale, ["old"]);
    }

    #[test]
    fn a_worker_of_another_swarm_is_refused() {
        for other in [&["10.9.9.9:2377"][..], OURS] {
            let nodes = [node(1, State::Inactive, "", false, &[]), node(2, State::Active, "x", false, other)];
            assert!(message(decide(&nodes, &[], &[])).contains(
                "node2 is already a member of a different swarm, \
                managed by 10."
            ));
        }
        let nodes =
            [node(1, State::Active, "a", true, OURS), node(2, State::Active, "x", false, &["10.9.9.9:2377"])];
        assert!(message(decide(&nodes, &[member("a", "host1", true)], &[])).contains("different swarm"));
        let nodes = [
            node(1, State::Active, "x", false, &["10.9.9.9:2377"]),
            node(2, State::Inactive, "", false, &[]),
        ];
        assert!(message(decide(&nodes, &[], &[])).contains("the first node must be a manager"));
    }

    #[test]
    fn swarm_with_outside_nodes_is_never_extended() {
        let members = [member("a", "host1", true), member("b", "host2", true), member("z", "stranger", true)];
        let whole = [node(1, State::Active, "a", true, OURS), node(2, State::Active, "b", false, OURS)];
        let decision = decide(&whole, &members, &[]).unwrap();
        assert!(decision.notes[0].contains("stranger") && decision.stale.is_empty());
        let lacking = [node(1, State::Active, "a", true, OURS), node(2, State::Inactive, "", false, &[])];
        assert!(message(decide(&lacking, &members, &[])).contains("outside this cluster: host2, stranger"));
    }

    #[test]
    fn swarm_error_not_caused_by_envdoc_is_reported() {
        // What a manager that cannot start looks like too.
        let nodes = [node(1, State::Active, "a", true, OURS), node(2, State::Error, "", false, &[])];
        assert!(message(decide(&nodes, &[member("a", "host1", true)], &[])).contains("reports an error"));
    }

    #[test]
    fn detects_an_engine_that_is_starting_a_swarm() {
        assert!(is_starting(&node(1, State::Pending, "", false, &[])));
        assert!(!is_starting(&node(1, State::Pending, "", false, &["10.9.9.9:2377"])));
        assert!(!is_starting(&node(1, State::Inactive, "", false, &[])));
    }

    #[test]
    fn no_fix_ends_a_swarm_by_force() {
        let states = [State::Inactive, State::Pending, State::Active, State::Error, State::Locked];
        for (one, other) in states.iter().flat_map(|one| states.iter().map(move |other| (*one, *other))) {
            for (manager, id) in [(true, "a"), (false, "a"), (false, "")] {
                let nodes =
                    [node(1, one, id, manager, OURS), node(2, other, "x", manager, &["10.9.9.9:2377"])];
                let members = [member("a", "host1", true), member("z", "stranger", true)];
                let Err(problems) = decide(&nodes, &members, &[]) else { continue };
                let fixes: Vec<_> = problems.iter().flat_map(|problem| &problem.fixes).collect();
                assert!(!format!("{fixes:?}").contains("--force"), "{fixes:?}");
            }
        }
    }

    #[test]
    fn detects_one_engine_listed_as_two_nodes() {
        let mut second = node(2, State::Inactive, "", false, &[]);
        second.machine.id = "ENGINE1".into();
        second.machine.hostname = "host1".into();
        let nodes = [node(1, State::Inactive, "", false, &[]), second];
        assert!(message(decide(&nodes, &[], &[])).contains("node1 and node2 are the same Docker engine"));
        assert!(namesakes(&nodes)[0].contains("host1"));
    }

    #[test]
    fn reports_swarm_address_the_node_no_longer_has() {
        let plan = crate::testing::two_nodes("");
        let address = |last: u8| IpAddr::from([10, 0, 18, last]);
        let node = &plan.nodes[1];
        let moved = |own: &[IpAddr]| super::moved(STEP, (node, "host2"), address(2), own, Some("node1"));
        assert_eq!(moved(&[address(2), address(9)]), None);
        // Nothing is known of the machine.
        assert_eq!(moved(&[]), None);
        let problem = moved(&[address(9)]).unwrap();
        assert_eq!(
            problem.fixes[2].to_string(),
            "Remove its old entry, on node1: `docker node rm --force host2`"
        );
        assert!(problem.message.contains("the address 10.0.18.2 for node2, which"), "{}", problem.message);
        assert!(problem.message.contains("it has 10.0.18.9"), "{}", problem.message);
        let mut observed = super::tests::node(2, State::Active, "b", false, &[]);
        observed.machine.swarm.address = "10.0.18.2".into();
        assert_eq!(other_address(&observed), None);
        observed.address = "10.0.18.32".into();
        let note = other_address(&observed).unwrap();
        assert!(note.contains("knows it as 10.0.18.2, cluster.yaml as 10.0.18.32"), "{note}");
    }
}
