//! Files that were given together: what one says of another decides whether both work.

use std::path::Path;

use super::Collected;
use super::roots::Roots;
use crate::recognize::base_name;
use crate::{File, Kind, Over, Skipped};

/// Files of a run that are taken to one at most.
const OTHERS_LIMIT: usize = 50;

/// Adds the files of the same run that say more of one that configures a machine.
pub(super) fn fill(collected: &mut Collected, roots: &Roots) {
    let Collected { files, skipped, .. } = collected;
    let machines =
        |kind: Kind| matches!(kind, Kind::DaemonJson | Kind::ToolkitConfig | Kind::Sshd | Kind::NcclConf);
    let places: Vec<usize> = (0..files.len()).filter(|place| machines(files[*place].kind)).collect();
    for place in places {
        let file = &files[place];
        let known = files.iter().filter(|other| says_more(file, other)).map(over_of).take(OTHERS_LIMIT);
        let mut others: Vec<Over> = known.collect();
        let named = skipped.iter().filter(|other| may_say_more(file.kind, other)).take(OTHERS_LIMIT);
        let mut around = roots.around(&file.name);
        others.extend(named.filter_map(|other| {
            let text = around.text(Path::new(&other.name))?;
            Some(Over { name: other.name.clone(), text })
        }));
        files[place].over.extend(others);
    }
}

fn over_of(file: &File) -> Over {
    Over { name: file.name.clone(), text: file.text.clone() }
}

/// Whether a file that is linted says more of one that configures a machine.
fn says_more(of: &File, other: &File) -> bool {
    match of.kind {
        Kind::ToolkitConfig => other.kind == Kind::Compose,
        Kind::Sshd => {
            matches!(other.kind, Kind::Shell | Kind::Compose | Kind::Dockerfile)
                && (other.text.contains("ssh") || other.text.contains("mpirun"))
                || other.kind == Kind::Compose
        }
        _ => false,
    }
}

/// Whether a file that no rule checks may say more, by its name.
fn may_say_more(kind: Kind, other: &Skipped) -> bool {
    let (name, base) = (other.name.as_str(), base_name(&other.name));
    match kind {
        Kind::DaemonJson => {
            base == "docker.service" || name.contains("docker.service.d/") && base.ends_with(".conf")
        }
        Kind::Sshd => base == "ssh_config" || name.ends_with(".ssh/config"),
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
