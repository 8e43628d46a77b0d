//! The dependencies are what deny.toml allows. `cargo deny` judges more; this needs nothing but cargo.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests run cargo and read the source tree"
)]

use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Policy {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

fn policy() -> Policy {
    toml::from_str(include_str!("../../deny.toml")).unwrap()
}

/// Every package of others that is built on this platform.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = metadata["packages"].as_array().unwrap().clone();
    all.into_iter().filter(|package| package["source"].is_string()).collect()
}

#[test]
fn licences_are_allowed() {
    let allowed = policy().licenses.allow;
    let packages = packages();
    assert!(packages.len() > 100, "{}", packages.len());
    for package in packages {
        let licence = package["license"].as_str().unwrap_or_default();
        let expression = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX);
        let expression = expression.unwrap_or_else(|error| panic!("{}: {error}", package["name"]));
        assert!(
            expression.evaluate(|requirement| allowed.contains(&requirement.to_string())),
            "{}: {licence} is not in deny.toml",
            package["name"]
        );
    }
}

#[test]
fn banned_crates_are_absent() {
    for package in packages() {
        for ban in policy().bans.deny {
            assert_ne!(package["name"], ban.name.as_str(), "{}", ban.reason);
        }
    }
}
