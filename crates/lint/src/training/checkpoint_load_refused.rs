//! A checkpoint with objects that torch.load refuses by default.

use std::str::FromStr;

use pep440_rs::Version;

use crate::read::python::{Argument, Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "checkpoint-load-refused",
    severity: Severity::Error,
    summary: "torch.load can load what the script saves",
    explain: include_str!("checkpoint_load_refused.md"),
    judge: Judge::Training(judge),
    fires: &[
        named_with(
            "train.py",
            "import argparse\nimport torch\nargs = argparse.ArgumentParser().parse_args()\n\
             state = torch.load(args.ckpt, map_location=\"cpu\")\n\
             torch.save({\"model\": net.state_dict(), \"args\": args}, args.ckpt)\n",
            &[("requirements.txt", "torch==2.6.0\n")],
        ),
        named_with(
            "train.py",
            "import argparse\nimport torch\nargs = argparse.ArgumentParser().parse_args()\n\
             torch.save({\"args\": args}, \"last.pt\")\nstate = torch.load(\"last.pt\")\n",
            &[],
        ),
        named_with(
            "train.py",
            "import argparse\nimport torch\n\ndef options():\n    p = argparse.ArgumentParser()\n    return \
             p.parse_args()\n\nargs = options()\ntorch.save({\"args\": args}, \"a.pt\")\nstate = \
             torch.load(\"a.pt\")\n",
            &[("requirements.txt", "torch==2.6.0\n")],
        ),
    ],
    silent: &[
        named_with(
            "train.py",
            "import argparse\nimport torch\n\ndef options():\n    p = argparse.ArgumentParser()\n    return \
             vars(p.parse_args())\n\nargs = options()\ntorch.save({\"args\": args}, \"a.pt\")\nstate = \
             torch.load(\"a.pt\")\n",
            &[("requirements.txt", "torch==2.6.0\n")],
        ),
        named_with(
            "train.py",
            "import argparse\nimport torch\nargs = argparse.ArgumentParser().parse_args()\n\
             state = torch.load(args.ckpt, weights_only=False)\ntorch.save({\"args\": args}, args.ckpt)\n",
            &[("requirements.txt", "torch==2.6.0\n")],
        ),
        named_with(
            "train.py",
            "import argparse\nimport torch\nargs = argparse.ArgumentParser().parse_args()\n\
             state = torch.load(args.ckpt)\ntorch.save({\"args\": vars(args), \"step\": 1}, args.ckpt)\n",
            &[("requirements.txt", "torch==2.6.0\n")],
        ),
        named_with(
            "train.py",
            "import argparse\nimport torch\nargs = argparse.ArgumentParser().parse_args()\n\
             state = torch.load(args.ckpt)\ntorch.save({\"args\": args}, args.ckpt)\n",
            &[("requirements.txt", "torch==2.5.1\n")],
        ),
        named_with(
            "train.py",
            "import argparse\nimport torch\nargs = argparse.ArgumentParser().parse_args()\n\
             torch.serialization.add_safe_globals([argparse.Namespace])\nstate = torch.load(args.ckpt)\n\
             torch.save({\"args\": args}, args.ckpt)\n",
            &[("requirements.txt", "torch==2.6.0\n")],
        ),
    ],
};

/// The first torch whose torch.load has `weights_only=True` by default.
const FIRST: &str = "2.6.0";

fn judge(program: &Program) -> Vec<Found> {
    let Ok(first) = Version::from_str(FIRST) else { return Vec::new() };
    let allowed = ["safe_globals", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"];
    if allowed.iter().any(|word| program.text.contains(word))
        || program.packages.below("torch", &first).is_some()
    {
        return Vec::new();
    }
    let place = program.packages.at_least("torch", &first);
    let loads = program.calls.iter().filter(|call| call.name == "torch.load");
    let found = loads.filter_map(|load| {
        let given = load.arguments.iter().filter_map(|one| one.name.as_deref());
        if given.into_iter().any(|name| matches!(name, "weights_only" | "pickle_module" | "*")) {
            return None;
        }
        let path = load.argument(0, "f")?;
        let (save, (what, here)) =
            program.calls.iter().filter(|call| call.name == "torch.save").find_map(|save| {
                let same = save.argument(1, "f").is_some_and(|to| is_same(program, save, to, load, path));
                Some((save, object(program, save)?)).filter(|_| same)
            })?;
        let release = match &place {
            Some(place) => format!("torch 2.6 and newer ({place})"),
            None => "torch 2.6 and newer".to_owned(),
        };
        let message = format!(
            "line {} saves {what} into {}; torch.load of {release} loads tensors and plain containers only: \
             `Weights only load failed`",
            save.line,
            path.text.replace('\n', " ")
        );
        let fix = "Save `vars(args)`, or load your own file with weights_only=False";
        Some(Found::error(load.line, message, fix).unless_certain(place.is_some() && here))
    });
    found.take(1).collect()
}

/// Whether a checkpoint is loaded from where it is saved, or moved to: `os.replace(tmp, path)`.
fn is_same(program: &Program, save: &Call, to: &Argument, load: &Call, from: &Argument) -> bool {
    if to.text == from.text {
        return true;
    }
    let wanted = program.origin(&from.at, &load.function).text;
    let is = |one: &Argument| {
        let text = program.origin(&one.at, &save.function).text;
        // A name that is left may hold anything.
        text == wanted && (text.contains('.') || text.starts_with(['"', '\'']))
    };
    const MOVES: &[&str] = &["os.replace", "os.rename", "shutil.move", "shutil.copy", "shutil.copyfile"];
    let moved = program.calls.iter().filter(|call| {
        call.function == save.function
            && call.at.start > save.at.start
            && MOVES.contains(&call.name.as_str())
            && call.arguments.first().is_some_and(|one| one.text == to.text)
    });
    is(to) || moved.into_iter().any(|call| call.arguments.get(1).is_some_and(is))
}

/// An object in what is saved that is neither a tensor nor a plain value, and whether it is certainly one:
/// an argument of the same name may be something else.
fn object(program: &Program, save: &Call) -> Option<(String, bool)> {
    let saved = save.argument(0, "obj")?;
    let through = program.value(&saved.text, &save.function, save.at.start);
    let at = through.map_or(&saved.at, |one| &one.at);
    let text = program.text.get(at.clone())?;
    let mut start = at.start;
    text.split(',').find_map(|part| {
        let from = start;
        start += part.len() + 1;
        let value = part.rsplit([':', '=']).next().unwrap_or_default();
        let name = value.trim().trim_matches(['{', '}', '(', ')']).trim();
        let place = from + part.len() - value.len() + value.find(name)?;
        let only = program.assignments.iter().filter(|one| one.name == name).count() <= 1;
        let (made, here) = match program.value(name, &save.function, save.at.start) {
            Some(set) => (program.call_at(&set.at)?, set.function == save.function),
            None => (program.origin_call(&(place..place + name.len()), &save.function)?, true),
        };
        let last = made.name.rsplit('.').next().unwrap_or_default();
        let is_namespace = last == "parse_args"
            || made.name == "argparse.Namespace"
            || returns_namespace(program, &made.name);
        // Every assignment of the name must make one.
        (is_namespace && only && !name.is_empty()).then(|| (format!("{name}, an argparse.Namespace,"), here))
    })
}

/// Whether a function of the file returns what `parse_args` gives, and nothing else.
fn returns_namespace(program: &Program, name: &str) -> bool {
    let body = program.function(name).and_then(|function| program.text.get(function.at.clone()));
    let lines = body.into_iter().flat_map(str::lines).map(str::trim);
    let mut returns = lines.filter(|line| line.starts_with("return"));
    let only = returns.next().filter(|_| returns.next().is_none());
    only.is_some_and(|line| line.ends_with(".parse_args()") && !line.contains("vars("))
}
