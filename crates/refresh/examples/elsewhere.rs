//! Writes `elsewhere` of the rows in catalog/packages again, from the metadata of every release.
//!
//!     cargo run -p envdoc-refresh --example elsewhere -- [PACKAGE…]
//!
//! Asks the package index that pip and uv use on this machine. Metadata is kept in target/metadata: the first
//! run takes long. Prints what in `requires` is not as in the metadata; that is not changed.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use docker::registry::Client;
use host::live::Live;
use pep440_rs::Version;
use refresh::index::Index;
use refresh::page::DistFile;
use refresh::{address, rows};

/// How long all of it may take.
const TIMEOUT: Duration = Duration::from_secs(7200);

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let host = Live::new(Instant::now() + TIMEOUT);
    let address = address::find(&host, None)?;
    let certificates = address.certificates.as_ref().map(|path| host::file::read(Path::new(path)));
    let certificates = certificates.transpose()?.flatten();
    let client = Client::new(certificates.as_deref(), Instant::now() + TIMEOUT)?;
    let index = Index { client: &client, urls: address.urls };
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let newest = refresh::newest_with_wheels(&catalog::cache::read(&root.join("catalog/torch.yaml"))?)
        .ok_or("torch.yaml has no Python")?;
    for name in
        catalog::packages::names().filter(|name| asked.is_empty() || asked.iter().any(|one| one == name))
    {
        let path = root.join(format!("catalog/packages/{name}.yaml"));
        let source = Source { index: &index, kept: root.join("target/metadata"), releases: OnceCell::new() };
        let old = catalog::cache::read(&path)?;
        let (text, remarks) = rows::elsewhere(&old, newest, &|name, version| source.metadata(name, version))?;
        print(&format!("{name}: {}", if text == old { "unchanged" } else { "changed" }));
        remarks.iter().for_each(|remark| print(&format!("  {remark}")));
        if text != old {
            host::file::write(&path, &text, true)?;
        }
    }
    Ok(())
}

/// The metadata of one package's releases.
struct Source<'i> {
    index: &'i Index<'i>,
    kept: PathBuf,
    releases: OnceCell<BTreeMap<Version, Vec<DistFile>>>,
}

impl Source<'_> {
    fn metadata(&self, name: &str, version: &str) -> Option<String> {
        let kept = self.kept.join(format!("{name}-{version}.metadata"));
        if let Ok(text) = catalog::cache::read(&kept) {
            return Some(text);
        }
        let releases = self.releases.get_or_init(|| rows::releases(self.index, name).unwrap_or_default());
        let number = Version::from_str(version).ok()?;
        let text = rows::metadata(self.index, name, &number, releases.get(&number)?).ok()?;
        make_folder(&self.kept);
        host::file::write(&kept, &text, true).ok()?;
        Some(text)
    }
}

#[expect(clippy::disallowed_methods, reason = "a program for maintainers, which runs in the source tree")]
fn make_folder(path: &Path) {
    drop(std::fs::create_dir_all(path));
}

#[expect(clippy::print_stdout, reason = "a program for maintainers, whose output is its result")]
fn print(line: &str) {
    println!("{line}");
}
