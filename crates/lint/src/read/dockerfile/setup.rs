//! Who runs an instruction, and in which shell: USER and SHELL, followed through the stages.

use crate::base::Base;
use std::rc::Rc;

use super::expand::expand;
use super::stage::{Dockerfile, From, unquoted};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    /// Somebody else, by name or number.
    Other(String),
    Unknown,
}

/// What holds before an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setup {
    pub user: User,
    /// The words of SHELL; empty for the default, `/bin/sh -c`.
    pub shell: Vec<String>,
}

/// Repositories besides those of [`Base`] whose images run as root.
const ROOT: &[&str] = &["nvcr.io/nvidia/pytorch:", "rockylinux:", "continuumio/", "condaforge/"];

/// Repositories whose images run as a user of their own, with its name.
const OTHERS: &[(&str, &str)] =
    &[("mambaorg/micromamba", "mambauser"), ("jupyter/", "jovyan"), ("quay.io/jupyter/", "jovyan")];

/// What holds before each instruction of each stage, and at its end.
pub(crate) fn setups(file: &Dockerfile) -> Vec<Vec<Rc<Setup>>> {
    let mut all: Vec<Vec<Rc<Setup>>> = Vec::new();
    for stage in &file.stages {
        let mut now = match &stage.from {
            From::Stage(index) => all.get(*index).and_then(|setups| setups.last()).cloned(),
            From::Image(image) => Some(Rc::new(Setup { user: user_of(&image.text), shell: Vec::new() })),
            From::Scratch => None,
        };
        let unknown = || Rc::new(Setup { user: User::Unknown, shell: Vec::new() });
        let mut now = now.take().unwrap_or_else(unknown);
        let mut setups = vec![Rc::clone(&now)];
        for one in &stage.instructions {
            match one.keyword.as_str() {
                "USER" => {
                    let text = expand(&unquoted(one.text.text.trim()), &stage.end.variables);
                    Rc::make_mut(&mut now).user = match text.text.split(':').next().unwrap_or_default() {
                        _ if !text.known => User::Unknown,
                        "root" | "0" => User::Root,
                        name => User::Other(name.to_owned()),
                    };
                }
                "SHELL" => Rc::make_mut(&mut now).shell = one.json.clone().unwrap_or_default(),
                _ => {}
            }
            setups.push(Rc::clone(&now));
        }
        all.push(setups);
    }
    all
}

fn user_of(image: &str) -> User {
    let known = OTHERS.iter().find(|(start, _)| image.starts_with(start));
    match known {
        Some((_, name)) => User::Other((*name).to_owned()),
        None if Base::of(image).is_some() || ROOT.iter().any(|start| image.starts_with(start)) => User::Root,
        None => User::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Context;
    use catalog::testing::catalog;

    #[test]
    fn users_and_shells_go_on_in_later_stages() {
        let text = "FROM ubuntu:22.04 AS a\nARG U=me\nUSER $U\nSHELL [\"/bin/bash\", \"-c\"]\nRUN x\nFROM a\n\
            RUN y\nUSER 0:0\nRUN z\n";
        let file = Dockerfile::read(catalog(), text, &Context::new());
        let all = setups(&file);
        assert_eq!((&all[0][0].user, all[0][0].shell.len()), (&User::Root, 0));
        assert_eq!((&all[1][0].user, all[1][0].shell.len()), (&User::Other("me".into()), 2));
        assert_eq!(all[1][2].user, User::Root);
    }
}
