//! Two of the machines are one.

use super::FleetCheck;
use crate::{Fix, Judged, Verdict};
use diagnostic::Severity;
use facts::Fact;
use facts::fleet::Identity;
use facts::fleet::{Fleet, Member};

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-same-machine",
    severity: Severity::Error,
    summary: "every node is a separate machine",
    explain: include_str!("fleet_same_machine.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    if fleet.members.len() < 2 {
        return Err(Verdict::NotApplicable("only one machine".into()));
    }
    let known: Vec<(&Member, &Identity)> =
        fleet.members.iter().filter_map(|member| Some((member, member.identity.known()?))).collect();
    let mut cloned = None;
    for (index, (one, first)) in known.iter().enumerate() {
        for (other, second) in &known[..index] {
            let same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
            let (boot, installation) =
                (same(&first.boot_id, &second.boot_id), same(&first.machine_id, &second.machine_id));
            let (one, other) = (&other.name, &one.name);
            let fix = Fix::manual("List each machine once in cluster.yaml.");
            if boot && installation {
                return Ok(Verdict::error(
                    format!("{one} and {other} are the same machine: same kernel, same installation"),
                    fix,
                )
                .evidence(format!(
                    "boot {}, machine {}",
                    first.boot_id.as_deref().unwrap_or("?"),
                    first.machine_id.as_deref().unwrap_or("?")
                )));
            }
            if boot {
                let message = format!(
                    "{one} and {other} share one kernel: two containers or namespaces on one machine, which \
                     share its GPUs"
                );
                return Ok(Verdict::warning(message, fix));
            }
            if installation {
                cloned = cloned.or(Some((one.clone(), other.clone())));
            }
        }
    }
    if let Some((one, other)) = cloned {
        let message = format!("{one} and {other} are clones: two machines with the same /etc/machine-id");
        let fix = Fix::needs_reboot(
            "Create a new machine id on one of them:",
            &["rm /etc/machine-id /var/lib/dbus/machine-id", "systemd-machine-id-setup", "reboot"],
        );
        return Ok(Verdict::warning(message, fix));
    }
    for member in &fleet.members {
        match &member.identity {
            Fact::Unknown(why) => return Err(Verdict::Unknown(format!("{}: {why}", member.name).into())),
            Fact::Known(identity) if identity.boot_id.is_some() => {}
            _ => {
                return Err(Verdict::Unknown(
                    format!("{}: could not identify the machine", member.name).into(),
                ));
            }
        }
    }
    Ok(Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{two, verdict_line};
    use super::*;

    fn with(change: impl Fn(&mut Identity, &Identity)) -> String {
        let mut fleet = two();
        let Fact::Known(first) = fleet.members[0].identity.clone() else { panic!() };
        let Fact::Known(second) = &mut fleet.members[1].identity else { panic!() };
        change(second, &first);
        verdict_line(&CHECK, &fleet)
    }

    #[test]
    fn distinguishes_same_machine_shared_kernel_and_clones() {
        assert_eq!(with(|_, _| {}), "pass");
        let boot = |second: &mut Identity, first: &Identity| second.boot_id.clone_from(&first.boot_id);
        let machine =
            |second: &mut Identity, first: &Identity| second.machine_id.clone_from(&first.machine_id);
        let both = with(|second, first| {
            boot(second, first);
            machine(second, first);
        });
        assert!(both.starts_with("error: node1 and node2 are the same machine"), "{both}");
        assert!(with(boot).starts_with("warning: node1 and node2 share one kernel"));
        assert!(with(machine).starts_with("warning: node1 and node2 are clones"));
        assert!(with(|second, _| second.boot_id = None).starts_with("unknown: node2"));
    }
}
