//! An ARG that the stage which uses it does not declare.

use std::collections::{BTreeMap, BTreeSet};

use crate::read::dockerfile::command::Word;
use crate::read::dockerfile::expand::Expanded;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::references::{Reference, references};
use crate::read::dockerfile::stage::{pairs, settings};
use crate::read::dockerfile::{Dockerfile, From, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "argument-not-in-stage",
    severity: Severity::Error,
    summary: "a stage declares the build arguments that it uses, before it uses them",
    explain: include_str!("argument_not_in_stage.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "ARG TRANSFORMERS=4.46.0\nFROM python:3.12\nRUN pip install transformers==$TRANSFORMERS\n",
        ),
        dockerfile(
            "ARG TORCH=2.5.1\nARG INDEX=cu124\nFROM python:3.12\nARG INDEX\nRUN pip install \
             torch==${TORCH} --index-url https://download.pytorch.org/whl/${INDEX}\n",
        ),
        dockerfile("FROM ubuntu:24.04\nRUN echo ${RELEASE}\nARG RELEASE=1\n"),
        dockerfile("FROM ubuntu:24.04\nRUN ./fetch.sh --arch=$TARGETARCH\n"),
        dockerfile("FROM ubuntu:24.04\nENV ROOT_DIR=/opt/x BIN_DIR=$ROOT_DIR/bin\n"),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:24.04 AS base-amd64\nARG TARGETARCH\nENV TARGETARCH=${TARGETARCH}\n\
             FROM base-${TARGETARCH}\nRUN echo $TARGETARCH\n",
        ),
        dockerfile("ARG V=1\nFROM ubuntu:24.04 AS a\nARG V\nRUN echo $V\nFROM a\nRUN echo $V\n"),
        dockerfile(
            "ARG CUDA_VERSION=12.4.1\nFROM nvidia/cuda:${CUDA_VERSION}-base-ubuntu22.04\nRUN echo \
             $CUDA_VERSION\n",
        ),
        dockerfile("ARG V=1\nFROM ubuntu:24.04\nRUN V=2 && echo $V ${W:-3} '$V' \\$V\n"),
        dockerfile("FROM ubuntu:24.04\nARG TARGETARCH\nRUN echo $TARGETARCH\n"),
        dockerfile("FROM ubuntu:24.04\nENV A=/a\nENV A=/b:$A B=$C\n"),
    ],
};

/// Arguments that BuildKit sets, and a stage must declare too.
const PLATFORM: &[&str] = &[
    "TARGETPLATFORM",
    "TARGETOS",
    "TARGETARCH",
    "TARGETVARIANT",
    "BUILDPLATFORM",
    "BUILDOS",
    "BUILDARCH",
    "BUILDVARIANT",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let before = file.instructions.iter().take_while(|one| one.keyword != "FROM");
    let globals: BTreeSet<String> = before
        .filter(|one| one.keyword == "ARG")
        .flat_map(|one| pairs(&one.text.text).into_iter().map(|(name, _)| name))
        .collect();
    let mut found = Vec::new();
    let mut ends: Vec<BTreeSet<String>> = Vec::new();
    for stage in &file.stages {
        let mut declared = match &stage.from {
            From::Stage(index) => ends.get(*index).cloned().unwrap_or_default(),
            // `FROM base-${TARGETARCH}` is one of these stages.
            From::Image(image) if !image.known => {
                let start = image.text.split('$').next().unwrap_or_default().to_ascii_lowercase();
                let alike = file.stages.iter().zip(&ends).filter(|(other, _)| {
                    let named = other.name.as_ref().is_some_and(|name| name.starts_with(&start));
                    named && !start.is_empty()
                });
                alike.flat_map(|(_, declared)| declared.iter().cloned()).collect()
            }
            From::Image(_) | From::Scratch => BTreeSet::new(),
        };
        let mut named = BTreeSet::new();
        let arguments = lines_of_arguments(&stage.instructions);
        for (index, one) in stage.instructions.iter().enumerate() {
            let own = (one.keyword == "ENV").then(|| OwnNames::of(one));
            for reference in references(one) {
                let name = &reference.name;
                if reference.defaulted || declared.contains(name) || base_sets(file, name) {
                    continue;
                }
                let later = arguments.get(name).and_then(|all| all.range(index + 1..).next());
                let later = later.map(|(_, line)| *line);
                let what = fault(&reference, own.as_ref(), &globals, later);
                if let Some((message, fix)) = what.filter(|_| named.insert(name.clone())) {
                    let fails = reference.pins && pip_refuses(file, stage, index, reference.line);
                    let end = if fails { ", and pip refuses `==` without a version" } else { "" };
                    let one = Found::error(reference.line, format!("{message}{end}"), fix);
                    found.push(one.unless_certain(fails).about(name));
                }
            }
            match one.keyword.as_str() {
                "ARG" => declared.extend(pairs(&one.text.text).into_iter().map(|(name, _)| name)),
                "ENV" => declared.extend(settings(&one.text.text).into_iter().map(|(name, _)| name)),
                _ => {}
            }
        }
        ends.push(declared);
    }
    found
}

/// Whether pip certainly runs in a line of an instruction, where no variable of a base is in its words.
fn pip_refuses(file: &Dockerfile, stage: &Stage, index: usize, line: usize) -> bool {
    let known = file.base(stage).is_some_and(Expanded::is_official);
    let pip = |run: &Run| {
        let pins = |word: &Word| word.line == line && word.text.contains("==");
        run.command.certain
            && !run.state.opaque
            && run.install.is_some()
            && run.command.words.iter().any(pins)
    };
    known && stage.commands_of(index).iter().any(pip)
}

/// The lines of a stage's ARG instructions by name and place.
fn lines_of_arguments(instructions: &[Instruction]) -> BTreeMap<String, BTreeMap<usize, usize>> {
    let mut found: BTreeMap<String, BTreeMap<usize, usize>> = BTreeMap::new();
    for (index, one) in instructions.iter().enumerate().filter(|(_, one)| one.keyword == "ARG") {
        for (name, _) in pairs(&one.text.text) {
            found.entry(name).or_default().insert(index, one.line);
        }
    }
    found
}

/// The names that one ENV sets, and those that it uses in the value of another name.
struct OwnNames {
    set: BTreeSet<String>,
    used_by_others: BTreeSet<String>,
}

impl OwnNames {
    fn of(one: &Instruction) -> OwnNames {
        let mut own = OwnNames { set: BTreeSet::new(), used_by_others: BTreeSet::new() };
        for (set, value) in settings(&one.text.text) {
            let used = value.as_deref().map(used_names).unwrap_or_default();
            // `ENV PATH=/a:$PATH` goes on with the value of the base image.
            own.used_by_others.extend(used.into_iter().filter(|name| *name != set).map(str::to_owned));
            own.set.insert(set);
        }
        own
    }
}

/// The names in `$NAME` and `${NAME…}`.
fn used_names(value: &str) -> Vec<&str> {
    let behind = value.split('$').skip(1).map(|rest| rest.strip_prefix('{').unwrap_or(rest));
    let end = |text: &str| text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    behind.map(|text| &text[..end(text)]).filter(|name| !name.is_empty()).collect()
}

/// Why a name that is not declared so far has no value, and what to write; `later` is the line of an ARG
/// that declares it below.
fn fault(
    reference: &Reference,
    own: Option<&OwnNames>,
    globals: &BTreeSet<String>,
    later: Option<usize>,
) -> Option<(String, String)> {
    let name = &reference.name;
    if own.is_some_and(|own| own.set.contains(name) && own.used_by_others.contains(name)) {
        let message = format!(
            "{name} is set in the same ENV; ${name} there still has the value of before, which is empty"
        );
        return Some((message, format!("Set {name} in an ENV of its own above")));
    }
    if globals.contains(name) {
        let message =
            format!("{name} is an ARG before FROM, which this stage does not declare; ${name} is empty here");
        return Some((message, format!("Add `ARG {name}` below FROM")));
    }
    if PLATFORM.contains(&name.as_str()) {
        let message = format!("{name} is only set in a stage that declares it; ${name} is empty here");
        return Some((message, format!("Add `ARG {name}` below FROM")));
    }
    let message = format!("${name} is empty here: its ARG comes later, in line {}", later?);
    Some((message, "Move the ARG up".to_owned()))
}

/// Whether base images set a variable of this name themselves.
fn base_sets(file: &Dockerfile, name: &str) -> bool {
    const BASES: &[&str] = &[
        "PATH",
        "HOME",
        "CUDA_VERSION",
        "PYTHON_VERSION",
        "NCCL_VERSION",
        "PYTORCH_VERSION",
        "LD_LIBRARY_PATH",
    ];
    let unknown = file.stages.is_empty();
    unknown || BASES.contains(&name) || name.starts_with("NV_")
}
