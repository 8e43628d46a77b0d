//! CUDA toolkits on the machine.

use std::time::Duration;

use super::{Fact, environment};
use crate::IntoFact;
use host::{FileKind, Host, Stat};

/// Every toolkit, and which one a compiler run would take.
#[derive(Debug, Clone)]
pub struct Cuda {
    /// Toolkits under `/usr/local/cuda*` and `/opt/cuda` and where `CUDA_HOME` points, by `version.json` or
    /// `version.txt`; an empty list when there is none. Directories without a compiler (runtime images have
    /// them) are in it too.
    pub toolkits: Fact<Vec<Toolkit>>,
    /// What `/usr/local/cuda` links to.
    pub default: Fact<String>,
    /// `nvcc` on PATH: its path, links followed.
    pub nvcc: Fact<String>,
    /// Version of the toolkit that this nvcc belongs to, `12.4`: the toolkit's version file, else `nvcc
    /// --version`.
    pub nvcc_version: Fact<String>,
    /// `CUDA_HOME`, else `CUDA_PATH`, as it stands.
    pub home: Fact<String>,
    /// Which of the two variables it is.
    pub home_variable: Fact<String>,
    /// The toolkit that it points to; absent when nothing is there (or neither is set).
    pub home_toolkit: Fact<Toolkit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolkit {
    /// Its directory, links followed.
    pub path: String,
    /// `12.4.1`, or `12.4` where only that is written down.
    pub version: Fact<String>,
    /// Whether `bin/nvcc` is in it.
    pub nvcc: bool,
}

impl Cuda {
    /// The toolkit whose nvcc `torch.utils.cpp_extension` (and with it DeepSpeed) takes: CUDA_HOME or
    /// CUDA_PATH, else the nvcc on PATH, else `/usr/local/cuda`. Its directory and version; absent when none
    /// has a compiler.
    pub fn compiler(&self) -> Fact<(String, String)> {
        let of = |toolkit: &Toolkit| match toolkit.nvcc {
            true => toolkit.version.as_ref().map(|version| (toolkit.path.clone(), version.clone())),
            false => Fact::Absent,
        };
        match &self.home {
            Fact::Known(_) => return self.home_toolkit.as_ref().and_then(of),
            Fact::Unknown(why) => return Fact::Unknown(why.clone()),
            Fact::Absent => {}
        }
        match &self.nvcc {
            Fact::Known(path) => {
                return self.nvcc_version.as_ref().map(|version| (path.clone(), version.clone()));
            }
            Fact::Unknown(why) => return Fact::Unknown(why.clone()),
            Fact::Absent => {}
        }
        let default = self.default.as_ref();
        default.and_then(|default| {
            self.toolkits.as_ref().and_then(|toolkits| {
                toolkits.iter().find(|toolkit| toolkit.path == *default).map_or(Fact::Absent, of)
            })
        })
    }
}

/// `12.4` of `12.4.1`.
pub fn minor(version: &str) -> Option<&str> {
    let dot = version.find('.')?;
    let end = version[dot + 1..].find('.').map_or(version.len(), |at| dot + 1 + at);
    Some(&version[..end])
}

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host) -> Cuda {
    let variables = host.environment().text().map(|text| environment::parse(&text));
    let variable = |name: &str| {
        variables.as_ref().and_then(|variables| match variables.get(name) {
            Some(value) if !value.is_empty() => Fact::Known((name.to_owned(), value.clone())),
            _ => Fact::Absent,
        })
    };
    let set = variable("CUDA_HOME").or_else(|| variable("CUDA_PATH"));
    let (home_variable, home) = (set.clone().map(|(name, _)| name), set.map(|(_, value)| value));
    let home_toolkit = home.clone().and_then(|home| toolkit(host, &home, false));
    let mut toolkits = toolkits(host);
    if let (Fact::Known(all), Fact::Known(one)) = (&mut toolkits, &home_toolkit)
        && !all.iter().any(|toolkit| toolkit.path == one.path)
    {
        all.push(one.clone());
    }
    let nvcc = host.program("nvcc").text().about("nvcc on PATH").and_then(|path| {
        let path = path.trim().to_owned();
        host.stat(&path).json::<Stat>().map(|stat| stat.path).absent_as(path)
    });
    let nvcc_version = nvcc.clone().and_then(|path| nvcc_version(host, &path));
    let default = host.stat("/usr/local/cuda").json::<Stat>().map(|stat| stat.path);
    Cuda { toolkits, default, nvcc, nvcc_version, home, home_variable, home_toolkit }
}

fn toolkits(host: &dyn Host) -> Fact<Vec<Toolkit>> {
    let names = host.find("/usr/local", &["cuda"]).lines().absent_as(Vec::new());
    names.about("/usr/local").and_then(|names| {
        let mut found: Vec<Toolkit> = Vec::new();
        let local = names.iter().map(|name| format!("/usr/local/{name}"));
        for path in local.chain(["/opt/cuda".to_owned()]) {
            match toolkit(host, &path, true) {
                Fact::Known(one) if !found.iter().any(|other| other.path == one.path) => found.push(one),
                Fact::Unknown(why) => return Fact::Unknown(why),
                _ => {}
            }
        }
        Fact::Known(found)
    })
}

/// The toolkit in a directory; absent when the directory is not there, or, if `signs` are asked for, when
/// neither a version file nor nvcc nor a version in its name says that it is one.
fn toolkit(host: &dyn Host, path: &str, signs: bool) -> Fact<Toolkit> {
    host.stat(path).json::<Stat>().about(path).and_then(|stat| {
        if stat.kind != FileKind::Directory {
            return Fact::Absent;
        }
        let path = stat.path;
        let nvcc = !matches!(host.stat(&format!("{path}/bin/nvcc")).json::<Stat>(), Fact::Absent);
        let version = version_of(host, &path).or_else(|| version_in_name(&path));
        if signs && !nvcc && version == Fact::Absent {
            return Fact::Absent;
        }
        Fact::Known(Toolkit { path, version, nvcc })
    })
}

/// The version that a toolkit's directory writes down.
fn version_of(host: &dyn Host, path: &str) -> Fact<String> {
    let json = format!("{path}/version.json");
    let new = host.read(&json).text().and_then(|text| version_json(&text)).about(&json);
    new.or_else(|| {
        let txt = format!("{path}/version.txt");
        host.read(&txt).text().and_then(|text| version_txt(&text)).about(&txt)
    })
}

/// Packages install into `/usr/local/cuda-12.4`.
fn version_in_name(path: &str) -> Fact<String> {
    let version = path.rsplit('/').next().and_then(|name| name.strip_prefix("cuda-"));
    match version {
        Some(version) if is_version(version) => Fact::Known(version.to_owned()),
        _ => Fact::Absent,
    }
}

fn is_version(text: &str) -> bool {
    text.contains('.')
        && text.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

/// Version of the toolkit that an nvcc belongs to: of the directory above its `bin`, else of Debian's
/// package, else its own word.
fn nvcc_version(host: &dyn Host, path: &str) -> Fact<String> {
    let root = path.strip_suffix("/bin/nvcc").unwrap_or_default();
    let written = match root {
        "" => Fact::Absent,
        // Debian's nvidia-cuda-toolkit: a script in /usr/bin, the version in /usr/lib/cuda.
        "/usr" | "/usr/lib/nvidia-cuda-toolkit" => version_of(host, "/usr/lib/cuda"),
        root => version_of(host, root).or_else(|| version_in_name(root)),
    };
    written.or_look(|| {
        let said = host.run(&["nvcc", "--version"], Duration::from_secs(5));
        said.stdout().about("nvcc --version").and_then(|text| nvcc_says(&text))
    })
}

/// `version.json` (11.1 and newer): `{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, "cuda_cccl": {…},
/// …}`. Some releases have the day of the build in the third place (`12.1.20230222`), which is no patch
/// number: only `12.1` is known then.
fn version_json(text: &str) -> Fact<String> {
    let Ok(json) = serde_json::from_str::<serde_json::Value>(text) else {
        return Fact::unknown("is not JSON");
    };
    match json["cuda"]["version"].as_str().map(without_build) {
        Some(version) if is_version(&version) => Fact::Known(version),
        _ => Fact::unknown("names no version of the toolkit"),
    }
}

/// `version.txt` (11.0 and older, and Debian's package): `CUDA Version 11.5.119`; the third number counts
/// builds, not patches.
fn version_txt(text: &str) -> Fact<String> {
    let version = text.lines().find_map(|line| line.trim().strip_prefix("CUDA Version ")).map(without_build);
    match version {
        Some(version) if is_version(&version) => Fact::Known(version),
        _ => Fact::unknown("names no version of the toolkit"),
    }
}

/// `Cuda compilation tools, release 12.4, V12.4.131`.
fn nvcc_says(text: &str) -> Fact<String> {
    let release = text.lines().find_map(|line| line.split_once(", release ")?.1.split(',').next());
    match release.map(str::trim) {
        Some(version) if is_version(version) => Fact::Known(version.to_owned()),
        _ => Fact::unknown("its output names no release"),
    }
}

/// Patch numbers of CUDA have one digit; a longer third part is a build or a date.
fn without_build(version: &str) -> String {
    match version.trim().splitn(3, '.').collect::<Vec<_>>().as_slice() {
        [major, minor, patch] if patch.len() != 1 => format!("{major}.{minor}"),
        _ => version.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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

    fn known(version: &str) -> Fact<String> {
        Fact::Known(version.into())
    }

    #[test]
    fn version_files_are_read() {
        let json = r#"{
   "cuda" : {
      "name" : "CUDA SDK",
      "version" : "13.0.3"
   },
   "cuda_cccl" : {
      "name" : "CUDA C++ Core Compute Libraries",
      "version" : "13.0.85"
   }
}"#;
        assert_eq!(version_json(json), known("13.0.3"));
        assert_eq!(version_json(&json.replace("13.0.3", "12.1.20230222")), known("12.1"));
        assert!(matches!(version_json("{}"), Fact::Unknown(_)));
        assert!(matches!(version_json("CUDA Version 11.0.228"), Fact::Unknown(_)));
        assert_eq!(version_txt("CUDA Version 11.5.119\n"), known("11.5"));
        assert_eq!(version_txt("CUDA Version 10.2.89\nCUDA Patch Version 10.2.1\n"), known("10.2"));
        assert!(matches!(version_txt("\n"), Fact::Unknown(_)));
        let nvcc = "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2024 NVIDIA Corporation\n\
                    Built on Thu_Mar_28_02:18:24_PDT_2024\nCuda compilation tools, release 12.4, V12.4.131\n\
                    Build cuda_12.4.r12.4/compiler.34097967_0\n";
        assert_eq!(nvcc_says(nvcc), known("12.4"));
        assert!(matches!(nvcc_says("sh: nvcc: not found"), Fact::Unknown(_)));
        assert_eq!((minor("12.4.1"), minor("12.4"), minor("12")), (Some("12.4"), Some("12.4"), None));
    }

    #[test]
    fn toolkits_are_found_once_each() {
        let host = Sparse::of([
            ("environment", text("CUDA_HOME=/usr/local/cuda-12.4")),
            ("find /usr/local cuda", text("cuda\ncuda-12\ncuda-12.4\ncuda-13.0\ncuda-samples")),
            ("stat /usr/local/cuda", stat("directory", "/usr/local/cuda-13.0")),
            ("stat /usr/local/cuda-12", stat("directory", "/usr/local/cuda-12.4")),
            ("stat /usr/local/cuda-12.4", stat("directory", "/usr/local/cuda-12.4")),
            ("stat /usr/local/cuda-13.0", stat("directory", "/usr/local/cuda-13.0")),
            ("stat /usr/local/cuda-samples", stat("directory", "/usr/local/cuda-samples")),
            ("stat /usr/local/cuda-13.0/bin/nvcc", stat("file", "/usr/local/cuda-13.0/bin/nvcc")),
            ("read /usr/local/cuda-13.0/version.json", text(r#"{"cuda":{"version":"13.0.3"}}"#)),
            ("program nvcc", text("/usr/local/cuda/bin/nvcc")),
            ("stat /usr/local/cuda/bin/nvcc", stat("file", "/usr/local/cuda-13.0/bin/nvcc")),
        ]);
        let cuda = gather(&host);
        let runtime = Toolkit { path: "/usr/local/cuda-12.4".into(), version: known("12.4"), nvcc: false };
        let full = Toolkit { path: "/usr/local/cuda-13.0".into(), version: known("13.0.3"), nvcc: true };
        assert_eq!(cuda.toolkits, Fact::Known(vec![full, runtime.clone()]));
        assert_eq!(cuda.default, known("/usr/local/cuda-13.0"));
        assert_eq!(cuda.nvcc, known("/usr/local/cuda-13.0/bin/nvcc"));
        assert_eq!(cuda.nvcc_version, known("13.0.3"));
        assert_eq!(cuda.home_toolkit, Fact::Known(runtime));
        // CUDA_HOME wins, and it has no compiler.
        assert_eq!(cuda.compiler(), Fact::Absent);
    }

    #[test]
    fn debians_package_writes_its_version_elsewhere() {
        let mut readings = BTreeMap::from([
            ("environment", text("")),
            ("program nvcc", text("/usr/bin/nvcc")),
            ("stat /usr/bin/nvcc", stat("file", "/usr/bin/nvcc")),
            ("read /usr/lib/cuda/version.txt", text("CUDA Version 11.5.119\n")),
        ]);
        assert_eq!(gather(&Sparse::of(readings.clone())).nvcc_version, known("11.5"));
        readings.remove("read /usr/lib/cuda/version.txt");
        let stdout = "Cuda compilation tools, release 12.0, V12.0.140\n".to_owned();
        readings
            .insert("run nvcc --version", Reading::Ran { status: Some(0), stdout, stderr: String::new() });
        let cuda = gather(&Sparse::of(readings));
        assert_eq!(cuda.nvcc_version, known("12.0"));
        assert_eq!(cuda.compiler(), Fact::Known(("/usr/bin/nvcc".into(), "12.0".into())));
        assert_eq!(cuda.toolkits, Fact::Known(Vec::new()));
    }

    #[test]
    fn empty_snapshot_is_unknown() {
        let cuda = gather(&host::record::Replay::new(BTreeMap::new(), "not in this snapshot"));
        assert!(matches!(cuda.toolkits, Fact::Unknown(_)) && matches!(cuda.nvcc, Fact::Unknown(_)));
        assert!(matches!(cuda.home, Fact::Unknown(_)) && matches!(cuda.compiler(), Fact::Unknown(_)));
    }
}
