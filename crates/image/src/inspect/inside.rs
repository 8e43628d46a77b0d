//! What is in an image that can be asked only from inside: its system, its Python, its CUDA compiler.
//!
//! [`SCRIPT`] runs in a container of it, in whatever shell is there; [`Inside::parse`] reads what it prints:
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

/// What is in an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inside {
    /// As it calls itself: `debian 12`.
    pub system: Option<String>,
    /// The series of the Python that stands first on PATH, and its path: `3.11`, `/usr/bin/python3`.
    pub python: Option<(String, String)>,
    /// The release of nvcc, and its path: `12.4`.
    pub nvcc: Option<(String, String)>,
}

impl Inside {
    /// Reads what [`SCRIPT`] printed; `None` where it did not come to its end.
    pub fn parse(text: &str) -> Option<Inside> {
        let mut inside = Inside::default();
        let pair = |value: &str| {
            let (version, path) = value.split_once(' ')?;
            Some((version.to_owned(), path.to_owned()))
        };
        for line in text.lines() {
            match line.split_once('=') {
                Some(("system", value)) => inside.system = Some(value.trim().to_owned()),
                Some(("python", value)) => inside.python = pair(value),
                Some(("nvcc", value)) => inside.nvcc = pair(value),
                _ => {}
            }
        }
        text.lines().any(|line| line == "end").then_some(inside)
    }

    /// The catalog's name of the system: `debian12`, `rockylinux9`; `None` where it does not have it.
    pub fn catalog_system(&self, catalog: &'static Catalog) -> Option<&'static str> {
        let (id, release) = self.system.as_deref()?.split_once(' ')?;
        parse::system_of_release(catalog, id, release).map(|system| system.id.as_str())
    }

    /// The Python, where it is not the one of the system.
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
    fn what_the_script_prints() {
        let text =
            "system=debian 12\npython=3.11 /usr/bin/python3\nnvcc=12.4 /usr/local/cuda/bin/nvcc\nend\n";
        let inside = Inside::parse(text).unwrap();
        assert_eq!(inside.catalog_system(catalog::testing::catalog()), Some("debian12"));
        assert_eq!(inside.own_python(), None);
        assert_eq!(inside.nvcc, Some(("12.4".into(), "/usr/local/cuda/bin/nvcc".into())));
        let conda = Inside::parse("system=ubuntu 22.04\npython=3.10 /opt/conda/bin/python3\nend\n").unwrap();
        assert_eq!(
            (conda.catalog_system(catalog::testing::catalog()), conda.own_python()),
            (Some("ubuntu22.04"), Some("3.10"))
        );
        let rocky = Inside::parse("system=rocky 9.4\nend\n").unwrap();
        assert_eq!(rocky.catalog_system(catalog::testing::catalog()), Some("rockylinux9"));
        assert_eq!(Inside::parse("system=debian 12\n"), None, "cut short");
        assert_eq!(
            Inside::parse("system=alpine 3.20\nend").unwrap().catalog_system(catalog::testing::catalog()),
            None
        );
    }

    /// The script in this machine's own shell, whatever is installed here.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the script is run for real")]
    fn the_script_runs() {
        let ran = std::process::Command::new("sh").args(["-c", SCRIPT]).output().unwrap();
        assert!(ran.status.success());
        let inside = Inside::parse(&String::from_utf8(ran.stdout).unwrap()).unwrap();
        assert!(inside.system.is_some());
    }
}
