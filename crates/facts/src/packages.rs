//! Installed packages of a few families, asked of dpkg, rpm or pacman without reading their whole databases.
//!
//! dpkg's status file is several MiB on a large machine, so the names come from `/var/lib/dpkg/info` first,
//! and `dpkg-query` is started only where one of them is wanted. rpm has no file that could be listed: it is
//! started only where some file of NVIDIA's is there. pacman keeps a directory a package, whose name says
//! everything.

use std::time::Duration;

use super::Fact;
use crate::IntoFact;
use catalog::Catalog;
use host::{Host, Reading};

/// Installed packages by name and version, sorted.
pub type Packages = Vec<(String, String)>;

const PATIENCE: Duration = Duration::from_millis(1500);

/// The installed packages whose names begin with one of `prefixes`. Empty when there is none of them, absent
/// when this machine has no package manager that envdoc knows.
///
/// Whoever asks for some of NVIDIA's shares one answer with everybody who asks for others.
pub fn installed(host: &dyn Host, catalog: &Catalog, prefixes: &[&str]) -> Fact<Packages> {
    let families = catalog.nvidia_packages().prefixes();
    let nvidia = prefixes.iter().all(|wanted| families.iter().any(|known| wanted.starts_with(known)));
    let asked = if nvidia { &families } else { prefixes };
    // rpm is asked only where files of NVIDIA's are, if there is nothing else to ask for.
    let where_files_are = nvidia.then_some(families.as_slice());
    let managers = [dpkg(host, asked), rpm(host, asked, where_files_are), pacman(host, asked)];
    let mut found: Fact<Packages> = Fact::Absent;
    for manager in managers {
        found = match (found, manager) {
            (Fact::Known(mut all), Fact::Known(more)) => {
                all.extend(more);
                Fact::Known(all)
            }
            // Another manager's full answer comes next to one that failed; an empty one proves nothing then.
            (Fact::Known(all), Fact::Unknown(why)) | (Fact::Unknown(why), Fact::Known(all)) => {
                if all.is_empty() { Fact::Unknown(why) } else { Fact::Known(all) }
            }
            (Fact::Absent, other) | (other, Fact::Absent) => other,
            (Fact::Unknown(why), Fact::Unknown(_)) => Fact::Unknown(why),
        };
    }
    found.map(|mut all| {
        all.retain(|(name, _)| prefixes.iter().any(|prefix| name.starts_with(prefix)));
        all.sort();
        all.dedup();
        all
    })
}

fn dpkg(host: &dyn Host, prefixes: &[&str]) -> Fact<Packages> {
    let names = host.find("/var/lib/dpkg/info", prefixes).lines().about("/var/lib/dpkg/info");
    names.and_then(|names| {
        if !names.iter().any(|name| name.ends_with(".list")) {
            return Fact::Known(Vec::new());
        }
        let patterns: Vec<String> = prefixes.iter().map(|prefix| format!("{prefix}*")).collect();
        let mut argv = vec!["dpkg-query", "-W", r"-f=${db:Status-Abbrev}\t${Package}\t${Version}\n"];
        argv.extend(patterns.iter().map(String::as_str));
        match host.run(&argv, PATIENCE) {
            // It ends with 1 when one of the patterns matched nothing, and has answered for the others.
            Reading::Ran { status: Some(0 | 1), stdout, .. } => Fact::Known(parse_dpkg_query(&stdout)),
            // Below a root nothing is run; the file can be read if it is not too large.
            other => match host.read("/var/lib/dpkg/status").text() {
                Fact::Known(text) => Fact::Known(parse_dpkg_status(&text)),
                _ => other.stdout().must_exist("dpkg-query").about("dpkg-query").map(|_| Vec::new()),
            },
        }
    })
}

/// Reads `ii \tnvidia-driver-550-server\t550.144.03-0ubuntu0.22.04.1`: the second letter is the state.
/// Packages whose files are there count, those removed but for their configuration (`rc`) and never installed
/// (`un`) do not.
fn parse_dpkg_query(text: &str) -> Packages {
    text.lines()
        .filter_map(|line| {
            let mut parts = line.split('\t');
            let (state, name, version) = (parts.next()?, parts.next()?, parts.next()?);
            let there = state.chars().nth(1).is_some_and(|state| "iUFWt".contains(state));
            (there && !version.is_empty()).then(|| (name.to_owned(), version.to_owned()))
        })
        .collect()
}

/// Reads dpkg's status file: paragraphs with `Package: …`, `Status: install ok installed`, `Version: …`.
fn parse_dpkg_status(text: &str) -> Packages {
    let paragraph = |paragraph: &str| {
        let field = |name: &str| {
            paragraph
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .map(|value| value.trim().to_owned())
        };
        let state = field("Status")?;
        let state = state.rsplit(' ').next()?;
        let there = !["not-installed", "config-files", "half-installed"].contains(&state);
        if there { Some((field("Package")?, field("Version")?)) } else { None }
    };
    text.split("\n\n").filter_map(paragraph).collect()
}

fn rpm(host: &dyn Host, prefixes: &[&str], families: Option<&[&str]>) -> Fact<Packages> {
    let database = ["/var/lib/rpm", "/usr/lib/sysimage/rpm", "/usr/share/rpm"];
    let kept = ["Packages", "rpmdb.sqlite"];
    let there = database.iter().fold(Fact::Absent, |found: Fact<()>, dir| {
        found.or_else(|| match host.find(dir, &kept).lines().about(dir) {
            Fact::Known(names) if names.is_empty() => Fact::Absent,
            other => other.map(|_| ()),
        })
    });
    there.and_then(|()| {
        if families.is_some_and(|families| !may_have_nvidia(host, families)) {
            return Fact::Known(Vec::new());
        }
        let patterns: Vec<String> = prefixes.iter().map(|prefix| format!("{prefix}*")).collect();
        let mut argv = vec!["rpm", "-qa", "--qf", r"%{NAME}\t%{VERSION}-%{RELEASE}\n"];
        argv.extend(patterns.iter().map(String::as_str));
        let answer = host.run(&argv, PATIENCE).stdout().must_exist("rpm").about("rpm -qa");
        answer.map(|text| parse_rpm(&text))
    })
}

/// Whether a file of NVIDIA's lies where its packages put some: programs, libraries, documents, sources.
fn may_have_nvidia(host: &dyn Host, families: &[&str]) -> bool {
    let places: [(&str, &[&str]); 7] = [
        ("/usr/bin", &["nv-fabricmanager", "nv-hostengine", "nvidia", "nvlsm"]),
        ("/usr/lib64", &["libcuda.so", "libcudnn.so", "libnccl.so", "libnvidia"]),
        ("/usr/share/doc", families),
        ("/usr/share/licenses", families),
        ("/usr/src", &["nvidia"]),
        ("/usr/local", &["cuda"]),
        ("/sys/module", &["nvidia"]),
    ];
    places.iter().any(|(dir, prefixes)| match host.find(dir, prefixes).lines() {
        Fact::Known(names) => !names.is_empty(),
        Fact::Absent => false,
        Fact::Unknown(_) => true,
    })
}

/// Reads `nvidia-driver-cuda<TAB>550.90.07-1.el9`.
fn parse_rpm(text: &str) -> Packages {
    text.lines()
        .filter_map(|line| line.split_once('\t'))
        .map(|(name, version)| (name.to_owned(), version.trim().to_owned()))
        .collect()
}

fn pacman(host: &dyn Host, prefixes: &[&str]) -> Fact<Packages> {
    let names = host.find("/var/lib/pacman/local", prefixes).lines().about("/var/lib/pacman/local");
    names.map(|names| names.iter().filter_map(|name| parse_pacman(name)).collect())
}

/// Reads a directory's name, `nvidia-utils-580.95.05-1`: name, version, release.
fn parse_pacman(directory: &str) -> Option<(String, String)> {
    let (rest, release) = directory.rsplit_once('-')?;
    let (name, version) = rest.rsplit_once('-')?;
    Some((name.to_owned(), format!("{version}-{release}")))
}

/// The version of the program inside a package's version: no epoch, no release (`1:550.144.03-0ubuntu1` gives
/// `550.144.03`).
pub fn upstream(version: &str) -> &str {
    let version = version.split_once(':').map_or(version, |(_, rest)| rest);
    let version = version.rsplit_once('-').map_or(version, |(rest, _)| rest);
    version.split(['+', '~']).next().unwrap_or(version)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use catalog::testing::catalog;
    use host::record::Replay;

    fn package(name: &str, version: &str) -> (String, String) {
        (name.to_owned(), version.to_owned())
    }

    fn host(readings: &[(&str, Reading)]) -> Replay {
        let readings: BTreeMap<String, Reading> =
            readings.iter().map(|(key, reading)| ((*key).to_owned(), reading.clone())).collect();
        Replay::new(readings, "not in this test")
    }

    fn key(what: &str, prefixes: &[&str], star: &str) -> String {
        let list: Vec<String> = prefixes.iter().map(|prefix| format!("{prefix}{star}")).collect();
        format!("{what} {}", list.join(" "))
    }

    #[test]
    fn runs_dpkg_query_only_if_a_package_name_matches() {
        let families = catalog().nvidia_packages().prefixes();
        let find = key("find /var/lib/dpkg/info", &families, "");
        let query =
            key(r"run dpkg-query -W -f=${db:Status-Abbrev}\t${Package}\t${Version}\n", &families, "*");
        let others = [("find /var/lib/pacman/local ".to_owned() + &families.join(" "), Reading::Absent)];
        let none = [
            (find.as_str(), Reading::Text(String::new())),
            ("find /var/lib/rpm Packages rpmdb.sqlite", Reading::Absent),
            ("find /usr/lib/sysimage/rpm Packages rpmdb.sqlite", Reading::Absent),
            ("find /usr/share/rpm Packages rpmdb.sqlite", Reading::Absent),
            (others[0].0.as_str(), Reading::Absent),
        ];
        assert_eq!(installed(&host(&none), catalog(), &["nvidia-driver"]), Fact::Known(vec![]));

        let mut some = none.to_vec();
        some[0].1 = Reading::Text("nvidia-driver-550.list\nnvidia-driver-550.md5sums".into());
        let why = installed(&host(&some), catalog(), &["nvidia-driver"]);
        assert_eq!(why, Fact::unknown("dpkg-query: not in this test"));

        let stdout = "ii \tnvidia-driver-550\t550.144.03-0ubuntu1\nrc \tnvidia-driver-535\t535.1-1\n\
                      un \tnvidia-driver-libs\t\niU \tlibnvidia-compute-550\t550.144.03-0ubuntu1\n";
        some.push((
            query.as_str(),
            Reading::Ran {
                status: Some(1),
                stdout: stdout.into(),
                stderr: "dpkg-query: no packages found matching kmod-nvidia*\n".into(),
            },
        ));
        assert_eq!(
            installed(&host(&some), catalog(), &["nvidia-driver", "libnvidia-compute"]),
            Fact::Known(vec![
                package("libnvidia-compute-550", "550.144.03-0ubuntu1"),
                package("nvidia-driver-550", "550.144.03-0ubuntu1")
            ])
        );
    }

    #[test]
    fn distinguishes_missing_from_unreadable_package_manager() {
        let empty = host(&[]);
        assert!(matches!(installed(&empty, catalog(), &["nvidia"]), Fact::Unknown(_)));
        let nothing = crate::testing::Sparse::default();
        assert_eq!(installed(&nothing, catalog(), &["nvidia"]), Fact::Absent);
    }

    #[test]
    fn the_status_file_of_dpkg_is_read() {
        let text = "Package: nvidia-container-toolkit\nStatus: install ok installed\nArchitecture: amd64\n\
                    Version: 1.17.4-1\nDescription: NVIDIA Container toolkit\n Provides tools\n\n\
                    Package: nvidia-docker2\nStatus: deinstall ok config-files\nVersion: 2.13.0-1\n";
        assert_eq!(parse_dpkg_status(text), [package("nvidia-container-toolkit", "1.17.4-1")]);
    }

    #[test]
    fn rpm_and_pacman_are_read() {
        let text = "nvidia-driver-cuda\t550.90.07-1.el9\nkmod-nvidia-open-dkms\t550.90.07-1.el9\n";
        assert_eq!(parse_rpm(text)[1], package("kmod-nvidia-open-dkms", "550.90.07-1.el9"));
        assert_eq!(parse_pacman("nvidia-utils-580.95.05-1"), Some(package("nvidia-utils", "580.95.05-1")));
        assert_eq!(parse_pacman("ALPM_DB_VERSION"), None);
    }

    #[test]
    fn epochs_and_releases_are_left_out_of_upstream_versions() {
        for (version, expected) in [
            ("550.144.03-0ubuntu0.22.04.1", "550.144.03"),
            ("1:470.57.02-0lambda1", "470.57.02"),
            ("3:580.95.05-1.el9", "580.95.05"),
            ("2.21.5-1+cuda12.4", "2.21.5"),
            ("1.17.4-1", "1.17.4"),
        ] {
            assert_eq!(upstream(version), expected);
        }
    }
}
