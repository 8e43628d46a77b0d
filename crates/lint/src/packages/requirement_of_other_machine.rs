//! Lines of `pip freeze` that name files of the machine on which they were written.

use diagnostic::Fix;

use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::rule::{Found, Judge, Rule, Severity, named};
use project::requirements::lines::{bare, lines, option};

pub(crate) const RULE: Rule = Rule {
    id: "requirement-of-other-machine",
    severity: Severity::Error,
    summary: "requirements can be installed on another machine",
    explain: include_str!("requirement_of_other_machine.md"),
    judge: Judge::Packages(judge),
    fires: &[
        named(
            "requirements.txt",
            "einops==0.8.0\nnumpy @ file:///croot/numpy_and_numpy_base_1682520569166/work\n",
        ),
        named("requirements.txt", "pkg-resources==0.0.0\n"),
        named("requirements.txt", "trainer @ file:///Users/me/src/trainer\n-e /home/me/trainer\n"),
    ],
    silent: &[named(
        "requirements.txt",
        "./wheels/x-1.0-py3-none-any.whl\nlocal @ file:./local\n# numpy @ file:///croot/x\n\
             wheel @ file:///opt/wheels/a.whl\npkg_resources_stub==1.0\n-e .\n",
    )],
};

/// Directories that exist where packages are built, and of users.
const ELSEWHERE: &[&str] = &[
    "/croot/",
    "/home/conda/feedstock_root/",
    "/opt/conda/conda-bld/",
    "/tmp/build/",
    "/private/",
    "/Users/",
    "/home/",
];

fn judge(list: &PackageList) -> Vec<Found> {
    if list.kind != Kind::Requirements {
        return Vec::new();
    }
    let mut found = Vec::new();
    for line in lines(&list.text) {
        let text = match option(&line.text) {
            Some(("-e" | "--editable", value)) => value.to_owned(),
            Some(_) => continue,
            None => bare(&line.text).to_owned(),
        };
        let path = text.split_once("file://").map_or(text.as_str(), |(_, path)| path);
        let place = ELSEWHERE.iter().find(|start| path.starts_with(**start));
        if let Some(place) = place {
            let message = format!(
                "{path} is a file of the machine that wrote the list; pip fails with `No such file or \
                 directory`"
            );
            // A user may have the same directory everywhere.
            let certain = *place != "/home/";
            found.push(
                Found::error(
                    line.line,
                    message,
                    Fix::run("Write the release, as this command does:", "pip list --format=freeze"),
                )
                .unless_certain(certain),
            );
        }
        let name = text.split("==").next().unwrap_or_default().trim().to_ascii_lowercase().replace('_', "-");
        if name == "pkg-resources" && text.contains("0.0.0") {
            let message =
                "pkg-resources 0.0.0 is a mistake of Debian's pip freeze; no index has it, and pip fails";
            found.push(Found::error(line.line, message, "Remove the line"));
        }
    }
    found
}
