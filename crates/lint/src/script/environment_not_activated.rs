//! A virtual environment that is made and not used.

use crate::read::dockerfile::command::Command;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "environment-not-activated",
    severity: Severity::Warning,
    summary: "packages go into the environment that the script makes",
    explain: include_str!("environment_not_activated.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "python3 -m venv .venv\npip install -r requirements.txt\npython train.py\n"),
        named("run.sh", "python3 -m venv venv\nbash venv/bin/activate\npip install torch\n"),
    ],
    silent: &[
        named(
            "run.sh",
            "python3 -m venv .venv\nsource .venv/bin/activate\npip install -r requirements.txt\n",
        ),
        named("run.sh", "python3 -m venv .venv\n.venv/bin/pip install torch\n"),
        named("run.sh", "python3 -m venv \"$DIR\"\npip install torch\n"),
        named("run.sh", "python3 -m venv /opt/tool\npython train.py\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let activates = |one: &&Command| {
        let shell = matches!(one.program(), "bash" | "sh");
        shell && one.word(1).ends_with("bin/activate")
    };
    if let Some(one) = script.commands.iter().find(activates) {
        let message = format!(
            "{} reads {} in a shell of its own, which ends at once; this shell uses the Python that it used \
             before",
            one.program(),
            one.word(1)
        );
        return vec![
            Found::error(one.line, message, format!("Write `source {}`", one.word(1))).unless_certain(false),
        ];
    }
    let made = script.commands.iter().enumerate().find_map(|(at, one)| {
        let venv = one.program().starts_with("python") && one.word(1) == "-m" && one.word(2) == "venv";
        let path = one.words.iter().skip(3).rev().find(|word| !word.text.starts_with('-'))?;
        (venv && path.known && one.certain).then_some((at, path.text.trim_end_matches('/')))
    });
    let Some((at, path)) = made else { return Vec::new() };
    let used = ["/bin", "activate", "VIRTUAL_ENV"].iter().any(|word| script.text.contains(word));
    let bare = script.commands[at + 1..].iter().find(|one| {
        matches!(one.words.first().map(|word| word.text.as_str()), Some("pip" | "pip3")) && one.has("install")
    });
    let Some(bare) = bare.filter(|_| !used) else { return Vec::new() };
    let message =
        format!("nothing activates {path}; {} installs into the Python that was used before", bare.word(0));
    vec![Found::warning(bare.line, message, format!("Write `source {path}/bin/activate` before it"))]
}
