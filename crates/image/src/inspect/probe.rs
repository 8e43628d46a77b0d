//! The contents of an image that only a container of it can report: operating system, Python, CUDA compiler.
//!
//! [`SCRIPT`] runs in the container's POSIX shell; [`Probe::parse`] reads its output:
//!
//! ```text
//! system=debian 12
//! python=3.11 /usr/bin/python3
//! nvcc=12.4 /usr/local/cuda/bin/nvcc
//! end
//! ```

use catalog::Catalog;
use resolve::parse;

/// Prints a line for each thing that is there. Needs a POSIX shell, and nothing else.
pub const SCRIPT: &str = r#"
if [ -r /etc/os-release ]; then (. /etc/os-release; echo "system=$ID $VERSION_ID"); fi
for name in python3 python; do
    path=$(command -v $name) || continue
    series=$("$path" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || continue
    echo "python=$series $path"
    break
done
path=$(command -v nvcc) || path=/usr/local/cuda/bin/nvcc
if [ -x "$path" ]; then
    "$path" --version | while read -r line; do
        case $line in
        *release*) line=${line#*release }; echo "nvcc=${line%%,*} $path" ;;
        esac
    done
fi
echo end
"#;

/// What the probe found in an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probe {
    /// `ID` and `VERSION_ID` of /etc/os-release: `debian 12`.
    pub system: Option<String>,
    /// The series of the Python that is first on PATH, and its path: `3.11`, `/usr/bin/python3`.
    pub python: Option<(String, String)>,
    /// The release of nvcc, and its path: `12.4`.
    pub nvcc: Option<(String, String)>,
}

impl Probe {
    /// Reads what [`SCRIPT`] printed; `None` if the output is incomplete.
    pub fn parse(text: &str) -> Option<Probe> {
        let mut probe = Probe::default();
        let pair = |value: &str| {
            let (version, path) = value.split_once(' ')?;
            Some((version.to_owned(), path.to_owned()))
        };
        for line in text.lines() {
            match line.split_once('=') {
                Some(("system", value)) => probe.system = Some(value.trim().to_owned()),
                Some(("python", value)) => probe.python = pair(value),
                Some(("nvcc", value)) => probe.nvcc = pair(value),
                _ => {}
            }
        }
        text.lines().any(|line| line == "end").then_some(probe)
    }

    /// The catalog's name of the system: `debian12`, `rockylinux9`; `None` where it does not have it.
    pub fn catalog_system(&self, catalog: &'static Catalog) -> Option<&'static str> {
        let (id, release) = self.system.as_deref()?.split_once(' ')?;
        parse::system_of_release(catalog, id, release).map(|system| system.id.as_str())
    }

    /// The Python, if it is not the distribution's.
    pub fn own_python(&self) -> Option<&str> {
        let (series, path) = self.python.as_ref()?;
        (!matches!(path.as_str(), "/usr/bin/python3" | "/bin/python3" | "/usr/bin/python" | "/bin/python"))
            .then_some(series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_probe_script_output() {
        let text =
            "system=debian 12\npython=3.11 /usr/bin/python3\nnvcc=12.4 /usr/local/cuda/bin/nvcc\nend\n";
        let probe = Probe::parse(text).unwrap();
        assert_eq!(probe.catalog_system(catalog::testing::catalog()), Some("debian12"));
        assert_eq!(probe.own_python(), None);
        assert_eq!(probe.nvcc, Some(("12.4".into(), "/usr/local/cuda/bin/nvcc".into())));
        let conda = Probe::parse("system=ubuntu 22.04\npython=3.10 /opt/conda/bin/python3\nend\n").unwrap();
        assert_eq!(
            (conda.catalog_system(catalog::testing::catalog()), conda.own_python()),
            (Some("ubuntu22.04"), Some("3.10"))
        );
        let rocky = Probe::parse("system=rocky 9.4\nend\n").unwrap();
        assert_eq!(rocky.catalog_system(catalog::testing::catalog()), Some("rockylinux9"));
        assert_eq!(Probe::parse("system=debian 12\n"), None, "cut short");
        assert_eq!(
            Probe::parse("system=alpine 3.20\nend").unwrap().catalog_system(catalog::testing::catalog()),
            None
        );
    }

    /// The script in this machine's own shell, whatever is installed here.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the script is run for real")]
    fn the_script_runs() {
        let ran = std::process::Command::new("sh").args(["-c", SCRIPT]).output().unwrap();
        assert!(ran.status.success());
        let probe = Probe::parse(&String::from_utf8(ran.stdout).unwrap()).unwrap();
        assert!(probe.system.is_some());
    }
}
