//! Processes of a job whose envdoc is gone: a node that was cut off, a launch that was killed.

use std::fmt;

use docker::container;
use docker::engine::Engine;
use docker::fan_out;

use super::activity::{Activity, Work, activity};
use super::lock::Holder;
use diagnostic::shell::quoted;

/// What still runs of one job in one container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The node's name, also of its container.
    pub node: String,
    pub mark: String,
    /// Its processes, each with its children.
    pub processes: Vec<Work>,
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processes = Activity { command: None, others: self.processes.clone() };
        write!(
            f,
            "{}: processes of an earlier `launch` or `exec` still run: {processes}; stop them: `{}`",
            self.node,
            stop_from_here(&self.node, &self.mark)
        )
    }
}

/// Kills all processes of a job, where it is run in a container.
fn script(mark: &str) -> String {
    format!("grep -lszx ENVDOC_JOB={mark} /proc/[0-9]*/environ | cut -d/ -f3 | xargs -r kill -KILL")
}

/// The command that stops a job on a node that can be reached.
pub fn stop_from_here(node: &str, mark: &str) -> String {
    format!("envdoc cluster exec {node} -- sh -c {}", quoted(&script(mark)))
}

/// The command that stops a job on the node's machine.
pub fn stop_there(node: &str, mark: &str) -> String {
    format!("docker exec {node} sh -c {}", quoted(&script(mark)))
}

/// What runs in a node's container of jobs that none of these runs holds.
pub fn of(node: &str, activity: &Activity, holders: &[Holder]) -> Vec<Leftover> {
    let mut all: Vec<Leftover> = Vec::new();
    for work in &activity.others {
        let Some(mark) = work.mark.as_ref().filter(|mark| holders.iter().all(|one| one.id != **mark)) else {
            continue;
        };
        match all.iter_mut().find(|one| one.mark == *mark) {
            Some(one) => one.processes.push(work.clone()),
            None => {
                let processes = vec![work.clone()];
                all.push(Leftover { node: node.to_owned(), mark: mark.clone(), processes });
            }
        }
    }
    all
}

/// Looks in all these containers; those that cannot be looked into are passed over.
pub async fn find(containers: &[(String, &Engine)], holders: &[Holder]) -> Vec<Leftover> {
    let looks = containers.iter().map(|(name, engine)| look(name, engine, holders));
    fan_out(looks).await.into_iter().flatten().flatten().collect()
}

async fn look(name: &str, engine: &Engine, holders: &[Holder]) -> Option<Vec<Leftover>> {
    let found = container::inspect(engine, name).await.ok()??;
    let activity = activity(engine, &found).await.ok()?;
    Some(of(name, &activity, holders))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_without_a_running_job_are_leftovers() {
        let work = |id, mark: Option<&str>| Work {
            id,
            command: "python3 train.py".into(),
            children: 2,
            mark: mark.map(str::to_owned),
        };
        let others = vec![work(60, Some("a-1")), work(70, Some("a-1")), work(80, None)];
        let activity = Activity { command: None, others };
        let found = of("node2", &activity, &[]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].to_string(),
            "node2: processes of an earlier `launch` or `exec` still run: python3 train.py (pid 60 and 2 \
            children), python3 train.py (pid 70 and 2 children); stop them: `envdoc cluster exec node2 -- \
            sh -c \
            'grep -lszx ENVDOC_JOB=a-1 /proc/[0-9]*/environ | cut -d/ -f3 | xargs -r kill -KILL'`"
        );
        let runs =
            r#"{"id":"a-1","command":"launch","access":"run","hostname":"ops","process":7,"since":""}"#;
        assert_eq!(of("node2", &activity, &[serde_json::from_str(runs).unwrap()]), []);
    }
}
