//! What would have to be read for more to be known of a file.

use std::collections::BTreeSet;

use crate::build_files::build_files;
use crate::compose as compose_rules;
use crate::dockerfile as rules;
use crate::file::File;
use crate::kind::Kind;
use crate::packages as package_rules;
use crate::read::compose::{Compose, Service};
use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::copied::join;
use crate::read::dockerfile::start::script_paths;
use crate::read::hostfile_starts;
use crate::read::packages::PackageList;
use crate::read::script::Script;
use crate::read::unit::Unit;
use crate::recognize::base_name;

/// A list of packages with what is known of the files next to it.
pub(crate) fn list_of(file: &File) -> PackageList {
    PackageList {
        catalog: file.catalog,
        kind: file.kind,
        text: file.text.clone(),
        context: file.context.clone(),
    }
}

/// What would have to be read for more to be known of a Dockerfile, and what its build context must hold.
pub fn asks(file: &File) -> Asks {
    if file.kind != Kind::Dockerfile {
        return Asks::default();
    }
    let read = Dockerfile::read(file.catalog, &file.text, &file.context);
    let looks = looks(&read);
    let Dockerfile { copies, wants, .. } = read;
    Asks { copies, wants, looks }
}

/// Files of the build context that rules look at, whether they exist or not.
fn looks(file: &Dockerfile) -> BTreeSet<String> {
    let mut looks = BTreeSet::from([".dockerignore".to_owned()]);
    for (_, run) in file.runs().filter(|(_, run)| rules::project_needs_other_python::installs_project(run)) {
        looks.extend(["pyproject.toml", "setup.py"].iter().flat_map(|name| run.state.files.candidates(name)));
    }
    for (_, run) in file.runs() {
        let setups = rules::architecture_list_missing::local_projects(run).into_iter();
        let setups = setups.map(|path| rules::architecture_list_missing::setup_of(&path));
        looks.extend(setups.flat_map(|path| run.state.files.candidates(&path)));
    }
    for (_, run) in file.runs().filter(|(_, run)| run.command.program() == "cmake") {
        looks.extend(run.state.files.candidates("CMakeLists.txt"));
    }
    // The names of the environments that conda makes of them.
    let of_conda = |path: &&String| {
        let environment = base_name(path).contains("env") || base_name(path).contains("conda");
        environment && [".yml", ".yaml"].iter().any(|end| path.ends_with(end))
    };
    looks.extend(file.copies.iter().filter(of_conda).cloned());
    for (_, run) in file.runs() {
        let paths = build_files(run).into_iter();
        looks.extend(paths.flat_map(|path| run.state.files.candidates(&path)));
    }
    let Some(end) = file.stages.last().map(|stage| &stage.end) else { return looks };
    looks.extend(script_paths(file).iter().flat_map(|(_, path)| end.files.candidates(path)));
    let settings = file.copies.iter().filter(|path| rules::private_key_in_image::may_hold_password(path));
    looks.extend(settings.cloned());
    // What the copied programs use decides what the image needs.
    looks.extend(file.copies.iter().filter(|path| is_program(path)).cloned());
    for path in rules::copied_contents_misplaced::started_files(file) {
        let others = rules::copied_contents_misplaced::shorter(&path);
        looks.extend([path].iter().chain(&others).flat_map(|path| end.files.candidates(path)));
    }
    looks
}

/// Whether a file is a script or a program, by its name.
fn is_program(path: &str) -> bool {
    [".sh", ".bash", ".py"].iter().any(|end| path.ends_with(end))
}

/// The files that the console scripts of a `pyproject.toml` may name, as paths relative to it.
pub fn modules(file: &File) -> BTreeSet<String> {
    let scripts = package_rules::script_function_missing::scripts(&list_of(file));
    let paths =
        scripts.iter().flat_map(|(_, module, _)| package_rules::script_function_missing::files_of(module));
    paths.chain(["setup.py".to_owned(), "setup.cfg".to_owned()]).collect()
}

/// The env files that the services of a compose file name, as paths relative to it.
pub fn env_files(file: &File) -> BTreeSet<String> {
    let compose = Compose::read(file.catalog, &file.text, &file.over, file.stack);
    compose.services.iter().flat_map(Service::env_files).collect()
}

/// The hostfiles that a script gives to its launchers, as paths relative to it.
pub fn hostfiles(file: &File) -> BTreeSet<String> {
    hostfile_starts::named(&Script::read(file.catalog, &file.text))
}

/// The scripts that a unit of systemd starts, by their names: one next to it may be that script.
pub fn unit_scripts(file: &File) -> BTreeSet<String> {
    let unit = Unit::of(file);
    let commands = unit.commands().into_iter().filter(|one| one.key == "ExecStart");
    commands.filter_map(|one| one.script().map(base_name)).collect()
}

/// The files that tell more of a compose file, as paths relative to it: `.env`, env files, the Dockerfiles of
/// its services, what these install from, and the scripts that services run. What is known of them may tell
/// of more.
pub fn nearby(file: &File) -> BTreeSet<String> {
    let mut compose = Compose::read(file.catalog, &file.text, &file.over, file.stack);
    compose.files.clone_from(&file.context);
    let mut found = BTreeSet::from([".env".to_owned()]);
    for service in &compose.services {
        found.extend(service.dockerfile());
        found.extend(compose_rules::build_setting_unresolved::dockerfile_of_project(service));
        found.extend(service.env_files().iter().map(|path| join("", path)));
        found.extend(compose_rules::shared_memory_small::scripts(&compose, service));
        found.extend(crate::mounted_settings::files(service));
        found.extend(compose_rules::output_not_mounted::scripts(service));
        if let (Some(read), Some(folder)) = (compose.whole_dockerfile(service), service.build_context()) {
            found.extend(read.wants.iter().map(|path| join(&folder, path)));
        }
    }
    // Those above the directory of the file are other projects'.
    found.retain(|path| !path.starts_with(".."));
    found
}

/// What a Dockerfile asks of its build context, as paths in it.
#[derive(Debug, Default)]
pub struct Asks {
    /// What it copies: the folder in which all of it lies is the context.
    pub copies: BTreeSet<String>,
    /// Files whose text would tell more.
    pub wants: BTreeSet<String>,
    /// Files that may not exist, and tell more if they do, or do not.
    pub looks: BTreeSet<String>,
}
