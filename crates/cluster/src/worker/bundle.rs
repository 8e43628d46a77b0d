//! This program with the loader and the libraries that it runs on, as a tar: it runs in any image of the same
//! processor, whatever C library is in there, or none.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use diagnostic::error::{Error, Kind};
use host::file;

/// Libraries that the C library loads by itself to look up names; before glibc 2.34 they were files of their
/// own.
const NAME_SERVICES: &[&str] = &["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"];

/// The program, to be unpacked below a directory of one's choice.
pub struct Bundle {
    /// An uncompressed tar. Its entries are below one directory, [`Bundle::NAME`].
    pub tar: Vec<u8>,
    loader: Option<String>,
}

impl Bundle {
    /// The directory in the tar.
    pub const NAME: &str = "envdoc-worker";

    /// Of the program that is running.
    pub fn make() -> Result<Bundle, Error> {
        let maps = file::open(Path::new("/proc/self/maps")).and_then(io::read_to_string);
        let maps = maps.map_err(|error| failed("/proc/self/maps", &error))?;
        let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
        let libraries = libraries(&maps);
        for library in &libraries {
            for name in names(library) {
                files.entry(name).or_insert_with(|| library.clone());
            }
            let services = NAME_SERVICES.iter().map(|name| library.with_file_name(name));
            for service in services.filter(|path| base(library).starts_with("libc.") && file::is_file(path)) {
                files.entry(base(&service)).or_insert(service);
            }
        }
        let loader = files.keys().find(|name| is_loader(name)).cloned();
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Directory);
        header.set_mode(0o755);
        header.set_size(0);
        tar.append_data(&mut header, format!("{}/", Self::NAME), std::io::empty())
            .map_err(|error| failed("the tar", &error))?;
        add(&mut tar, "envdoc", &program()?)?;
        for (name, path) in &files {
            add(&mut tar, name, path)?;
        }
        let tar = tar.into_inner().map_err(|error| failed("the tar", &error))?;
        Ok(Bundle { tar, loader })
    }

    /// How the program is started where the tar was unpacked below `directory`.
    pub fn command(&self, directory: &str, arguments: &[&str]) -> Vec<String> {
        self.command_with(directory, "", arguments)
    }

    /// [`Bundle::command`], where libraries of the image are loaded too: `more` are folders to look for them
    /// in, with `:` between them.
    pub fn command_with(&self, directory: &str, more: &str, arguments: &[&str]) -> Vec<String> {
        let own = format!("{}/{}", directory.trim_end_matches('/'), Self::NAME);
        let mut command = Vec::new();
        if let Some(loader) = &self.loader {
            let folders = if more.is_empty() { own.clone() } else { format!("{own}:{more}") };
            command.extend([format!("{own}/{loader}"), "--library-path".into(), folders]);
        }
        command.extend(self.plain(directory, arguments));
        command
    }

    /// How the program is started on the C library of the image, which must not be older than the one that
    /// was brought.
    pub fn plain(&self, directory: &str, arguments: &[&str]) -> Vec<String> {
        let own = format!("{}/{}", directory.trim_end_matches('/'), Self::NAME);
        let arguments = arguments.iter().map(|argument| (*argument).to_owned());
        std::iter::once(format!("{own}/envdoc")).chain(arguments).collect()
    }
}

/// Whether this program runs on a machine or in an image of a processor: `amd64`, `x86_64`, `arm64`,
/// `aarch64`.
pub fn fits(architecture: &str) -> Result<(), crate::Error> {
    let kernel = match architecture {
        "amd64" | "x86-64" => "x86_64",
        "arm64" | "arm64/v8" => "aarch64",
        other => other,
    };
    match kernel == std::env::consts::ARCH {
        true => Ok(()),
        false => Err(crate::Error::Architecture { architecture: architecture.to_owned() }),
    }
}

/// The shared libraries in a text of `/proc/PID/maps`, each once: files with `.so` in their name, and the
/// loader.
fn libraries(maps: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for line in maps.lines() {
        // `7f00-7f01 r-xp 00000000 fe:00 1234    /usr/lib/x86_64-linux-gnu/libc.so.6`
        let Some(start) = line.find('/') else { continue };
        let path = PathBuf::from(&line[start..]);
        let name = base(&path);
        let library = name.contains(".so.") || name.ends_with(".so") || is_loader(&name);
        if library && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

fn is_loader(name: &str) -> bool {
    name.starts_with("ld-") && name.contains(".so")
}

fn base(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The names by which a library may be asked for: its file's, and those of the links next to it (`libc.so.6`
/// → `libc-2.31.so`).
fn names(library: &Path) -> Vec<String> {
    let mut names = vec![base(library)];
    for entry in library.parent().into_iter().flat_map(file::entries) {
        if entry != library && file::canonical(&entry).is_ok_and(|target| target == library) {
            names.push(base(&entry));
        }
    }
    names
}

/// The file of this program. Under the bundle's own loader, the kernel takes the loader for the program.
fn program() -> Result<PathBuf, Error> {
    let running = host::process::own_program().map_err(|error| failed("envdoc's own executable", &error))?;
    if is_loader(&base(&running))
        && let Some(own) = host::variables::command_line().next()
    {
        return Ok(own.into());
    }
    // Still there where the file was replaced meanwhile.
    Ok("/proc/self/exe".into())
}

fn add(tar: &mut tar::Builder<Vec<u8>>, name: &str, path: &Path) -> Result<(), Error> {
    let mut content = Vec::new();
    let read = file::open(path).and_then(|mut file| file.read_to_end(&mut content));
    read.map_err(|error| failed(&path.display().to_string(), &error))?;
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o755);
    header.set_size(content.len() as u64);
    tar.append_data(&mut header, format!("{}/{name}", Bundle::NAME), content.as_slice())
        .map_err(|error| failed(name, &error))
}

fn failed(what: &str, error: &std::io::Error) -> Error {
    Error::new(Kind::File, format!("cannot package envdoc for another machine: {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_a_running_program() {
        let maps = "\
            558800000000-558800001000 r--p 00000000 fe:00 42   /work/target/debug/envdoc
7f5500000000-7f5500001000 r--p 00000000 fe:00 43   /usr/lib/x86_64-linux-gnu/libc.so.6
7f5500001000-7f5500002000 r-xp 00028000 fe:00 43   /usr/lib/x86_64-linux-gnu/libc.so.6
7f5500003000-7f5500004000 r-xp 00000000 fe:00 44   /usr/lib/x86_64-linux-gnu/ld-2.31.so
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0    [stack]
";
        let found: Vec<String> = libraries(maps).iter().map(|path| base(path)).collect();
        assert_eq!(found, ["libc.so.6", "ld-2.31.so"]);
        assert!(is_loader("ld-linux-aarch64.so.1") && !is_loader("libldap.so.2"));
    }

    #[test]
    fn rejects_bundle_for_another_architecture() {
        let own = std::env::consts::ARCH;
        let other = if own == "x86_64" { "arm64" } else { "amd64" };
        assert!(fits(own).is_ok() && fits(other).is_err_and(|error| error.to_string().contains(other)));
    }
}
