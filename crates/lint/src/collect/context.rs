//! The build context of a Dockerfile, and the files that it installs from.

mod accelerate;
mod model_configs;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::roots::{Around, Ends, Roots};
use crate::detect::is_compose;
use crate::read::dockerfile::copied::join;
use crate::read::kustomization::NAMES;
use crate::recognize::kind_of_name;
use crate::{File, Kind, Over, Skipped, Unreadable};
use accelerate::of_accelerate;
use folders::{above, folder_of};
use host::file;
use model_configs::{near_env_files, of_models};

mod folders;

/// Kinds of manifests on which others in the same directory depend.
const SAY_MORE: &[&str] = &[
    "PersistentVolume",
    "ConfigMap",
    "Secret\n",
    "ExternalSecret",
    "SealedSecret",
    "Service\n",
    "ClusterQueue",
    "LocalQueue",
    "LimitRange",
];
/// A Dockerfile tells of requirements files, and these of others.
const NEARBY_PASSES_LIMIT: usize = 3;
/// Files in the directory of a file that are taken at most.
const OTHERS_LIMIT: usize = 20;

/// Reads the files that say more of a file. The build context of a Dockerfile is `named`, else one of the
/// directories from the Dockerfile upwards. Returns what was not read.
pub(super) fn fill(file: &mut File, named: Option<&Path>, roots: &Roots) -> NotRead {
    if file.name == "-" && named.is_none() {
        return NotRead::default();
    }
    let around = &mut roots.around(&file.name);
    match file.kind {
        Kind::Dockerfile => build(file, named, around),
        Kind::AccelerateConfig
        | Kind::DeepspeedConfig
        | Kind::Hostfile
        | Kind::Kubernetes
        | Kind::Python
        | Kind::Shell
        | Kind::Environment
            if file.name != "-" =>
        {
            nearby(file, around);
        }
        Kind::Compose if file.name != "-" => {
            for _ in 0..NEARBY_PASSES_LIMIT {
                let mut names = crate::nearby(file);
                names.retain(|name| !file.context.contains_key(name));
                if names.is_empty() {
                    break;
                }
                read(file, names, around);
            }
            let folder = folder_of(&file.name);
            // A text that is missing now says that the file is: not that it is too large, or elsewhere.
            file.context.retain(|name, text| text.is_some() || !file::exists(&folder.join(name)));
            near_env_files(file, &folder, around);
            of_models(file, &folder, around);
            // Scripts that run commands in its services.
            for one in others(Path::new(&file.name), SCRIPTS, around, |text| {
                text.contains("run") && text.contains("compose")
            }) {
                let base = one.name.rsplit('/').next().unwrap_or_default().to_owned();
                file.context.entry(base).or_insert(Some(one.text.to_string()));
            }
        }
        Kind::Conda if file.name != "-" && file.text.contains("cpuonly") => {
            let of = Path::new(&file.name).to_owned();
            let programs = others(&of, &["py"], around, |text| text.contains("cuda"));
            let environments = others(&of, MANIFESTS, around, |text| text.contains("dependencies:"));
            for one in programs.iter().chain(&environments) {
                let base = one.name.rsplit('/').next().unwrap_or_default().to_owned();
                file.context.insert(base, Some(one.text.to_string()));
            }
        }
        Kind::SystemdUnit if file.name != "-" => {
            let names = crate::unit_scripts(file);
            read(file, names, around);
            file.context.retain(|_, text| text.is_some());
        }
        Kind::Pyproject if file.name != "-" => {
            let names = crate::modules(file);
            read(file, names, around);
            let entries =
                file::entries(&folder_of(&file.name)).into_iter().filter(|path| file::is_directory(path));
            let name = |path: PathBuf| Some(format!("{}/", path.file_name()?.to_str()?));
            file.context.extend(entries.filter_map(name).map(|name| (name, Some(String::new()))));
        }
        _ => {}
    }
    NotRead::of(around)
}

/// What other files name and was not read: outside of the roots or too large; not readable.
#[derive(Debug, Default)]
pub(super) struct NotRead {
    pub(super) skipped: Vec<Skipped>,
    pub(super) unreadable: Vec<Unreadable>,
}

impl NotRead {
    fn of(around: &mut Around<'_>) -> NotRead {
        let Around { skipped, unreadable, .. } = around;
        NotRead { skipped: std::mem::take(skipped), unreadable: std::mem::take(unreadable) }
    }
}

/// Adds the files of these paths from the directory of a file.
fn read(file: &mut File, names: impl IntoIterator<Item = String>, around: &mut Around<'_>) {
    let folder = folder_of(&file.name);
    file.context.extend(names.into_iter().map(|name| {
        let text = around.text(&folder.join(&name)).as_deref().map(str::to_owned);
        (name, text)
    }));
}

/// Adds the files next to one that say more of it.
fn nearby(file: &mut File, around: &mut Around<'_>) {
    let path = Path::new(&file.name);
    let base = path.file_name().map(|base| base.to_string_lossy().into_owned());
    let others = match file.kind {
        Kind::DeepspeedConfig => {
            let other = path.with_file_name("hostfile");
            let hostfile = around.text(&other).map(|text| Over::new(other.display().to_string(), text));
            let names_it = |text: &str| base.as_ref().is_some_and(|base| text.contains(base.as_str()));
            let named = around_folder(path, around, names_it);
            // How a start uses the hostfile matters, also where the program names the configuration.
            let starts = |text: &str| hostfile.is_some() && text.contains("deepspeed ") && !names_it(text);
            let starts = others(path, SCRIPTS, around, starts);
            let named = named.into_iter().chain(starts);
            hostfile.into_iter().chain(named).collect()
        }
        // Only these say what others of the folder depend on.
        Kind::Kubernetes => {
            let manifests = others(path, MANIFESTS, around, |text| {
                text.contains("kueue.x-k8s.io/queue-name")
                    || SAY_MORE
                        .iter()
                        .any(|kind| text.match_indices(kind).any(|(at, _)| text[..at].ends_with("kind: ")))
            });
            let own = base.as_deref().is_some_and(|base| NAMES.contains(&base));
            let above = if own { Vec::new() } else { kustomizations(path, around) };
            manifests.into_iter().chain(above).collect()
        }
        Kind::AccelerateConfig => of_accelerate(file, path, around),
        Kind::Environment => {
            let reads = ["--env-file", "EnvironmentFile=", "source ", ". "];
            others(path, READERS, around, |text| {
                base.as_ref().is_some_and(|base| text.contains(base.as_str()))
                    && reads.iter().any(|mark| text.contains(mark))
            })
        }
        Kind::Python => {
            let scripts = others(path, SCRIPTS, around, |text| {
                base.as_ref().is_some_and(|base| text.contains(base.as_str()))
            });
            let modules = imported(file, around);
            // What loads the weights that this one saves.
            let wraps = ["torch.compile(", "DistributedDataParallel", "DataParallel("];
            let wraps = wraps.iter().any(|word| file.text.contains(word));
            let loaders = match wraps && file.text.contains("torch.save(") {
                true => others(path, &["py"], around, |text| text.contains(".load_state_dict(")),
                false => Vec::new(),
            };
            let known = |one: &Over| modules.iter().any(|other| other.name == one.name);
            let loaders: Vec<Over> = loaders.into_iter().filter(|one| !known(one)).collect();
            let configs = match file.text.contains("Accelerator(") {
                true => others(path, MANIFESTS, around, |text| text.contains("distributed_type:")),
                false => Vec::new(),
            };
            let lists = lists_of_packages(path, around).into_iter();
            scripts.into_iter().chain(lists).chain(modules).chain(loaders).chain(configs).collect()
        }
        Kind::Shell => {
            let found = programs(&file.name, &file.text, around);
            // What they give to Lightning's Trainer.
            let reads = found.iter().filter(|one| one.text.contains("Trainer(**")).map(|one| &*one.text);
            let texts: Vec<&str> = reads.collect();
            let all = [texts.join("\n"), file.text.clone()].join("\n");
            let files = if texts.is_empty() { Vec::new() } else { named(&file.name, &all, DATA, around) };
            found.into_iter().chain(files).collect()
        }
        Kind::Hostfile => {
            let lines = file.text.lines();
            let hosts: Vec<&str> =
                lines.filter_map(|line| line.split('#').next()?.split_whitespace().next()).collect();
            let composes = others(path, MANIFESTS, around, |text| {
                hosts.iter().any(|host| text.contains(host)) && is_compose(text)
            });
            starters(path, around).into_iter().chain(composes).collect()
        }
        _ => others(path, SCRIPTS, around, |_| true),
    };
    file.over.extend(others);
}

/// The scripts next to a hostfile, and those in the directory above that name it with its directory:
/// `conf/hostfile`.
fn starters(path: &Path, around: &mut Around<'_>) -> Vec<Over> {
    let mut found = others(path, SCRIPTS, around, |_| true);
    let folders = above(path);
    let folder = path.parent().and_then(Path::file_name);
    let (Some(base), Some(folder), Some(up)) = (path.file_name(), folder, folders.get(1)) else {
        return found;
    };
    if !around.contains(up) {
        return found;
    }
    let tail = Path::new(folder).join(base).display().to_string();
    for place in [up.clone(), up.join("scripts"), up.join("bin"), up.join("slurm")] {
        if folders.first() != Some(&place) {
            found.extend(others(&place.join(base), SCRIPTS, around, |text| text.contains(&tail)));
        }
    }
    found.truncate(OTHERS_LIMIT);
    found
}

/// Adds the hostfiles that scripts name, whatever they are called: `--hostfile hosts.txt`. Returns what
/// was not read.
pub(super) fn hostfiles(files: &mut Vec<File>, roots: &Roots) -> NotRead {
    let (mut more, mut all): (Vec<File>, NotRead) = Default::default();
    for file in files.iter().filter(|file| file.kind == Kind::Shell && file.name != "-") {
        let folder = Path::new(&file.name).parent().unwrap_or(Path::new(""));
        let mut around = roots.around(&file.name);
        for path in crate::hostfiles(file) {
            let name = join(&folder.display().to_string(), &path);
            let known = files.iter().chain(&more).any(|one| join("", &one.name) == join("", &name));
            let is_list = !known && around.contains(Path::new(&name));
            if let Some(text) = is_list.then(|| around.text(Path::new(&name))).flatten() {
                more.push(File::new(file.catalog, name, &*text, Kind::Hostfile));
            }
        }
        let NotRead { skipped, unreadable } = NotRead::of(&mut around);
        all.skipped.extend(skipped);
        all.unreadable.extend(unreadable);
    }
    for mut file in more {
        let NotRead { skipped, unreadable } = fill(&mut file, None, roots);
        all.skipped.extend(skipped);
        all.unreadable.extend(unreadable);
        files.push(file);
    }
    all
}

/// The scripts and programs that name a configuration, next to it or in the directory above, and the programs
/// that these scripts start.
fn around_folder(path: &Path, around: &mut Around<'_>, names_it: impl Fn(&str) -> bool) -> Vec<Over> {
    let mut found = others(path, SCRIPTS_OR_PROGRAMS, around, &names_it);
    let folders = above(path);
    if let (Some(base), Some(up)) = (path.file_name(), folders.get(1).filter(|up| around.contains(up))) {
        found.extend(others(&up.join(base), SCRIPTS_OR_PROGRAMS, around, &names_it));
        for folder in ["scripts", "bin"].map(|name| up.join(name)) {
            if folders.first() != Some(&folder) {
                found.extend(others(&folder.join(base), SCRIPTS_OR_PROGRAMS, around, &names_it));
            }
        }
    }
    let scripts: Vec<Over> = found.iter().filter(|one| !one.name.ends_with(".py")).cloned().collect();
    for script in scripts {
        for program in programs(&script.name, &script.text, around) {
            if found.iter().all(|one| one.name != program.name) {
                found.push(program);
            }
        }
    }
    found.truncate(OTHERS_LIMIT);
    found
}

/// Reads what a Dockerfile takes from its build context.
fn build(file: &mut File, named: Option<&Path>, around: &mut Around<'_>) {
    let asks = crate::asks(file);
    let (folder, whole) = match named {
        Some(folder) => (folder.to_owned(), true),
        None => match context_of(file, &asks.copies, around) {
            Some(found) => found,
            None => return,
        },
    };
    file.folder = folder.display().to_string();
    let (mut wants, looks) = (asks.wants, asks.looks);
    let mut asked = BTreeSet::new();
    while !wants.is_empty() {
        for path in std::mem::take(&mut wants) {
            let text = around.text(&folder.join(&path)).as_deref().map(str::to_owned);
            // Where parts of the context are absent, what is not there may be absent too.
            if whole || text.is_some() {
                file.context.insert(path.clone(), text);
            }
            asked.insert(path);
        }
        // Requirements files include others.
        wants = crate::asks(file).wants;
        wants.retain(|path| !asked.contains(path));
    }
    for path in looks {
        let text = around.text(&folder.join(&path)).as_deref().map(str::to_owned);
        if whole || text.is_some() {
            file.context.entry(path).or_insert(text);
        }
    }
    // It goes before the one of the context.
    if let Some(own) = around.text(Path::new(&format!("{}.dockerignore", file.name))) {
        file.context.insert(".dockerignore".to_owned(), Some((*own).to_owned()));
    }
}

/// The build context of a Dockerfile that nobody named, and whether it holds everything that the file copies.
///
/// Files that are built or ignored are often absent from a checkout. Then it is the directory that holds more
/// of them than every other one, or that of the Dockerfile where only this has a `.dockerignore`.
fn context_of(file: &File, copies: &BTreeSet<String>, around: &Around<'_>) -> Option<(PathBuf, bool)> {
    // `COPY .` names the folder itself, and the working directory has the empty name.
    let there = |folder: &Path, path: &str| match folder.join(path) {
        path if path.as_os_str().is_empty() => true,
        path => file::exists(&path),
    };
    let folders: Vec<PathBuf> =
        above(Path::new(&file.name)).into_iter().filter(|folder| around.contains(folder)).collect();
    if let Some(folder) = folders.iter().find(|folder| copies.iter().all(|path| there(folder, path))) {
        return Some((folder.clone(), true));
    }
    let plain: Vec<&String> = copies.iter().filter(|path| !path.is_empty()).collect();
    let held = |folder: &PathBuf| plain.iter().filter(|path| there(folder, path)).count();
    let counts: Vec<usize> = folders.iter().map(held).collect();
    let most = counts.iter().copied().max()?;
    let mut best = folders.iter().zip(&counts).filter(|(_, count)| **count == most).map(|(folder, _)| folder);
    let only = best.next().filter(|_| most > 0 && best.next().is_none());
    let by_ignores = || {
        let own = folders.first().filter(|_| most == 0)?;
        let mut with_ignores = folders.iter().filter(|folder| file::is_file(&folder.join(".dockerignore")));
        with_ignores.next().filter(|folder| *folder == own && with_ignores.next().is_none())
    };
    only.or_else(by_ignores).map(|folder| (folder.clone(), false))
}

/// The lists of packages in the nearest directory, from a program upwards, that has one.
fn lists_of_packages(path: &Path, around: &mut Around<'_>) -> Vec<Over> {
    let is_list = |path: &PathBuf| {
        let name = path.display().to_string();
        kind_of_name(&name).is_some_and(Kind::lists_packages) && file::is_file(path)
    };
    for folder in above(path) {
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        if !around.contains(&folder) {
            break;
        }
        let lists = around.lists(&folder, |around| {
            let paths = file::entries(&folder).into_iter().filter(is_list).take(OTHERS_LIMIT);
            paths.filter_map(|path| over(&path, around)).collect()
        });
        if !lists.is_empty() {
            return lists.to_vec();
        }
    }
    Vec::new()
}

/// The kustomizations in the directory of a manifest and in those above it, which may name it.
fn kustomizations(path: &Path, around: &mut Around<'_>) -> Vec<Over> {
    let folders = above(path).into_iter().take_while(|folder| around.contains(folder));
    let paths: Vec<PathBuf> =
        folders.flat_map(|folder| NAMES.iter().map(move |name| folder.join(name))).collect();
    paths.iter().filter(|one| *one != path).filter_map(|one| over(one, around)).collect()
}

/// The programs in Python that a script names, from its directory or one above it.
fn programs(script: &str, text: &str, around: &mut Around<'_>) -> Vec<Over> {
    named(script, text, &["py"], around)
}

/// The files with one of these endings that a text names, from the directory of a script or one above it.
fn named(script: &str, text: &str, ends: Ends, around: &mut Around<'_>) -> Vec<Over> {
    let words = text.split(|letter: char| letter.is_whitespace() || "\"'`;|&()=".contains(letter));
    let fits =
        |word: &&str| ends.iter().any(|end| word.strip_suffix(end).is_some_and(|stem| stem.ends_with('.')));
    let named: BTreeSet<&str> = words.filter(fits).filter(|word| !word.contains(['$', '*'])).collect();
    let folders = above(Path::new(script));
    let mut found = Vec::new();
    for name in named.into_iter().take(OTHERS_LIMIT) {
        let there = folders.iter().map(|folder| folder.join(name)).find(|path| file::is_file(path));
        found.extend(there.filter(|path| around.contains(path)).and_then(|path| over(&path, around)));
    }
    found
}

/// The modules that a program imports from its directory: `from data.tiles import Tiles`.
fn imported(file: &File, around: &mut Around<'_>) -> Vec<Over> {
    let module = |line: &str| {
        let rest = line.trim_start();
        let rest = rest.strip_prefix("from ").or_else(|| rest.strip_prefix("import "))?;
        let name = rest.trim_start().split(|letter: char| letter.is_whitespace() || letter == ',').next()?;
        let name = name.strip_prefix('.').unwrap_or(name);
        let plain = !name.is_empty() && !name.starts_with('.') && !name.ends_with('.');
        plain.then(|| format!("{}.py", name.replace('.', "/")))
    };
    let names: BTreeSet<String> = file.text.lines().filter_map(module).collect();
    let folder = folder_of(&file.name);
    let paths = names.into_iter().map(|name| folder.join(name)).filter(|path| file::is_file(path));
    paths.take(OTHERS_LIMIT).filter_map(|path| over(&path, around)).collect()
}

/// A file to go with another one.
fn over(path: &Path, around: &mut Around<'_>) -> Option<Over> {
    let text = around.text(path)?;
    Some(Over::new(path.strip_prefix(".").unwrap_or(path).display().to_string(), text))
}

const SCRIPTS: Ends = &["sh", "bash", "sbatch", "slurm"];
const SCRIPTS_OR_PROGRAMS: Ends = &["sh", "bash", "sbatch", "slurm", "py"];
/// What reads an env file: scripts, and units of systemd.
const READERS: Ends = &["sh", "bash", "sbatch", "slurm", "service"];
const MANIFESTS: Ends = &["yaml", "yml"];
/// What programs read their settings from.
const DATA: Ends = &["yaml", "yml", "json"];

/// The files next to one, of these endings, whose text is wanted.
fn others(of: &Path, ends: Ends, around: &mut Around<'_>, is_wanted: impl Fn(&str) -> bool) -> Vec<Over> {
    let siblings = around.siblings(&folder_of(&of.display().to_string()), ends);
    let others = siblings.iter().filter(|path| path.file_name() != of.file_name());
    let read = |path: &PathBuf| over(path, around).filter(|one| is_wanted(&one.text));
    others.filter_map(read).take(OTHERS_LIMIT).collect()
}

/// Adds the existing env files of Compose services, and to each the Compose files that name it. Returns what
/// was not read.
pub(super) fn env_files(files: &mut Vec<File>, roots: &Roots) -> NotRead {
    let (mut more, mut all): (Vec<File>, NotRead) = Default::default();
    let mut readers: Vec<(String, Over)> = Vec::new();
    // `./a.env` is `a.env`.
    let is_file = |one: &File, name: &str| {
        one.name.rsplit('/').next() == name.rsplit('/').next() && join("", &one.name) == name
    };
    for file in files.iter().filter(|file| file.kind == Kind::Compose && file.name != "-") {
        let folder = Path::new(&file.name).parent().unwrap_or(Path::new(""));
        let mut around = roots.around(&file.name);
        for name in crate::env_files(file) {
            let path = folder.join(&name);
            let name = join(&folder.display().to_string(), &name);
            let known = files.iter().chain(&more).any(|one| is_file(one, &name));
            if let Some(text) = around.text(&path).filter(|_| !known) {
                more.push(File::new(file.catalog, name.clone(), &*text, Kind::Environment));
            }
            readers.push((name, Over::new(&file.name, file.text.as_str())));
        }
        let NotRead { skipped, unreadable } = NotRead::of(&mut around);
        all.skipped.extend(skipped);
        all.unreadable.extend(unreadable);
    }
    files.extend(more);
    for (name, reader) in readers {
        let named = files.iter_mut().filter(|one| one.kind == Kind::Environment && is_file(one, &name));
        named.for_each(|one| one.over.push(reader.clone()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_of_deepspeed_tell_how_a_hostfile_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| file::write(&dir.path().join(name), text, true).unwrap();
        write("ds_config.json", "{}\n");
        write("run.sh", "deepspeed --include=node1 train.py\n");
        write("other.sh", "echo deepspeeds\n");
        let name = dir.path().join("ds_config.json").display().to_string();
        let near = || {
            let mut file = File::new(catalog::testing::catalog(), &name, "{}\n", Kind::DeepspeedConfig);
            fill(&mut file, None, &Roots::new([dir.path().to_owned()].iter()));
            let bases = file.over.iter().filter_map(|one| one.name.rsplit('/').next().map(str::to_owned));
            bases.collect::<Vec<_>>()
        };
        assert_eq!(near(), [""; 0]);
        write("hostfile", "node1 slots=4\n");
        assert_eq!(near(), ["hostfile", "run.sh"]);
    }
}
