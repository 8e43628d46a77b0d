//! Finding Python environments and reading what is installed in them.

use std::collections::BTreeMap;

use super::parser::{self, VenvConfig};
use super::{EnvironmentKind, Fact, FoundBy, Package, PythonEnvironment, Torch};
use crate::IntoFact;
use crate::environment;
use host::{Host, Missing, Stat};

/// Names in a directory of packages that matter here begin with one of these. They are part of the key of a
/// reading, so their order is fixed and they change rarely.
pub(super) const PREFIXES: &[&str] = &[
    "accelerate",
    "apex",
    "bitsandbytes",
    "cuda",
    "cupy",
    "deepspeed",
    "flash",
    "numpy",
    "nvidia",
    "pydantic",
    "pytorch",
    "setuptools",
    "torch",
    "transformer",
    "triton",
    "vllm",
    "xformers",
];

/// Places below a home directory and elsewhere where an environment may stand that nothing points to.
const HOME_PLACES: &[&str] = &[".venv", "venv", "miniconda3", "anaconda3", "miniforge3", "mambaforge"];
const PLACES: &[&str] = &["/opt/venv", "/opt/conda", "/opt/miniconda3", "/usr/local", "/usr"];

/// Every environment, the one that `python3` starts first.
pub(super) fn environments(host: &dyn Host) -> Fact<Vec<PythonEnvironment>> {
    let variables = host.environment().text().map(|text| environment::parse(&text)).about("environment");
    let mut unseen = Vec::new();
    if let Fact::Unknown(why) = &variables {
        unseen.push(why.clone());
    }
    let variables = variables.known().cloned().unwrap_or_default();
    let mut finder = Finder { host, variables, found: Vec::new() };
    for name in ["python3", "python"] {
        match host.program(name).text().about(&format!("{name} on PATH")) {
            Fact::Known(path) => finder.interpreter(path.trim(), FoundBy::Path),
            Fact::Unknown(why) => unseen.push(why),
            Fact::Absent => {}
        }
    }
    for (name, found_by) in [("VIRTUAL_ENV", FoundBy::VirtualEnv), ("CONDA_PREFIX", FoundBy::CondaPrefix)] {
        if let Some(prefix) = finder.variable(name).map(str::to_owned) {
            finder.interpreter(&format!("{}/bin/python3", prefix.trim_end_matches('/')), found_by);
        }
    }
    for home in finder.homes() {
        for directory in HOME_PLACES {
            finder.interpreter(&format!("{home}/{directory}/bin/python3"), FoundBy::Location);
        }
    }
    for directory in PLACES {
        finder.interpreter(&format!("{directory}/bin/python3"), FoundBy::Location);
    }
    match unseen.into_iter().next() {
        Some(why) => Fact::Unknown(why),
        None => Fact::Known(finder.found),
    }
}

struct Finder<'a> {
    host: &'a dyn Host,
    variables: BTreeMap<String, String>,
    found: Vec<PythonEnvironment>,
}

impl Finder<'_> {
    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The user's home, and under sudo that of the user who called it.
    fn homes(&self) -> Vec<String> {
        let caller =
            self.variable("SUDO_USER").filter(|user| *user != "root").map(|user| format!("/home/{user}"));
        let mut homes: Vec<String> = caller.into_iter().collect();
        homes.extend(self.variable("HOME").map(|home| home.trim_end_matches('/').to_owned()));
        homes.dedup();
        homes
    }

    /// Adds the environment of an interpreter, if there is one at this path.
    fn interpreter(&mut self, path: &str, found_by: FoundBy) {
        let Some((bin, name)) = path.rsplit_once('/') else { return };
        let prefix = parent(bin);
        if self.found.iter().any(|environment| environment.prefix == prefix) {
            return;
        }
        match self.host.stat(path).json::<Stat>() {
            Fact::Absent => {}
            // A place that cannot be looked at need not hold anything; a path that the environment names
            // does.
            Fact::Unknown(_) if found_by == FoundBy::Location => {}
            Fact::Unknown(why) => self.add_unknown(prefix, found_by, &why),
            Fact::Known(_) if bin.ends_with("/shims") => self.shim(path, name, found_by),
            Fact::Known(stat) => match self.host.read(&format!("{prefix}/pyvenv.cfg")).text() {
                Fact::Known(text) => self.virtual_environment(prefix, &parser::venv_config(&text), found_by),
                Fact::Unknown(why) => self.add_unknown(prefix, found_by, &why),
                Fact::Absent => self.installation(&stat.path, found_by),
            },
        }
    }

    /// pyenv's shims are scripts that choose the interpreter when they are started:
    /// `export PYENV_ROOT="/root/.pyenv"` … `exec "/root/.pyenv/libexec/pyenv" exec "$program" "$@"`.
    fn shim(&mut self, path: &str, name: &str, found_by: FoundBy) {
        let text = self.host.read(path).text();
        let root = text.known().and_then(|text| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix("export PYENV_ROOT="))?;
            Some(line.trim_matches('"').to_owned())
        });
        let why = Missing::from(format!("{path} is a shim; its target is unknown"));
        let Some(root) = root else { return self.add_unknown(path, found_by, &why) };
        match self.pyenv_version(&root) {
            Some(version) if version == "system" => {
                // pyenv then takes the next one on PATH behind its own directory.
                let directories = self.variable("PATH").unwrap_or_default().to_owned();
                let next = directories.split(':').filter(|dir| !dir.ends_with("/shims")).find(|dir| {
                    matches!(self.host.stat(&format!("{dir}/{name}")).json::<Stat>(), Fact::Known(_))
                });
                if let Some(dir) = next.map(str::to_owned) {
                    self.interpreter(&format!("{dir}/{name}"), found_by);
                }
            }
            Some(version) => {
                let before = self.found.len();
                self.interpreter(&format!("{root}/versions/{version}/bin/{name}"), found_by);
                let prefix = format!("{root}/versions/{version}");
                if self.found.len() == before && !self.found.iter().any(|found| found.prefix == prefix) {
                    self.add_unknown(
                        path,
                        found_by,
                        &format!("{why}: pyenv has no version {version}").into(),
                    );
                }
            }
            None => self.add_unknown(path, found_by, &why),
        }
    }

    /// What pyenv would choose: PYENV_VERSION, `.python-version` in the home directory, then its own file
    /// `version`, then the system's. (A `.python-version` in a project directory counts only for programs
    /// that start there.)
    fn pyenv_version(&self, root: &str) -> Option<String> {
        let first =
            |text: &str| text.split([':', '\n']).map(str::trim).find(|v| !v.is_empty()).map(str::to_owned);
        let mut wanted = self.variable("PYENV_VERSION").and_then(first);
        let files = self.variable("HOME").map(|home| format!("{home}/.python-version"));
        for file in files.into_iter().chain([format!("{root}/version")]) {
            if wanted.is_none() {
                wanted = self.host.read(&file).text().decided().ok()?.and_then(|text| first(text));
            }
        }
        let wanted = wanted.unwrap_or_else(|| "system".into());
        if wanted == "system" {
            return Some(wanted);
        }
        let names = self.host.list(&format!("{root}/versions")).lines();
        let names = names.known()?;
        if names.contains(&wanted) {
            return Some(wanted);
        }
        // `3.11` means the newest 3.11 that is installed.
        let number = |name: &str| name.rsplit('.').next().and_then(|patch| patch.parse::<u32>().ok());
        let below = format!("{wanted}.");
        let same = names.iter().filter(|name| name.starts_with(&below));
        let newest = same.filter(|name| number(name).is_some()).max_by_key(|name| number(name));
        Some(newest.cloned().unwrap_or(wanted))
    }

    fn virtual_environment(&mut self, prefix: &str, config: &VenvConfig, found_by: FoundBy) {
        let version = match &config.version {
            Some(version) => Fact::Known(version.clone()),
            None => self.version_below(prefix),
        };
        let mut sites = self.python_path();
        if let Fact::Known(version) = &version {
            let minor = parser::minor(version).unwrap_or_else(|| version.clone());
            sites.push(format!("{prefix}/lib/python{minor}/site-packages"));
            if let (true, Some(home)) = (config.system_site_packages, &config.home) {
                sites.extend(self.user_site(&minor));
                sites.extend(self.sites(parent(home.trim_end_matches('/')), &minor));
            }
        }
        self.add(prefix, version, EnvironmentKind::Venv, found_by, sites, Fact::Known(false));
    }

    /// An interpreter that is not a virtual environment's; `real` is its path with links followed.
    fn installation(&mut self, real: &str, found_by: FoundBy) {
        let prefix = parent(parent(real));
        if self.found.iter().any(|environment| environment.prefix == prefix) {
            return;
        }
        let conda = self.host.find(&format!("{prefix}/conda-meta"), &["python-3"]).lines();
        let kind = match &conda {
            Fact::Known(_) => EnvironmentKind::Conda,
            _ if prefix.contains("/.pyenv/versions/") => EnvironmentKind::Pyenv,
            _ if prefix.contains("/uv/python/") => EnvironmentKind::Uv,
            _ => EnvironmentKind::System,
        };
        // `python-3.11.5-h955ad1f_0.json`
        let written = conda.known().and_then(|names| names.first()?.split('-').nth(1).map(str::to_owned));
        let written = written.or_else(|| {
            let version = prefix.rsplit_once("/versions/")?.1;
            (kind == EnvironmentKind::Pyenv && version.starts_with(|c: char| c.is_ascii_digit()))
                .then(|| version.to_owned())
        });
        let named = || parser::version_in_name(real.rsplit('/').next().unwrap_or(real));
        let version = match written.or_else(named) {
            Some(version) => Fact::Known(version),
            None => self.version_below(prefix),
        };
        let mut sites = self.python_path();
        let mut managed = Fact::unknown("the version of this Python is not known");
        if let Fact::Known(version) = &version {
            let minor = parser::minor(version).unwrap_or_else(|| version.clone());
            sites.extend(self.user_site(&minor));
            sites.extend(self.sites(prefix, &minor));
            let marker = format!("{prefix}/lib/python{minor}/EXTERNALLY-MANAGED");
            managed = self.host.stat(&marker).json::<Stat>().map(|_| true).absent_as(false);
        }
        self.add(prefix, version, kind, found_by, sites, managed);
    }

    /// The version from the one `lib/python3.Y` below a prefix.
    fn version_below(&self, prefix: &str) -> Fact<String> {
        let names = self.host.find(&format!("{prefix}/lib"), &["python3."]).lines();
        names
            .must_exist(&format!("{prefix}/lib"))
            .and_then(|names| match names.as_slice() {
                [one] => parser::version_in_name(one).map_or(Fact::Absent, Fact::Known),
                _ => Fact::Absent,
            })
            .must_exist("one directory lib/python3.Y")
    }

    fn python_path(&self) -> Vec<String> {
        let path = self.variable("PYTHONPATH").unwrap_or_default();
        path.split(':').filter(|dir| dir.starts_with('/')).map(str::to_owned).collect()
    }

    fn user_site(&self, minor: &str) -> Option<String> {
        if self.variable("PYTHONNOUSERSITE").is_some() {
            return None;
        }
        self.variable("HOME")
            .map(|home| format!("{}/.local/lib/python{minor}/site-packages", home.trim_end_matches('/')))
    }

    /// The directories of packages of an installation. Debian's own Python reads `dist-packages` only, so
    /// that `pip install` never writes among the packages of apt; everybody else's reads `site-packages`.
    fn sites(&self, prefix: &str, minor: &str) -> Vec<String> {
        if prefix != "/usr" {
            return vec![format!("{prefix}/lib/python{minor}/site-packages")];
        }
        let debian = "/usr/lib/python3/dist-packages";
        if self.host.stat(debian).json::<Stat>() != Fact::Absent {
            return vec![format!("/usr/local/lib/python{minor}/dist-packages"), debian.into()];
        }
        ["/usr/local/lib64", "/usr/local/lib", "/usr/lib64", "/usr/lib"]
            .iter()
            .map(|lib| format!("{lib}/python{minor}/site-packages"))
            .collect()
    }

    fn add_unknown(&mut self, prefix: &str, found_by: FoundBy, why: &Missing) {
        let unknown = || why.clone().about(format!("Python environment {prefix}"));
        self.found.push(PythonEnvironment {
            prefix: prefix.into(),
            version: Fact::Unknown(unknown()),
            kind: EnvironmentKind::Unknown,
            found_by,
            site_packages: Vec::new(),
            externally_managed: Fact::Unknown(unknown()),
            packages: Fact::Unknown(unknown()),
            torch: Fact::Unknown(unknown()),
        });
    }

    fn add(
        &mut self,
        prefix: &str,
        version: Fact<String>,
        kind: EnvironmentKind,
        found_by: FoundBy,
        sites: Vec<String>,
        externally_managed: Fact<bool>,
    ) {
        let mut site_packages = Vec::new();
        let mut packages = Fact::Known(Vec::new());
        let mut torch = Fact::Absent;
        if let Fact::Unknown(why) = &version {
            return self.add_unknown(prefix, found_by, why);
        }
        for site in sites {
            let names = match self.host.find(&site, PREFIXES).lines().about(&site) {
                Fact::Absent => continue,
                Fact::Known(names) => names,
                Fact::Unknown(why) => {
                    packages = Fact::Unknown(why.clone());
                    torch = torch.or_else(|| Fact::Unknown(why));
                    continue;
                }
            };
            if let Fact::Known(packages) = &mut packages {
                let here = names.iter().filter_map(|name| parser::distribution(name));
                packages.extend(here.map(|(name, version)| Package { name, version, site: site.clone() }));
            }
            torch = torch.or_else(|| self.torch(&site, &names));
            site_packages.push(site);
        }
        self.found.push(PythonEnvironment {
            prefix: prefix.into(),
            version,
            kind,
            found_by,
            site_packages,
            externally_managed,
            packages,
            torch,
        });
    }

    fn torch(&self, site: &str, names: &[String]) -> Fact<Torch> {
        let installed =
            names.iter().filter_map(|name| parser::distribution(name)).any(|(name, _)| name == "torch");
        let file = format!("{site}/torch/version.py");
        let text = if names.iter().any(|name| name == "torch") {
            self.host.read(&file).text().about(&file)
        } else {
            Fact::Absent
        };
        let text = if installed { text.must_exist(&format!("torch is installed, but {file}")) } else { text };
        text.and_then(|text| parser::torch_version(&text))
    }
}

fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sparse;
    use host::{Reading, record::Replay};

    fn environments(host: &dyn Host) -> Vec<PythonEnvironment> {
        super::environments(host).known().cloned().unwrap()
    }

    fn text(text: &str) -> Reading {
        Reading::Text(text.into())
    }

    fn file(path: &str) -> Reading {
        text(&format!(
            r#"{{"kind":"file","mode":"0755","uid":0,"gid":0,"size":1,"mtime":0,"path":"{path}"}}"#
        ))
    }

    fn machine(readings: &[(&str, Reading)]) -> Sparse {
        let prefixes = format!(" {}", PREFIXES.join(" "));
        let key = |key: &str| match key.strip_prefix("site ") {
            Some(dir) => format!("find {dir}{prefixes}"),
            None => key.to_owned(),
        };
        Sparse(readings.iter().map(|(k, reading)| (key(k), reading.clone())).collect())
    }

    const TORCH: &str =
        "__version__ = '2.5.1+cu121'\ncuda: Optional[str] = '12.1'\nhip: Optional[str] = None\n";

    #[test]
    fn a_virtual_environment_comes_first_and_hides_the_system() {
        let host = machine(&[
            ("environment", text("HOME=/root\nPATH=/srv/venv/bin:/usr/bin\nVIRTUAL_ENV=/srv/venv")),
            ("program python3", text("/srv/venv/bin/python3")),
            ("program python", text("/srv/venv/bin/python")),
            ("stat /srv/venv/bin/python3", file("/usr/bin/python3.12")),
            ("read /srv/venv/pyvenv.cfg", text("home = /usr/bin\nversion = 3.12.3\n")),
            (
                "site /srv/venv/lib/python3.12/site-packages",
                text("nvidia_nccl_cu12-2.21.5.dist-info\ntorch\ntorch-2.5.1+cu121.dist-info\ntorchgen"),
            ),
            ("read /srv/venv/lib/python3.12/site-packages/torch/version.py", text(TORCH)),
            ("stat /usr/bin/python3", file("/usr/bin/python3.12")),
            ("stat /usr/lib/python3/dist-packages", file("/usr/lib/python3/dist-packages")),
            ("stat /usr/lib/python3.12/EXTERNALLY-MANAGED", file("/usr/lib/python3.12/EXTERNALLY-MANAGED")),
            ("site /usr/lib/python3/dist-packages", text("numpy-1.26.4.egg-info")),
        ]);
        let found = environments(&host);
        let [venv, system] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(
            (venv.prefix.as_str(), venv.kind, venv.found_by),
            ("/srv/venv", EnvironmentKind::Venv, FoundBy::Path)
        );
        assert_eq!(venv.version, Fact::Known("3.12.3".into()));
        assert_eq!(venv.package("nvidia-nccl-cu12"), Fact::Known("2.21.5"));
        assert_eq!(venv.package("torch"), Fact::Known("2.5.1+cu121"));
        assert_eq!(venv.package("deepspeed"), Fact::Absent);
        assert_eq!(venv.torch.known().unwrap().full(), "2.5.1+cu121");
        assert_eq!(venv.torch.known().unwrap().cuda_build(), Some("cu121"));
        assert_eq!((system.prefix.as_str(), system.kind), ("/usr", EnvironmentKind::System));
        assert!(venv.active() && !system.active());
        assert_eq!(system.externally_managed, Fact::Known(true));
        assert!(system.pip("install").ends_with("/bin/python3 -m pip install --break-system-packages"));
        assert_eq!(system.package("numpy"), Fact::Known("1.26.4"));
        assert_eq!(system.torch, Fact::Absent);
    }

    #[test]
    fn pyenvs_shims_are_followed() {
        let shim = "#!/usr/bin/env bash\nset -e\nprogram=\"${0##*/}\"\n\nexport PYENV_ROOT=\"/root/.pyenv\"\n\
                    exec \"/root/.pyenv/libexec/pyenv\" exec \"$program\" \"$@\"\n";
        let base = [
            ("environment", text("HOME=/root\nPATH=/root/.pyenv/shims:/usr/bin")),
            ("program python3", text("/root/.pyenv/shims/python3")),
            ("stat /root/.pyenv/shims/python3", file("/root/.pyenv/shims/python3")),
            ("read /root/.pyenv/shims/python3", text(shim)),
            ("list /root/.pyenv/versions", text("3.11.12\n3.11.7\n3.12.1")),
            (
                "stat /root/.pyenv/versions/3.11.12/bin/python3",
                file("/root/.pyenv/versions/3.11.12/bin/python3.11"),
            ),
            (
                "site /root/.pyenv/versions/3.11.12/lib/python3.11/site-packages",
                text("torch\ntorch-2.5.1.dist-info"),
            ),
            ("read /root/.pyenv/versions/3.11.12/lib/python3.11/site-packages/torch/version.py", text(TORCH)),
        ];
        for version in ["3.11.12\n", "3.11\n", "\n3.11.12\n3.12.1\n"] {
            let mut readings = base.to_vec();
            readings.push(("read /root/.pyenv/version", text(version)));
            let found = environments(&machine(&readings));
            let [one] = found.as_slice() else { panic!("{version:?}: {found:#?}") };
            assert_eq!((one.kind, &one.version), (EnvironmentKind::Pyenv, &Fact::Known("3.11.12".into())));
            assert_eq!(one.torch.known().unwrap().version, "2.5.1");
        }
        let mut readings = base.to_vec();
        readings.push(("read /root/.pyenv/version", text("3.9.1\n")));
        let found = environments(&machine(&readings));
        assert!(
            matches!(&found[0].torch, Fact::Unknown(why) if why.detail.contains("no version 3.9.1")),
            "{found:#?}"
        );
    }

    #[test]
    fn conda_reads_egg_info_and_user_site_first() {
        let host = machine(&[
            ("environment", text("HOME=/home/ada\nCONDA_PREFIX=/opt/conda")),
            ("stat /opt/conda/bin/python3", file("/opt/conda/bin/python3.11")),
            ("find /opt/conda/conda-meta python-3", text("python-3.11.10-he870216_0.json")),
            ("site /opt/conda/lib/python3.11/site-packages", text("torch\ntorch-2.5.1-py3.11.egg-info")),
            ("site /home/ada/.local/lib/python3.11/site-packages", text("numpy-2.1.3.dist-info")),
            (
                "read /opt/conda/lib/python3.11/site-packages/torch/version.py",
                text("__version__ = '2.5.1'\ncuda: Optional[str] = '12.4'\n"),
            ),
        ]);
        let found = environments(&host);
        let [conda] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!((conda.kind, conda.found_by), (EnvironmentKind::Conda, FoundBy::CondaPrefix));
        assert_eq!(conda.version, Fact::Known("3.11.10".into()));
        assert_eq!(conda.site_packages[0], "/home/ada/.local/lib/python3.11/site-packages");
        assert_eq!(conda.torch.known().unwrap().full(), "2.5.1");
        assert_eq!(conda.package("torch"), Fact::Known("2.5.1"));
    }

    #[test]
    fn unreadable_site_packages_are_unknown() {
        let denied = || Reading::failed("permission denied");
        let host = machine(&[
            ("environment", text("HOME=/root\nVIRTUAL_ENV=/srv/venv")),
            ("stat /srv/venv/bin/python3", file("/usr/bin/python3.12")),
            ("read /srv/venv/pyvenv.cfg", text("home = /usr/bin\nversion = 3.12.3\n")),
            ("site /srv/venv/lib/python3.12/site-packages", denied()),
        ]);
        let found = environments(&host);
        assert!(matches!(found[0].packages, Fact::Unknown(_)) && matches!(found[0].torch, Fact::Unknown(_)));
        // An old snapshot that was never asked: nothing is concluded.
        let nothing = Replay::new(BTreeMap::new(), "not in this snapshot");
        assert!(matches!(super::environments(&nothing), Fact::Unknown(_)));
    }
}
