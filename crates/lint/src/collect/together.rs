//! Files that were given together: what one says of another decides whether both work.

use std::path::Path;

use super::Collected;
use super::roots::Roots;
use crate::dockerfile::architecture_misses_gpu::depends_on_gpu;
use crate::read::dockerfile::copied::join;
use crate::read::kustomization::{is_kustomization, named_by};
use crate::recognize::base_name;
use crate::{File, Kind, Over, Skipped, Unchecked};

/// Files of a run that are taken to one of a machine at most.
const OTHERS_LIMIT: usize = 50;

/// What manifests and values of charts say of the whole cluster: whole classes, pools of nodes, the strategy
/// for MIG.
const OF_CLUSTER: &[&str] = &[
    "kind: RuntimeClass",
    "kind: ClusterConfig",
    "kind: NodePool",
    "kind: Provisioner",
    "kind: ClusterPolicy",
    "migStrategy:",
];

/// Adds to the files of a cluster and to those that configure a machine what others of the same run say of
/// the cluster or the machine.
pub(super) fn fill(collected: &mut Collected, roots: &Roots) {
    let Collected { files, skipped, .. } = collected;
    let cluster = of_cluster(files, skipped, roots);
    let daemons: Vec<Over> = files.iter().filter(|one| one.kind == Kind::DaemonJson).map(over_of).collect();
    for file in files.iter_mut() {
        let Some((daemon, others)) = daemons.split_first() else { break };
        // What engines do by default.
        if matches!(file.kind, Kind::Compose | Kind::Shell) {
            file.context.insert("daemon.json".to_owned(), Some(daemon.text.to_string()));
        }
        // What other machines of the swarm offer.
        if file.kind == Kind::Compose && file.text.contains("generic_resources") {
            let others = others.iter().take(OTHERS_LIMIT).enumerate();
            let named = |(at, one): (usize, &Over)| (format!("{at}/daemon.json"), Some(one.text.to_string()));
            file.context.extend(others.map(named));
        }
    }
    // The devices that the machine of a compose file offers.
    let is_cdi = |one: &&Skipped| {
        let base = base_name(&one.name);
        one.name.contains("/cdi/") && [".yaml", ".yml", ".json"].iter().any(|end| base.ends_with(end))
    };
    let specs: Vec<&Skipped> = skipped.iter().filter(is_cdi).take(OTHERS_LIMIT).collect();
    for file in files.iter_mut().filter(|one| one.kind == Kind::Compose && one.text.contains("cdi")) {
        let mut around = roots.around(&file.name);
        for one in &specs {
            let text = around.text(Path::new(&one.name)).map(|text| text.to_string());
            file.context.insert(format!("cdi/{}", base_name(&one.name)), text);
        }
    }
    add_kustomized(files);
    let jobs = jobs(files);
    for place in 0..files.len() {
        let file = &files[place];
        let mut others = match file.kind {
            Kind::Kubernetes => cluster.clone(),
            Kind::Dockerfile if depends_on_gpu(&file.text) => jobs_of(file, files, &jobs),
            Kind::DaemonJson | Kind::ToolkitConfig | Kind::Sshd | Kind::NcclConf | Kind::Limits => {
                of_machine(file, files, skipped, roots)
            }
            _ => continue,
        };
        let is_known = |name: &str| name == file.name || file.over.iter().any(|known| known.name == name);
        others.retain(|other| !is_known(&other.name));
        files[place].over.extend(others);
    }
}

/// Adds to kustomizations the files that they name.
fn add_kustomized(files: &mut [File]) {
    let kustomized: Vec<(usize, Vec<Over>)> = (0..files.len())
        .filter(|place| files[*place].kind == Kind::Kubernetes && is_kustomization(&files[*place].text))
        .map(|place| (place, of_kustomization(&files[place], files, 0)))
        .collect();
    for (place, others) in kustomized {
        let known: Vec<String> = files[place].over.iter().map(|one| one.name.clone()).collect();
        files[place].over.extend(others.into_iter().filter(|one| !known.contains(&one.name)));
    }
}

fn over_of(file: &File) -> Over {
    Over::new(&file.name, file.text.as_str())
}

/// How deep kustomizations name others.
const KUSTOMIZATIONS_LIMIT: usize = 4;

/// The files of a run that a kustomization names, itself or through the directories that it builds on.
fn of_kustomization(file: &File, files: &[File], depth: usize) -> Vec<Over> {
    let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found = Vec::new();
    for path in named_by(&file.text) {
        let path = join(folder, &path);
        if let Some(one) = files.iter().find(|one| one.name == path) {
            found.push(over_of(one));
            continue;
        }
        let base = files.iter().find(|one| {
            let (own, name) = one.name.rsplit_once('/').unwrap_or(("", &one.name));
            own == path && name.to_ascii_lowercase().starts_with("kustomization")
        });
        if let Some(base) = base.filter(|_| depth < KUSTOMIZATIONS_LIMIT) {
            found.push(over_of(base));
            found.extend(of_kustomization(base, files, depth + 1));
        }
    }
    found
}

/// The manifests and values of charts that say something of the whole cluster.
fn of_cluster(files: &[File], skipped: &[Skipped], roots: &Roots) -> Vec<Over> {
    let names_cluster = |text: &str| OF_CLUSTER.iter().any(|mark| text.contains(mark));
    let manifests = files.iter().filter(|one| one.kind == Kind::Kubernetes && names_cluster(&one.text));
    let values = skipped.iter().filter(|one| is_values(one)).filter_map(|one| {
        let text = roots.around(&one.name).text(Path::new(&one.name))?;
        let mig = text.contains("mig:") && text.contains("strategy:");
        (mig || names_cluster(&text)).then(|| Over::new(&one.name, text))
    });
    manifests.map(over_of).chain(values).collect()
}

/// The places of the manifests and scripts that may ask for GPUs.
fn jobs(files: &[File]) -> Vec<usize> {
    let asks = |one: &File| match one.kind {
        Kind::Kubernetes => one.text.contains("nodeSelector") || one.text.contains("nodeAffinity"),
        Kind::Shell => one.text.contains("#SBATCH"),
        _ => false,
    };
    (0..files.len()).filter(|place| asks(&files[*place])).collect()
}

/// The jobs in the directory of a Dockerfile or below it.
fn jobs_of(file: &File, files: &[File], jobs: &[usize]) -> Vec<Over> {
    let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let below =
        |name: &str| folder.is_empty() || name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let jobs = jobs.iter().map(|place| &files[*place]).filter(|one| below(&one.name));
    jobs.map(over_of).take(OTHERS_LIMIT).collect()
}

/// Whether a file that no rule checks has values of a chart, by its name.
fn is_values(one: &Skipped) -> bool {
    let base = base_name(&one.name);
    one.why == Unchecked::UnknownType
        && base.contains("values")
        && [".yaml", ".yml"].iter().any(|end| base.ends_with(end))
}

/// The files that say more of one that configures a machine.
fn of_machine(file: &File, files: &[File], skipped: &[Skipped], roots: &Roots) -> Vec<Over> {
    let known = files.iter().filter(|other| says_more(file, other)).map(over_of).take(OTHERS_LIMIT);
    let mut others: Vec<Over> = known.collect();
    let named = skipped.iter().filter(|other| may_say_more(file.kind, other)).take(OTHERS_LIMIT);
    let mut around = roots.around(&file.name);
    others.extend(named.filter_map(|other| {
        let text = around.text(Path::new(&other.name))?;
        Some(Over::new(&other.name, text))
    }));
    let values = skipped.iter().filter(|one| file.kind == Kind::ToolkitConfig && is_values(one));
    others.extend(values.filter_map(|other| {
        let text = around.text(Path::new(&other.name)).filter(|text| hands_out_devices(text))?;
        Some(Over::new(&other.name, text))
    }));
    others
}

/// Whether a manifest or the values of a chart say how a device plugin hands out GPUs.
fn hands_out_devices(text: &str) -> bool {
    ["deviceListStrategy", "DEVICE_LIST_STRATEGY", "--device-list-strategy"]
        .iter()
        .any(|mark| text.contains(mark))
}

/// Whether a file that is linted says more of one that configures a machine.
fn says_more(of: &File, other: &File) -> bool {
    match of.kind {
        Kind::DaemonJson => is_of_docker(&other.name),
        Kind::ToolkitConfig => {
            let plugin = other.kind == Kind::Kubernetes && hands_out_devices(&other.text);
            plugin
                || matches!(other.kind, Kind::Compose | Kind::DaemonJson | Kind::Shell)
                || is_of_docker(&other.name)
        }
        Kind::Sshd => {
            let connects =
                || ["ssh", "mpirun", "mpiexec", "deepspeed"].iter().any(|word| other.text.contains(word));
            other.kind == Kind::Compose || matches!(other.kind, Kind::Shell | Kind::Dockerfile) && connects()
        }
        _ => false,
    }
}

/// Whether a file is the unit of docker, or a drop-in of it.
fn is_of_docker(name: &str) -> bool {
    let base = base_name(name);
    base == "docker.service" || name.contains("docker.service.d/") && base.ends_with(".conf")
}

/// Whether a file that no rule checks may say more, by its name.
fn may_say_more(kind: Kind, other: &Skipped) -> bool {
    let (name, base) = (other.name.as_str(), base_name(&other.name));
    match kind {
        Kind::DaemonJson => is_of_docker(name),
        Kind::ToolkitConfig => base == "docker.service" || name.contains("docker.service.d/"),
        Kind::Sshd => base == "ssh_config" || name.ends_with(".ssh/config"),
        Kind::Limits => base == "sysctl.conf" || name.contains("sysctl.d/") && base.ends_with(".conf"),
        Kind::NcclConf => {
            name.contains("netplan/") && (base.ends_with(".yaml") || base.ends_with(".yml"))
                || name.contains("network-scripts/ifcfg-")
                || base.ends_with(".network")
                || name.ends_with("network/interfaces")
                || base.ends_with(".nmconnection")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sources;
    use super::*;
    use host::file;

    #[test]
    fn files_of_one_run_know_of_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            file::directory(path.parent().unwrap()).unwrap();
            file::write(&path, text, true).unwrap();
        };
        write("etc/docker/daemon.json", "{}\n");
        write("etc/systemd/system/docker.service", "[Service]\n");
        write("etc/nccl.conf", "NCCL_DEBUG=WARN\n");
        write("etc/netplan/1.yaml", "network:\n  version: 2\n");
        write("job/train.py", "import torch\n");
        write("job/run.sh", "torchrun train.py\n");
        write("job/requirements.txt", "torch==2.6.0\n");
        let sources = Sources {
            catalog: catalog::testing::catalog(),
            paths: vec![dir.path().to_owned()],
            compose: Vec::new(),
            kind: None,
            stack: false,
            context: None,
        };
        let collected = sources.files().unwrap();
        let overs = |kind: Kind| {
            let file = collected.files.iter().find(|file| file.kind == kind).unwrap();
            let bases = file.over.iter().map(|over| base_name(&over.name));
            bases.collect::<Vec<_>>()
        };
        assert_eq!(overs(Kind::DaemonJson), ["docker.service"]);
        assert_eq!(overs(Kind::NcclConf), ["1.yaml"]);
        assert_eq!(overs(Kind::Python), ["run.sh", "requirements.txt"]);
        assert_eq!(overs(Kind::Shell), ["train.py"]);
    }
}
