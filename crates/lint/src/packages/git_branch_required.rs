//! A requirement that follows a branch, in a list whose others are pinned.

use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::read::project;
use crate::rule::{Found, Judge, Rule, Severity, named};
use ::project::requirements::lines::{Line, bare, lines, option};

pub(crate) const RULE: Rule = Rule {
    id: "git-branch-required",
    severity: Severity::Warning,
    summary: "a list of pinned packages has no package from a branch",
    explain: include_str!("git_branch_required.md"),
    judge: Judge::Packages(judge),
    fires: &[
        named(
            "requirements.txt",
            "numpy==1.26.4\nscipy==1.13.1\nenvs @ git+https://git.example.com/rl/envs.git@main\n",
        ),
        named(
            "requirements.txt",
            "numpy==1.26.4\nscipy==1.13.1\ngit+https://git.example.com/rl/envs.git#egg=envs\n",
        ),
    ],
    silent: &[
        named(
            "requirements.txt",
            "numpy\nscipy==1.13.1\nenvs @ git+https://git.example.com/rl/envs.git@main\n",
        ),
        named(
            "requirements.txt",
            "numpy==1.26.4\nscipy==1.13.1\nenvs @ git+https://git.example.com/rl/envs.git@v1.2\n",
        ),
        named(
            "requirements.txt",
            "numpy==1.26.4\nscipy==1.13.1\nenvs @ git+ssh://git@git.example.com/rl/envs.git@5f1c0a9b6d2e\n",
        ),
        named("requirements.txt", "envs @ git+https://git.example.com/rl/envs.git@main\n"),
    ],
};

/// Names that only branches have.
const BRANCHES: &[&str] = &["main", "master", "develop", "dev", "trunk", "nightly", "HEAD"];

/// So many pinned packages show that pinning is meant.
const PINNED: usize = 2;

fn judge(list: &PackageList) -> Vec<Found> {
    let sets = match list.kind {
        Kind::Conda => project::conda(&list.text),
        Kind::Pyproject => return Vec::new(),
        _ => vec![list.text.clone()],
    };
    sets.iter().flat_map(|set| of_set(set)).collect()
}

fn of_set(text: &str) -> Vec<Found> {
    let all = lines(text);
    let is_git = |line: &&Line| line.text.contains("git+");
    // What else is installed by a file or a path is not known.
    let (git, others): (Vec<&Line>, Vec<&Line>) =
        all.iter().filter(|line| option(&line.text).is_none()).partition(is_git);
    let pinned = others.iter().all(|line| bare(&line.text).contains("=="));
    if !pinned || others.len() < PINNED {
        return Vec::new();
    }
    git.iter().filter_map(|line| branch(line)).collect()
}

fn branch(line: &Line) -> Option<Found> {
    let address = line.text.split("git+").nth(1)?.split([' ', '#', ';']).next()?;
    if address.contains(['$', '{']) {
        return None;
    }
    let (_, rest) = address.split_once("://")?;
    let (_, path) = rest.split_once('/')?;
    let what = match path.rsplit_once('@') {
        None => "the repository's default branch".to_owned(),
        Some((_, name)) if BRANCHES.contains(&name) => format!("the branch {name}"),
        Some(_) => return None,
    };
    let message = format!("{} follows {what}; all other packages of the list are pinned", line.text);
    Some(Found::warning(line.line, message, "Name a tag or a whole commit: `….git@COMMIT`"))
}
