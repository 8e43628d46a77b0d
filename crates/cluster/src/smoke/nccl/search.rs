//! Which libnccl the image's torch would load: what torch's own libraries ask for, in the order in which the
//! loader looks (ld.so(8): LD_PRELOAD, DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, the system's folders). Without
//! torch, the package that torch's wheels bring, then the system's.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::elf::{self, Dynamic};
use super::error::{LibraryError, PythonError};

/// The name by which torch asks for it.
pub const NAME: &str = "libnccl.so.2";
/// What torch's wheels bring, below site-packages.
const PACKAGE: &str = "nvidia/nccl/lib";
/// The library of torch that uses NCCL.
const TORCH: &str = "torch/lib/libtorch_cuda.so";
/// The longest that Python may take to tell its folders.
const PYTHON_TIMEOUT: Duration = Duration::from_secs(10);

/// What there is to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// Files of `LD_PRELOAD` that are a libnccl.
    pub preloaded: Vec<PathBuf>,
    /// Folders of `LD_LIBRARY_PATH`.
    pub library_path: Vec<PathBuf>,
    /// The folders that Python looks for modules in, in its order; or why nobody knows.
    pub python: Result<Vec<PathBuf>, PythonError>,
}

impl Default for Choice {
    fn default() -> Choice {
        Choice { path: NAME.into(), from: "system library".into(), remarks: Vec::new() }
    }
}

/// The library to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// A file, or its name alone where the system's loader is to find it.
    pub path: PathBuf,
    /// Why this one.
    pub from: String,
    /// Remarks on the choice.
    pub remarks: Vec<String>,
}

/// Chooses. `is_file` and `dynamic` look at the file system.
pub fn choose(
    candidates: &Candidates,
    is_file: &dyn Fn(&Path) -> bool,
    dynamic: &dyn Fn(&Path) -> Result<Dynamic, LibraryError>,
) -> Choice {
    let mut remarks = Vec::new();
    let within =
        |folders: &[PathBuf]| folders.iter().map(|folder| folder.join(NAME)).find(|path| is_file(path));
    if let Some(path) = candidates.preloaded.first() {
        return Choice { path: path.clone(), from: "set in LD_PRELOAD".into(), remarks };
    }
    let sites = match &candidates.python {
        Ok(sites) => sites.clone(),
        Err(why) => {
            remarks.push(format!("could not locate torch with Python: {why}"));
            Vec::new()
        }
    };
    if let Some(torch) = sites.iter().map(|site| site.join(TORCH)).find(|path| is_file(path)) {
        match dynamic(&torch) {
            Ok(found) if found.needed.iter().any(|name| name == NAME) => {
                let folder = torch.parent().unwrap_or(Path::new("/"));
                let own = |list: &[String]| -> Vec<PathBuf> {
                    let origin = |word: &String| word.replace("$ORIGIN", &folder.to_string_lossy()).into();
                    list.iter().map(origin).collect()
                };
                // A RUNPATH has the loader pass over the RPATH.
                let first = if found.runpath.is_empty() { own(&found.rpath) } else { Vec::new() };
                let asks = format!("needed by {}", torch.display());
                if let Some(path) = within(&first) {
                    return Choice { path: plain(&path), from: asks, remarks };
                }
                if let Some(path) = within(&candidates.library_path) {
                    let from = format!("{asks}, found in LD_LIBRARY_PATH");
                    return Choice { path, from, remarks };
                }
                if let Some(path) = within(&own(&found.runpath)) {
                    return Choice { path: plain(&path), from: asks, remarks };
                }
                return Choice { from: format!("{asks}, system library"), remarks, ..Choice::default() };
            }
            Ok(_) => remarks
                .push(format!("{} links NCCL statically, so another NCCL is tested here", torch.display())),
            Err(why) => remarks.push(format!("cannot read {}: {why}", torch.display())),
        }
    }
    let packages: Vec<PathBuf> = sites.iter().map(|site| site.join(PACKAGE)).collect();
    if let Some(path) = within(&packages) {
        return Choice { path, from: "package nvidia-nccl in Python's site-packages".into(), remarks };
    }
    if let Some(path) = within(&candidates.library_path) {
        return Choice { path, from: "found in LD_LIBRARY_PATH".into(), remarks };
    }
    Choice { remarks, ..Choice::default() }
}

/// Without `a/../`: nothing is read for it, so links are taken as they are.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Chooses on this machine.
pub async fn here() -> Choice {
    let words = |name: &str| host::variables::text(name).unwrap_or_default();
    let folders = |text: &str| text.split(':').filter(|word| !word.is_empty()).map(PathBuf::from).collect();
    let preload = words("LD_PRELOAD");
    let preloaded = preload.split([':', ' ']).map(PathBuf::from);
    let is_nccl = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libnccl.so"))
    };
    let candidates = Candidates {
        preloaded: preloaded.filter(is_nccl).collect(),
        library_path: folders(&words("LD_LIBRARY_PATH")),
        python: python().await,
    };
    let read = |path: &Path| {
        let mut file = host::file::open(path)?;
        Ok(elf::dynamic(&mut file)?)
    };
    choose(&candidates, &host::file::is_file, &read)
}

/// The folders that Python looks for modules in.
async fn python() -> Result<Vec<PathBuf>, PythonError> {
    let mut last = PythonError::NotFound;
    for program in ["python", "python3"] {
        let Ok(command) = host::program::command(program) else { continue };
        let asked = docker::process::command(command)
            .args(["-c", "import sys; print('\\n'.join(sys.path))"])
            .stdin(std::process::Stdio::null())
            .output();
        match tokio::time::timeout(PYTHON_TIMEOUT, asked).await {
            Ok(Ok(ran)) if ran.status.success() => {
                let text = String::from_utf8_lossy(&ran.stdout).into_owned();
                return Ok(text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect());
            }
            Ok(Ok(ran)) => {
                let message = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
                let last_line = message.lines().last().unwrap_or_default().to_owned();
                last = PythonError::Failed { program, status: ran.status, last_line };
            }
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
            Ok(Err(error)) => last = PythonError::Spawn { program, reason: error.to_string() },
            Err(_) => last = PythonError::TimedOut { program, limit: PYTHON_TIMEOUT },
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "/usr/lib/python3/site-packages";

    fn chosen(files: &[&str], candidates: &Candidates, torch: Dynamic) -> Choice {
        let is_file = |path: &Path| files.iter().any(|file| Path::new(file) == plain(path));
        choose(candidates, &is_file, &|_| Ok(torch.clone()))
    }

    fn candidates() -> Candidates {
        Candidates {
            preloaded: Vec::new(),
            library_path: vec!["/opt/nccl/lib".into()],
            python: Ok(vec!["/usr/lib/python3".into(), SITE.into()]),
        }
    }

    fn of(text: &str) -> String {
        text.replace('~', SITE)
    }

    /// As the wheels of torch have it: an RPATH with the folders of the packages.
    fn wheel() -> Dynamic {
        Dynamic {
            needed: vec!["libc.so.6".into(), NAME.into()],
            rpath: vec![
                "$ORIGIN/../../nvidia/cudnn/lib".into(),
                "$ORIGIN/../../nvidia/nccl/lib".into(),
                "$ORIGIN".into(),
            ],
            runpath: Vec::new(),
        }
    }

    #[test]
    fn prefers_the_nccl_that_torch_loads() {
        let (own, torch) = (of("~/nvidia/nccl/lib/libnccl.so.2"), of("~/torch/lib/libtorch_cuda.so"));
        let all = [own.as_str(), torch.as_str(), "/opt/nccl/lib/libnccl.so.2"];
        let choice = chosen(&all, &candidates(), wheel());
        assert_eq!(choice.path, PathBuf::from(&own));
        assert_eq!(choice.from, format!("needed by {torch}"));
        // A RUNPATH comes after LD_LIBRARY_PATH.
        let runpath = Dynamic { rpath: Vec::new(), runpath: wheel().rpath, ..wheel() };
        let choice = chosen(&all, &candidates(), runpath.clone());
        assert_eq!(choice.path, PathBuf::from("/opt/nccl/lib/libnccl.so.2"));
        assert!(choice.from.contains("LD_LIBRARY_PATH"));
        assert_eq!(chosen(&all[..2], &candidates(), runpath).path, PathBuf::from(&own));
        let preloaded = Candidates { preloaded: vec!["/x/libnccl.so.2.18".into()], ..candidates() };
        assert_eq!(chosen(&all, &preloaded, wheel()).path, PathBuf::from("/x/libnccl.so.2.18"));
    }

    #[test]
    fn uses_system_nccl_if_torch_links_it() {
        let torch = of("~/torch/lib/libtorch_cuda.so");
        let plain = Dynamic { needed: vec![NAME.into()], ..Dynamic::default() };
        let choice = chosen(&[&torch], &candidates(), plain);
        assert_eq!(choice.path, PathBuf::from(NAME));
        assert!(choice.from.ends_with("system library"));
    }

    #[test]
    fn reports_nccl_linked_statically_into_torch() {
        let torch = of("~/torch/lib/libtorch_cuda.so");
        let choice = chosen(&[&torch], &candidates(), Dynamic::default());
        assert_eq!(choice.path, PathBuf::from(NAME));
        assert!(choice.remarks[0].contains("links NCCL statically"), "{choice:?}");
    }

    #[test]
    fn searches_wheel_then_library_path_then_system() {
        let package = of("~/nvidia/nccl/lib/libnccl.so.2");
        let both = [package.as_str(), "/opt/nccl/lib/libnccl.so.2"];
        assert_eq!(chosen(&both, &candidates(), wheel()).path, PathBuf::from(&package));
        assert_eq!(chosen(&both[1..], &candidates(), wheel()).from, "found in LD_LIBRARY_PATH");
        assert_eq!(chosen(&[], &candidates(), wheel()).from, "system library");
        let no_python = Candidates { python: Err(PythonError::NotFound), ..candidates() };
        assert!(chosen(&both, &no_python, wheel()).remarks[0].contains("no Python on PATH"));
    }
}
