//! NCCL, cuDNN and CUDA compat libraries outside Python, and the loader's way to them.

mod library;

use std::collections::{BTreeMap, BTreeSet};

use super::{Fact, environment};
use crate::IntoFact;
use diagnostic::MissingKind;
use host::{Host, Missing, Stat};
pub use library::{FoundIn, Library};

/// What the dynamic loader would find, in its order: `LD_LIBRARY_PATH`, then the directories of
/// `/etc/ld.so.conf`, then the system's own. (An executable's rpath comes before all of these: a wheel's NCCL
/// is found through it. Its runpath comes behind `LD_LIBRARY_PATH`.)
#[derive(Debug, Clone)]
pub struct Libraries {
    /// Directories of `LD_LIBRARY_PATH`, in order; absent when it is not set.
    pub ld_library_path: Fact<Vec<String>>,
    /// Directories of `/etc/ld.so.conf` and what it includes, in order.
    pub loader_directories: Fact<Vec<String>>,
    /// `LD_PRELOAD`.
    pub preload: Fact<String>,
    /// Every `libnccl.so*`, in the loader's order.
    pub nccl: Fact<Vec<Library>>,
    /// Every `libcudnn.so*`, in the loader's order.
    pub cudnn: Fact<Vec<Library>>,
    /// Every `libcuda.so*` in those directories, in the loader's order.
    pub cuda_driver: Fact<Vec<Library>>,
    /// `libcuda.so.*` in cuda-compat directories (`/usr/local/cuda*/compat`), with the driver version in
    /// their name.
    pub compat: Fact<Vec<Library>>,
    /// `/usr/include/nccl.h`: the version that it declares. Absent when it is not installed.
    pub nccl_header: Fact<String>,
    /// `~/.nccl.conf` (or `NCCL_CONF_FILE`) and `/etc/nccl.conf`: lines that set something. Absent when
    /// neither is there.
    pub nccl_conf: Fact<Vec<String>>,
}

/// The files looked for in the loader's directories. Part of the key of a reading.
const NAMES: &[&str] = &["libcuda.so", "libcudnn.so", "libnccl.so"];

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host) -> Libraries {
    let variables = host.environment().text().map(|text| environment::parse(&text)).about("environment");
    let variable = |name: &str| variables.as_ref().and_then(|all| set(all, name));
    let ld_library_path = variable("LD_LIBRARY_PATH").map(|value| split_path(&value));
    let loader_directories = loader_directories(host);
    let found = search(host, &ld_library_path, &loader_directories);
    let of = |prefix: &str| found.clone().map(|all| files_of(all, prefix));
    Libraries {
        preload: variable("LD_PRELOAD"),
        nccl: of("libnccl.so"),
        cudnn: of("libcudnn.so"),
        cuda_driver: of("libcuda.so"),
        compat: compat(host, &ld_library_path, &loader_directories),
        nccl_header: host.read("/usr/include/nccl.h").text().and_then(|text| header_version(&text)),
        nccl_conf: nccl_conf(host, &variables),
        ld_library_path,
        loader_directories,
    }
}

fn set(variables: &BTreeMap<String, String>, name: &str) -> Fact<String> {
    match variables.get(name) {
        Some(value) if !value.is_empty() => Fact::Known(value.clone()),
        _ => Fact::Absent,
    }
}

/// `LD_LIBRARY_PATH`: directories between colons (or semicolons); an empty one means the working directory
/// and is left out.
fn split_path(value: &str) -> Vec<String> {
    value.split([':', ';']).filter(|dir| !dir.is_empty()).map(str::to_owned).collect()
}

fn loader_directories(host: &dyn Host) -> Fact<Vec<String>> {
    let mut read = Configured::default();
    match host.read("/etc/ld.so.conf").text().about("/etc/ld.so.conf") {
        Fact::Known(text) => match configured(host, &text, &mut read, 0) {
            Ok(()) => Fact::Known(read.directories),
            Err(why) => Fact::Unknown(why),
        },
        // Alpine and others without glibc have none.
        Fact::Absent => Fact::Known(Vec::new()),
        Fact::Unknown(why) => Fact::Unknown(why),
    }
}

/// How deep files of ldconfig may include each other.
const INCLUDE_DEPTH_LIMIT: u8 = 16;

/// How many different patterns files of ldconfig may include; each is compared with all names of a directory.
const PATTERNS_LIMIT: usize = 1000;

/// What the files of ldconfig say so far.
#[derive(Default)]
struct Configured {
    directories: Vec<String>,
    /// The same, to find one in them.
    known: BTreeSet<String>,
    /// Files that were included: once is enough, and they may include each other.
    files: BTreeSet<String>,
    /// Patterns whose files were included.
    patterns: BTreeSet<String>,
    /// The names in directories of patterns.
    names: BTreeMap<String, Vec<String>>,
}

/// A configuration file of ldconfig: a directory a line, `#` comments, `include PATTERN` (one `*`, in the
/// last part), `hwcap …`.
fn configured(host: &dyn Host, text: &str, read: &mut Configured, depth: u8) -> Result<(), Missing> {
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let mut words = line.split_whitespace();
        match words.next() {
            Some("include") => {
                // An included file that is too deep may be reached again on a shorter way.
                for pattern in words.filter(|_| depth < INCLUDE_DEPTH_LIMIT) {
                    if !read.patterns.insert(pattern.to_owned()) {
                        continue;
                    }
                    if read.patterns.len() > PATTERNS_LIMIT {
                        let why = format!("more than {PATTERNS_LIMIT} different patterns are included");
                        return Err(Missing::new(MissingKind::TooLarge, why).about("/etc/ld.so.conf"));
                    }
                    for file in matching(host, pattern, &mut read.names)? {
                        if !read.files.insert(file.clone()) {
                            continue;
                        }
                        match host.read(&file).text() {
                            Fact::Known(text) => configured(host, &text, read, depth + 1)?,
                            Fact::Unknown(why) => return Err(why.about(file)),
                            _ => {}
                        }
                    }
                }
            }
            Some(dir) if dir.starts_with('/') => {
                // `DIRECTORY=TYPE` is an old way to write it.
                let dir = dir.split('=').next().unwrap_or(dir).trim_end_matches('/').to_owned();
                if read.known.insert(dir.clone()) {
                    read.directories.push(dir);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Files that an include pattern names, in the order of their names as `glob` gives them.
fn matching(
    host: &dyn Host,
    pattern: &str,
    known: &mut BTreeMap<String, Vec<String>>,
) -> Result<Vec<String>, Missing> {
    let pattern = if pattern.starts_with('/') { pattern.to_owned() } else { format!("/etc/{pattern}") };
    let Some((dir, last)) = pattern.rsplit_once('/') else { return Ok(Vec::new()) };
    let Some((before, after)) = last.split_once('*') else { return Ok(vec![pattern]) };
    if !known.contains_key(dir) {
        let names = match host.list(dir).lines().about(dir) {
            Fact::Known(names) => names,
            Fact::Absent => Vec::new(),
            Fact::Unknown(why) => return Err(why),
        };
        known.insert(dir.to_owned(), names);
    }
    let names = known.get(dir).into_iter().flatten();
    Ok(names
        .filter(|name| name.len() >= before.len() + after.len())
        .filter(|name| name.starts_with(before) && name.ends_with(after) && !name.starts_with('.'))
        .map(|name| format!("{dir}/{name}"))
        .collect())
}

/// One name in one directory.
#[derive(Clone)]
struct Found {
    name: String,
    directory: String,
    real: String,
    found_in: FoundIn,
}

/// Looks through all directories in the loader's order.
fn search(
    host: &dyn Host,
    ld_library_path: &Fact<Vec<String>>,
    loader_directories: &Fact<Vec<String>>,
) -> Fact<Vec<Found>> {
    let mut lists: Vec<(FoundIn, Vec<String>)> = Vec::new();
    for (found_in, list) in
        [(FoundIn::LdLibraryPath, ld_library_path), (FoundIn::LdSoConf, loader_directories)]
    {
        match list {
            Fact::Known(directories) => lists.push((found_in, directories.clone())),
            Fact::Unknown(why) => return Fact::Unknown(why.clone()),
            Fact::Absent => {}
        }
    }
    match default_directories(host) {
        Fact::Known(directories) => lists.push((FoundIn::Default, directories)),
        other => return other.and_then(|_| Fact::Absent),
    }
    lists.push((FoundIn::Toolkit, vec!["/usr/local/cuda/lib64".into()]));
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (found_in, directories) in lists {
        for directory in directories {
            // A directory that is reached twice (/lib is a link to /usr/lib) counts where it is reached
            // first.
            match host.stat(&directory).json::<Stat>().map(|stat| stat.path) {
                Fact::Known(real) if seen.insert(real.clone()) => {}
                Fact::Known(_) | Fact::Absent => continue,
                Fact::Unknown(why) => return Fact::Unknown(why.clone().about(directory.to_string())),
            }
            match host.find(&directory, NAMES).lines() {
                Fact::Known(names) => {
                    for name in names {
                        let path = format!("{directory}/{name}");
                        match host.stat(&path).json::<Stat>() {
                            Fact::Known(stat) => {
                                let directory = directory.clone();
                                found.push(Found { name, directory, real: stat.path, found_in });
                            }
                            // A dangling link is nothing to the loader.
                            Fact::Absent => {}
                            Fact::Unknown(why) => return Fact::Unknown(why.clone().about(path.to_string())),
                        }
                    }
                }
                Fact::Absent => {}
                Fact::Unknown(why) => return Fact::Unknown(why.clone().about(directory.to_string())),
            }
        }
    }
    Fact::Known(found)
}

/// The directories that the loader itself knows: Debian's with the name of the architecture, everybody's
/// `lib64` and `lib`.
fn default_directories(host: &dyn Host) -> Fact<Vec<String>> {
    let named = |path: &str, name| host.stat(path).json::<Stat>().map(|_| Some(name)).about(path);
    let multiarch = named("/lib64/ld-linux-x86-64.so.2", "x86_64-linux-gnu")
        .or_else(|| named("/lib/ld-linux-aarch64.so.1", "aarch64-linux-gnu"));
    multiarch.absent_as(None).map(|name| {
        let multiarch =
            name.into_iter().flat_map(|name| ["/lib", "/usr/lib"].map(|dir| format!("{dir}/{name}")));
        multiarch.chain(["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(str::to_owned)).collect()
    })
}

/// The files of one library, each once. In a directory the one comes first that the soname (`libnccl.so.2`:
/// the shortest name with a number) leads to, because that is what the loader opens.
fn files_of(found: Vec<Found>, prefix: &str) -> Vec<Library> {
    let mut here: Vec<Found> = found
        .into_iter()
        .filter(|file| {
            file.name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
        .collect();
    let mut order: BTreeMap<String, usize> = BTreeMap::new();
    for (index, file) in here.iter().enumerate() {
        order.entry(file.directory.clone()).or_insert(index);
    }
    let dots = |name: &str| match name.strip_prefix(prefix) {
        Some("") | None => usize::MAX,
        Some(rest) => rest.matches('.').count(),
    };
    here.sort_by_key(|file| (order.get(&file.directory).copied(), dots(&file.name)));
    let mut files: Vec<Library> = Vec::new();
    let mut paths = BTreeSet::new();
    for file in here {
        if !paths.insert(file.real.clone()) {
            continue;
        }
        files.push(Library {
            version: version_in_name(&file.real),
            path: file.real,
            found_in: file.found_in,
            directory: file.directory,
        });
    }
    files
}

/// `2.21.5` of `/usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5`; the `2` of a file that is really called
/// `libnccl.so.2` is no version.
fn version_in_name(path: &str) -> Fact<String> {
    let version =
        path.rsplit('/').next().and_then(|name| name.split_once(".so.")).map(|(_, version)| version);
    match version {
        Some(version)
            if version.contains('.')
                && version
                    .split('.')
                    .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())) =>
        {
            Fact::Known(version.to_owned())
        }
        _ => Fact::Absent,
    }
}

/// libcuda of cuda-compat packages: `/usr/local/cuda-12.4/compat/libcuda.so.550.54.15`.
fn compat(
    host: &dyn Host,
    ld_library_path: &Fact<Vec<String>>,
    loader_directories: &Fact<Vec<String>>,
) -> Fact<Vec<Library>> {
    let lists = [(FoundIn::LdLibraryPath, ld_library_path), (FoundIn::LdSoConf, loader_directories)];
    // Directories of the lists that are, links followed, a compat directory: (real path, list, as written).
    let mut named = Vec::new();
    for (list, directories) in lists {
        let directories = match directories {
            Fact::Known(directories) => directories,
            Fact::Absent => continue,
            Fact::Unknown(why) => return Fact::Unknown(why.clone().about(list.to_string())),
        };
        for directory in directories.iter().filter(|dir| dir.contains("compat")) {
            match host.stat(directory).json::<Stat>() {
                Fact::Known(stat) => named.push((stat.path, list, directory.clone())),
                Fact::Absent => {}
                Fact::Unknown(why) => return Fact::Unknown(why.about(directory)),
            }
        }
    }
    let names = host.find("/usr/local", &["cuda"]).lines().absent_as(Vec::new()).about("/usr/local");
    names.and_then(|names| {
        let mut found: Vec<Library> = Vec::new();
        let local = names.iter().map(|name| format!("/usr/local/{name}/compat"));
        for directory in local.chain(named.iter().map(|(_, _, written)| written.clone())) {
            let real = match host.stat(&directory).json::<Stat>() {
                Fact::Known(stat) => stat.path,
                Fact::Absent => continue,
                Fact::Unknown(why) => return Fact::Unknown(why.clone().about(directory.to_string())),
            };
            let files = match host.find(&directory, &["libcuda.so"]).lines().absent_as(Vec::new()) {
                Fact::Known(files) => files,
                Fact::Absent => continue,
                Fact::Unknown(why) => return Fact::Unknown(why.clone().about(directory.to_string())),
            };
            let list = named.iter().find(|(path, _, _)| *path == real);
            let found_in = list.map_or(FoundIn::Toolkit, |(_, list, _)| *list);
            for name in files {
                let path = format!("{directory}/{name}");
                let stat = match host.stat(&path).json::<Stat>() {
                    Fact::Known(stat) => stat,
                    Fact::Absent => continue,
                    Fact::Unknown(why) => return Fact::Unknown(why.clone().about(path.to_string())),
                };
                if !found.iter().any(|other| other.path == stat.path) {
                    let version = version_in_name(&stat.path);
                    let directory = directory.clone();
                    found.push(Library { path: stat.path, version, found_in, directory });
                }
            }
        }
        Fact::Known(found)
    })
}

/// `#define NCCL_MAJOR 2`, `NCCL_MINOR 21`, `NCCL_PATCH 5`.
fn header_version(text: &str) -> Fact<String> {
    let number = |name: &str| {
        text.lines().filter_map(|line| line.trim().strip_prefix("#define ")).find_map(|line| {
            let value = line.trim().strip_prefix(name)?;
            value.trim().parse::<u32>().ok()
        })
    };
    match (number("NCCL_MAJOR"), number("NCCL_MINOR"), number("NCCL_PATCH")) {
        (Some(major), Some(minor), Some(patch)) => Fact::Known(format!("{major}.{minor}.{patch}")),
        _ => Fact::unknown("/usr/include/nccl.h defines no NCCL_MAJOR, NCCL_MINOR and NCCL_PATCH"),
    }
}

/// NCCL reads the file of NCCL_CONF_FILE, or else `~/.nccl.conf`, then `/etc/nccl.conf`.
fn nccl_conf(host: &dyn Host, variables: &Fact<BTreeMap<String, String>>) -> Fact<Vec<String>> {
    let own = match variables {
        Fact::Known(all) => set(all, "NCCL_CONF_FILE")
            .or_else(|| set(all, "HOME").map(|home| format!("{}/.nccl.conf", home.trim_end_matches('/')))),
        Fact::Absent => Fact::Absent,
        Fact::Unknown(why) => return Fact::Unknown(why.clone()),
    };
    let mut lines = Fact::Absent;
    for path in own.known().cloned().into_iter().chain(["/etc/nccl.conf".to_owned()]) {
        match host.read(&path).text().about(&path) {
            Fact::Known(text) => {
                let here =
                    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
                let mut all: Vec<String> = lines.known().cloned().unwrap_or_default();
                all.extend(here.map(str::to_owned));
                lines = Fact::Known(all);
            }
            Fact::Unknown(why) => return Fact::Unknown(why),
            Fact::Absent => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sparse;
    use host::Reading;

    fn text(text: &str) -> Reading {
        Reading::Text(text.into())
    }

    fn stat(kind: &str, path: &str) -> Reading {
        text(&format!(
            r#"{{"kind":"{kind}","mode":"0755","uid":0,"gid":0,"size":1,"mtime":0,"path":"{path}"}}"#
        ))
    }

    /// `DIR NAME=REAL …` a line: a directory with links.
    fn machine(directories: &[&str], more: &[(&str, &str)]) -> Sparse {
        let mut readings = BTreeMap::new();
        for line in directories {
            let mut words = line.split(' ');
            let directory = words.next().unwrap();
            readings.insert(format!("stat {directory}"), stat("directory", directory));
            let mut names = Vec::new();
            for (name, real) in words.filter_map(|word| word.split_once('=')) {
                names.push(name);
                readings
                    .insert(format!("stat {directory}/{name}"), stat("file", &format!("{directory}/{real}")));
            }
            readings.insert(format!("find {directory} {}", NAMES.join(" ")), text(&names.join("\n")));
            readings.insert(format!("find {directory} libcuda.so"), text(&names.join("\n")));
        }
        for (key, value) in more {
            readings.insert((*key).to_owned(), text(value));
        }
        Sparse(readings)
    }

    #[test]
    fn libraries_come_in_the_loaders_order() {
        let host = machine(
            &[
                "/opt/nccl/lib libnccl.so=libnccl.so.2.18.5 libnccl.so.2=libnccl.so.2.18.5 \
                    libnccl.so.2.18.5=libnccl.so.2.18.5",
                "/usr/lib/x86_64-linux-gnu libcuda.so.1=libcuda.so.550.54.14 libcudnn.so.9=libcudnn.so.9.1.0 \
                    libnccl.so.2=libnccl.so.2.21.5 libnccl.so.2.20.3=libnccl.so.2.20.3 \
                        libnccl.so.2.21.5=libnccl.so.2.21.5",
                "/lib64/ld-linux-x86-64.so.2",
            ],
            &[
                ("environment", "HOME=/root\nLD_LIBRARY_PATH=/opt/nccl/lib::/nowhere"),
                ("read /etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n"),
                ("list /etc/ld.so.conf.d", ".hidden.conf\nREADME\nlibc.conf\nx86_64-linux-gnu.conf"),
                ("read /etc/ld.so.conf.d/libc.conf", "# libc default configuration\n/usr/local/lib\n"),
                (
                    "read /etc/ld.so.conf.d/x86_64-linux-gnu.conf",
                    "# Multiarch \
                        support\n/usr/local/lib/x86_64-linux-gnu\n/lib/x86_64-linux-gnu\n/usr/lib/\
                        x86_64-linux-gnu\n",
                ),
                (
                    "read /usr/include/nccl.h",
                    "#define NCCL_MAJOR 2\n#define NCCL_MINOR 21\n#define NCCL_PATCH 5\n#define NCCL_SUFFIX \
                        \"\"\n",
                ),
                ("read /etc/nccl.conf", "# set by the admin\nNCCL_IB_DISABLE=1\n\n"),
            ],
        );
        let libraries = gather(&host);
        assert_eq!(libraries.ld_library_path, Fact::Known(vec!["/opt/nccl/lib".into(), "/nowhere".into()]));
        let all = |list: &Fact<Vec<Library>>| -> Vec<(String, String)> {
            let list = list.known().unwrap().iter();
            list.map(|l| (l.version.known().cloned().unwrap_or_default(), l.found_in.to_string())).collect()
        };
        let own = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
        };
        assert_eq!(
            all(&libraries.nccl),
            own(&[("2.18.5", "LD_LIBRARY_PATH"), ("2.21.5", "ld.so.conf"), ("2.20.3", "ld.so.conf")])
        );
        assert_eq!(all(&libraries.cudnn), own(&[("9.1.0", "ld.so.conf")]));
        assert_eq!(all(&libraries.cuda_driver), own(&[("550.54.14", "ld.so.conf")]));
        assert_eq!(libraries.nccl_header, Fact::Known("2.21.5".into()));
        assert_eq!(libraries.nccl_conf, Fact::Known(vec!["NCCL_IB_DISABLE=1".into()]));
        assert_eq!(libraries.preload, Fact::Absent);
        assert_eq!(libraries.compat, Fact::Known(Vec::new()));
    }

    #[test]
    fn unreadable_loader_leaves_the_libraries_unknown() {
        let loader = "/lib64/ld-linux-x86-64.so.2";
        let host = machine(&[], &[("environment", "HOME=/root")]);
        let host = host.failing(&[(&format!("stat {loader}"), "permission denied")]);
        assert_eq!(gather(&host).nccl, Fact::unknown(format!("{loader}: permission denied")));
    }

    #[test]
    fn compat_directory_reports_how_it_was_found() {
        let mut host = machine(
            &["/usr/local/cuda-12.4/compat libcuda.so.1=libcuda.so.550.54.15 \
                    libcuda.so.550.54.15=libcuda.so.550.54.15"],
            &[
                ("environment", "LD_LIBRARY_PATH=/usr/local/cuda/compat"),
                ("find /usr/local cuda", "cuda\ncuda-12.4"),
            ],
        );
        let real = stat("directory", "/usr/local/cuda-12.4/compat");
        host.0.insert("stat /usr/local/cuda/compat".into(), real);
        let compat = gather(&host).compat;
        let [one] = compat.known().unwrap().as_slice() else { panic!("{compat:?}") };
        assert_eq!(one.path, "/usr/local/cuda-12.4/compat/libcuda.so.550.54.15");
        assert_eq!((&one.version, one.found_in), (&Fact::Known("550.54.15".into()), FoundIn::LdLibraryPath));
    }

    #[test]
    fn names_without_a_version_have_none() {
        for (path, version) in [
            ("/usr/lib/libnccl.so.2.21.5", Some("2.21.5")),
            ("/x/nvidia/nccl/lib/libnccl.so.2", None),
            ("/usr/lib64/libcudnn.so.8.9.2", Some("8.9.2")),
            ("/usr/local/cuda/lib64/stubs/libcuda.so", None),
            ("/usr/lib/libnccl.so.2.21.5.bak", None),
        ] {
            assert_eq!(version_in_name(path).known().map(String::as_str), version, "{path}");
        }
    }

    #[test]
    fn empty_snapshot_is_unknown() {
        let libraries = gather(&host::record::Replay::new(BTreeMap::new(), "not in this snapshot"));
        for list in [&libraries.nccl, &libraries.cudnn, &libraries.cuda_driver, &libraries.compat] {
            assert!(matches!(list, Fact::Unknown(_)), "{list:?}");
        }
        assert!(matches!(libraries.nccl_header, Fact::Unknown(_)));
        assert!(matches!(libraries.nccl_conf, Fact::Unknown(_)));
    }

    #[test]
    fn files_that_include_each_other_are_read_once() {
        // With a file read each time that it is named, this takes 200 to the power of 16 readings.
        let include = "include /etc/ld.so.conf.d/a.conf\n".repeat(200);
        let (first, other) = (format!("{include}/usr/x\n"), format!("{include}/usr/y\n/usr/x\n"));
        let host =
            Sparse::new(&[("read /etc/ld.so.conf", &first), ("read /etc/ld.so.conf.d/a.conf", &other)]);
        let found = loader_directories(&host);
        assert_eq!(found, Fact::Known(vec!["/usr/y".to_owned(), "/usr/x".to_owned()]));
    }
}
