//! The texts that Python environments keep about themselves: pyvenv.cfg, names of metadata directories,
//! torch/version.py.

use super::{Fact, Torch};

/// `pyvenv.cfg` of a virtual environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VenvConfig {
    /// Directory of the base interpreter, `/usr/bin`.
    pub home: Option<String>,
    /// `3.11.7`.
    pub version: Option<String>,
    /// Whether packages of the base interpreter are visible too.
    pub system_site_packages: bool,
}

/// Reads `pyvenv.cfg`: `KEY = VALUE` a line. venv writes `version = 3.11.7`, uv and virtualenv `version_info
/// = 3.11.7` (virtualenv with `.final.0` behind it).
pub(crate) fn venv_config(text: &str) -> VenvConfig {
    let mut config = VenvConfig::default();
    let mut version_info = None;
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "home" => config.home = Some(value.to_owned()),
            "version" => config.version = Some(value.to_owned()),
            "version_info" => version_info = Some(value.split('.').take(3).collect::<Vec<_>>().join(".")),
            "include-system-site-packages" => {
                config.system_site_packages = value.eq_ignore_ascii_case("true");
            }
            _ => {}
        }
    }
    config.version = config.version.or(version_info);
    config
}

/// Name (normalised) and version from the name of a metadata directory, or nothing for any other name.
/// `nvidia_nccl_cu12-2.21.5.dist-info`, `torch-2.5.1-py3.11-linux-x86_64.egg-info`,
/// `deepspeed-0.14.0-py3.10.egg`.
pub fn distribution(name: &str) -> Option<(String, String)> {
    let (stem, egg) = match name.strip_suffix(".dist-info") {
        Some(stem) => (stem, false),
        None => (name.strip_suffix(".egg-info").or_else(|| name.strip_suffix(".egg"))?, true),
    };
    let dash = stem
        .match_indices('-')
        .map(|(at, _)| at)
        .find(|&at| stem.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit))?;
    let version = &stem[dash + 1..];
    let version = if egg { version.split("-py").next().unwrap_or(version) } else { version };
    (dash > 0).then(|| (normalise(&stem[..dash]), version.to_owned()))
}

/// PEP 503: lower case, runs of `-`, `_` and `.` become one `-`.
pub(crate) fn normalise(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if out.ends_with('-') => {}
            '-' | '_' | '.' => out.push('-'),
            c => out.push(c.to_ascii_lowercase()),
        }
    }
    out
}

/// `X.Y` in the name of an interpreter: `python3.11`, `platform-python3.6`, `python3.13t`. Nothing in
/// `python3`.
pub(crate) fn version_in_name(name: &str) -> Option<String> {
    let version = name.rsplit_once("python")?.1.trim_end_matches('t');
    let (major, minor) = version.split_once('.')?;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (number(major) && number(minor)).then(|| version.to_owned())
}

/// `3.11` of `3.11.7`.
pub fn minor(version: &str) -> Option<String> {
    let mut parts = version.split('.');
    let (major, minor) = (parts.next()?, parts.next()?);
    Some(format!("{major}.{minor}"))
}

/// Reads `torch/version.py`. The build is the local part of the version where it names one (`+cu121`, `+cpu`,
/// `+rocm6.2`), also in wheels whose file name has none.
pub(crate) fn torch_version(text: &str) -> Fact<Torch> {
    let Fact::Known(full) = assigned(text, "__version__") else {
        return Fact::unknown("torch/version.py has no line that sets __version__");
    };
    let (version, build) = match full.split_once('+') {
        Some((version, build)) => (version.to_owned(), Fact::Known(build.to_owned())),
        None => (full, Fact::Absent),
    };
    Fact::Known(Torch { version, build, cuda: assigned(text, "cuda"), hip: assigned(text, "hip") })
}

/// What a line `NAME = 'VALUE'` or `NAME: Optional[str] = 'VALUE'` sets; `None` and a line that is missing
/// are absent.
fn assigned(text: &str, name: &str) -> Fact<String> {
    let value = text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?.trim_start();
        let rest = match rest.strip_prefix(':') {
            Some(annotated) => annotated.split_once('=')?.1,
            None => rest.strip_prefix('=')?,
        };
        Some(rest.trim())
    });
    match value {
        None | Some("None") => Fact::Absent,
        Some(value) => match value.trim_matches(['\'', '"']) {
            inner if inner.len() + 2 == value.len() && !inner.is_empty() => Fact::Known(inner.to_owned()),
            _ => {
                Fact::unknown(format!("torch/version.py sets {name} to {value}, which is not a plain string"))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As torch's wheels carry it.
    const TORCH: &str = "\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']
__version__ = '2.4.0+cu121'
debug = False
cuda: Optional[str] = '12.1'
git_version = 'e4ee3be4063b7c430974252fdf7db42273388d86'
hip: Optional[str] = None
";

    #[test]
    fn torch_version_files_are_read() {
        let torch = |version: &str, build: Fact<&str>, cuda: Fact<&str>, hip: Fact<&str>| {
            Fact::Known(Torch {
                version: version.into(),
                build: build.map(str::to_owned),
                cuda: cuda.map(str::to_owned),
                hip: hip.map(str::to_owned),
            })
        };
        use Fact::{Absent, Known};
        assert_eq!(torch_version(TORCH), torch("2.4.0", Known("cu121"), Known("12.1"), Absent));
        let old = "__version__ = '1.13.1+cu117'\ndebug = False\ncuda = '11.7'\ngit_version = '49444c3e'\nhip \
            = None\n";
        assert_eq!(torch_version(old), torch("1.13.1", Known("cu117"), Known("11.7"), Absent));
        let cpu = TORCH.replace("+cu121", "+cpu").replace("'12.1'", "None");
        assert_eq!(torch_version(&cpu), torch("2.4.0", Known("cpu"), Absent, Absent));
        let conda = TORCH.replace("+cu121", "");
        assert_eq!(torch_version(&conda), torch("2.4.0", Absent, Known("12.1"), Absent));
        let rocm = TORCH
            .replace("cu121", "rocm6.1")
            .replace("'12.1'", "None")
            .replace("hip: Optional[str] = None", "hip: Optional[str] = '6.1.40091-a8dbc0c19'");
        assert_eq!(
            torch_version(&rocm),
            torch("2.4.0", Known("rocm6.1"), Absent, Known("6.1.40091-a8dbc0c19"))
        );
        assert!(matches!(torch_version("debug = False\n"), Fact::Unknown(_)));
        let odd = TORCH.replace("'12.1'", "find_cuda()");
        let odd = torch_version(&odd);
        assert!(matches!(odd.known().map(|torch| &torch.cuda), Some(Fact::Unknown(_))), "{odd:?}");
    }

    #[test]
    fn metadata_directories_are_read() {
        let cases = [
            ("nvidia_nccl_cu12-2.21.5.dist-info", Some(("nvidia-nccl-cu12", "2.21.5"))),
            ("torch-2.5.1+cu121.dist-info", Some(("torch", "2.5.1+cu121"))),
            ("torch-2.5.1-py3.11-linux-x86_64.egg-info", Some(("torch", "2.5.1"))),
            ("deepspeed-0.14.0-py3.10.egg", Some(("deepspeed", "0.14.0"))),
            ("flash_attn-2.7.4.post1.dist-info", Some(("flash-attn", "2.7.4.post1"))),
            ("PyYAML-6.0.egg-info", Some(("pyyaml", "6.0"))),
            ("ruamel.yaml-0.17.21.dist-info", Some(("ruamel-yaml", "0.17.21"))),
            ("torch", None),
            ("numpy.libs", None),
            ("nvidia", None),
            ("-2.0.dist-info", None),
            ("torch.egg-info", None),
        ];
        for (name, expected) in cases {
            let expected = expected.map(|(name, version)| (name.to_owned(), version.to_owned()));
            assert_eq!(distribution(name), expected, "{name}");
        }
    }

    #[test]
    fn virtual_environments_are_read() {
        let venv = "home = /root/.pyenv/versions/3.11.7/bin\ninclude-system-site-packages = false\nversion = \
            3.11.7\n\
                    executable = /root/.pyenv/versions/3.11.7/bin/python3.11\n";
        let uv = "home = /usr/bin\nimplementation = CPython\nuv = 0.5.1\nversion_info = 3.12.3\n\
                  include-system-site-packages = true\n";
        let virtualenv = "home = /usr/bin\nimplementation = CPython\nversion_info = 3.8.10.final.0\n\
                          virtualenv = 20.24.5\ninclude-system-site-packages = false\n";
        let cases = [
            (venv, "/root/.pyenv/versions/3.11.7/bin", "3.11.7", false),
            (uv, "/usr/bin", "3.12.3", true),
            (virtualenv, "/usr/bin", "3.8.10", false),
        ];
        for (text, home, version, system_site_packages) in cases {
            let expected =
                VenvConfig { home: Some(home.into()), version: Some(version.into()), system_site_packages };
            assert_eq!(venv_config(text), expected);
        }
    }

    #[test]
    fn interpreters_tell_their_version() {
        let cases = [
            ("python3.11", Some("3.11")),
            ("python3.13t", Some("3.13")),
            ("platform-python3.6", Some("3.6")),
            ("python3", None),
            ("python", None),
            ("pypy3.10", None),
            ("python3.11-config", None),
        ];
        for (name, version) in cases {
            assert_eq!(version_in_name(name).as_deref(), version, "{name}");
        }
        assert_eq!(minor("3.11.7").as_deref(), Some("3.11"));
        assert_eq!(minor("3"), None);
    }
}
