//! What packages say of envdoc is what Cargo.toml says, and the workflows run the scripts of the
//! repository.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read the source tree")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_yaml::Value as Yaml;
use toml::Value as Toml;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn toml(path: &str) -> Toml {
    toml::from_str(&read(path)).unwrap()
}

fn yaml(path: &str) -> Yaml {
    serde_yaml::from_str(&read(path)).unwrap()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_wheel_is_described_as_in_cargo_toml() {
    let cargo = toml("Cargo.toml");
    let wheel = &toml("pyproject.toml")["project"];
    for key in ["name", "description", "keywords"] {
        assert_eq!(wheel[key], cargo["package"][key], "{key}");
    }
    assert_eq!(wheel["license"], cargo["workspace"]["package"]["license"]);
    // maturin takes the version from Cargo.toml.
    assert_eq!(wheel["dynamic"], Toml::from(vec!["version"]));
    assert!(wheel.get("version").is_none());
}

/// An index shows the description without the repository: a relative link would lead nowhere.
#[test]
fn the_description_of_the_wheel_has_no_relative_links() {
    let wheel = &toml("pyproject.toml")["project"];
    let description = read(wheel["readme"].as_str().unwrap());
    assert!(description.contains("pip install envdoc"));
    let links = description.split("](").skip(1).map(|rest| &rest[..rest.find(')').unwrap()]);
    let relative: Vec<&str> = links.filter(|link| !link.starts_with("https://")).collect();
    assert!(relative.is_empty(), "{relative:?}");
    // In the wheel, a licence has the path that it has here.
    let licences = wheel["license-files"].as_array().unwrap();
    assert!(licences.iter().all(|file| !file.as_str().unwrap().contains('/')), "{licences:?}");
}

/// cargo-binstall fills in the templates; the archives are named and packed by release.sh.
#[test]
fn cargo_binstall_finds_the_archives_of_a_release() {
    let cargo = toml("Cargo.toml");
    let binstall = &cargo["package"]["metadata"]["binstall"];
    assert_eq!(binstall["pkg-fmt"].as_str(), Some("tgz"));
    let filled = |key: &str| {
        let values = [
            ("{ repo }", "https://host.example/envdoc"),
            ("{ name }", "envdoc"),
            ("{ bin }", "envdoc"),
            ("{ binary-ext }", ""),
            ("{ target }", "x86_64-unknown-linux-gnu"),
            ("{ version }", "1.2.3"),
        ];
        let template = binstall[key].as_str().unwrap().to_owned();
        values.iter().fold(template, |text, (name, value)| text.replace(name, value))
    };
    let script = read("packaging/release.sh");
    let name = script.lines().find_map(|line| line.strip_prefix("name() { echo \"")).unwrap();
    let name = name.trim_end_matches("\"; }").replace("$1", "x86_64").replace("$version", "1.2.3");
    assert_eq!(
        filled("pkg-url"),
        format!("https://host.example/envdoc/releases/download/v1.2.3/{name}.tar.gz")
    );
    assert_eq!(filled("bin-dir"), format!("{name}/envdoc"));
}

/// `packaging/release.sh --tests` runs what the release workflow runs.
#[test]
fn a_local_release_can_run_the_tests_of_the_workflow() {
    let workflow = yaml(".github/workflows/release.yml");
    let tests = commands(&workflow["jobs"]["test"]);
    let script = read("packaging/release.sh");
    assert!(script.contains("    --tests) tests=yes ;;"));
    let line = format!("if [ \"$tests\" = yes ]; then {} ||", tests.trim());
    assert!(script.contains(&line), "{line}");
}

#[test]
fn the_deb_and_the_rpm_are_described_as_in_cargo_toml() {
    let cargo = toml("Cargo.toml");
    let packages = yaml("packaging/nfpm.yaml");
    assert_eq!(packages["name"].as_str(), cargo["package"]["name"].as_str());
    assert_eq!(packages["license"].as_str(), cargo["workspace"]["package"]["license"].as_str());
    // release.sh reads the version from Cargo.toml.
    assert_eq!(packages["version"].as_str(), Some("${VERSION}"));
    let (synopsis, details) = packages["description"].as_str().unwrap().split_once('\n').unwrap();
    let described = format!("{synopsis}: {}", one_line(details));
    let expected = cargo["package"]["description"].as_str().unwrap();
    assert_eq!(described.to_lowercase().trim_end_matches('.'), expected.to_lowercase());
    assert!(synopsis.len() <= 80, "dpkg -l shows the first line: {synopsis}");
    let copyright = read("packaging/copyright");
    let licence = copyright.lines().find_map(|line| line.strip_prefix("License: ")).unwrap();
    assert_eq!(licence.to_uppercase(), packages["license"].as_str().unwrap().to_uppercase());
}

/// Files of nfpm.yaml that the packager `deb` or `rpm` installs: from where, and where to.
fn installed(packager: &str) -> Vec<(String, String)> {
    let packages = yaml("packaging/nfpm.yaml");
    let all = packages["contents"].as_sequence().unwrap().iter();
    all.filter(|file| file.get("packager").is_none_or(|only| only.as_str() == Some(packager)))
        .map(|file| (file["src"].as_str().unwrap().to_owned(), file["dst"].as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn deb_and_rpm_install_completions_man_pages_and_licences() {
    for packager in ["deb", "rpm"] {
        let files = installed(packager);
        for part in [
            "envdoc",
            "envdoc.bash",
            "_envdoc",
            "envdoc.fish",
            "*.1.gz",
            "LICENSE-MIT",
            "LICENSE-APACHE",
            "THIRD-PARTY-LICENCES.txt",
        ] {
            let found = files.iter().filter(|(from, _)| from.ends_with(&format!("/{part}")));
            assert_eq!(found.count(), 1, "{packager} installs {part} once");
        }
        let places: std::collections::BTreeSet<(&str, &str)> = files
            .iter()
            .map(|(from, to)| (if to.ends_with('/') { from.as_str() } else { "" }, to.as_str()))
            .collect();
        assert_eq!(places.len(), files.len(), "{packager}: two files at one place");
    }
}

/// Commands of a job of release.yml.
fn commands(job: &Yaml) -> String {
    let steps = job["steps"].as_sequence().unwrap().iter();
    steps.filter_map(|step| step.get("run")?.as_str()).collect::<Vec<_>>().join("\n")
}

/// The site is published from one branch, and only the job that publishes it may write.
#[test]
fn the_docs_workflow_runs_the_script_of_the_site() {
    let workflow = yaml(".github/workflows/docs.yml");
    let (build, publish) = (&workflow["jobs"]["build"], &workflow["jobs"]["publish"]);
    let command = commands(build);
    assert_eq!(command.split_whitespace().next(), Some("docs/site/build.sh"));
    let mode = fs::metadata(root().join("docs/site/build.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "docs/site/build.sh is executable");
    let uploaded =
        build["steps"].as_sequence().unwrap().iter().find_map(|step| step["with"]["path"].as_str());
    assert!(read("docs/site/build.sh").contains(uploaded.unwrap()), "the site is built into {uploaded:?}");
    assert_eq!(publish["needs"].as_str(), Some("build"));
    assert_eq!(publish["if"].as_str(), Some("github.ref == 'refs/heads/main'"));
    assert_eq!(workflow["permissions"]["contents"].as_str(), Some("read"));
    let writes = |job: &Yaml| job["permissions"].as_mapping().unwrap().values().any(|one| one == "write");
    assert!(writes(publish) && !writes(build));
}

#[test]
fn the_release_workflow_runs_the_scripts_of_packaging() {
    let workflow = yaml(".github/workflows/release.yml");
    let build = commands(&workflow["jobs"]["build"]);
    assert!(build.lines().any(|line| line.trim() == "packaging/release.sh"), "{build}");
    let scripts: Vec<&str> = build.split_whitespace().filter(|word| word.starts_with("packaging/")).collect();
    assert!(
        scripts.contains(&"packaging/compare.sh") && scripts.contains(&"packaging/compare-architectures.sh")
    );
    for script in scripts {
        let mode = fs::metadata(Path::new(&root()).join(script)).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{script} is executable");
    }
    let publish = &workflow["jobs"]["publish"];
    let needs: Vec<&str> =
        publish["needs"].as_sequence().unwrap().iter().map(|job| job.as_str().unwrap()).collect();
    assert_eq!(needs, ["test", "build"]);
    assert!(commands(publish).contains("sha256sum --check"));
}
