//! PATH of a script without the folders of the system.

use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "search-path-replaced",
    severity: Severity::Error,
    summary: "a script that sets PATH keeps the folders of the system's programs",
    explain: include_str!("search_path_replaced.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "export PATH=/usr/local/cuda/bin\nmkdir -p out\npython train.py\n"),
        named("run.sh", "PATH=\"$CUDA_HOME/bin:/opt/venv/bin\"\nsrun python train.py | tee log\n"),
        named("run.sh", "export PATH=/opt/conda/bin\npython train.py\n"),
    ],
    silent: &[
        named("run.sh", "export PATH=/usr/local/cuda/bin:$PATH\nmkdir out\n"),
        named("run.sh", "export PATH=/opt/bin:/usr/bin:/bin\nmkdir out\n"),
        named("run.sh", "PATH=$NEW_PATH\nmkdir out\nPATH=/opt/x/bin python a.py\nPATH=$(getconf PATH)\nls\n"),
        named("run.sh", "export PATH=/usr/local/cuda/bin${PATH:+:${PATH}}\nmkdir out\n"),
        named("run.sh", "echo a\nexport PATH=/opt/x/bin\n"),
    ],
};

/// Folders of the system's programs.
const FOLDERS: &[&str] = &["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"];

/// Programs of the system, which no folder of an environment or of CUDA has.
const OF_SYSTEM: &[&str] = &[
    "mkdir",
    "rm",
    "cp",
    "mv",
    "ls",
    "cat",
    "date",
    "grep",
    "awk",
    "sed",
    "hostname",
    "sleep",
    "tee",
    "head",
    "tail",
    "wc",
    "tr",
    "cut",
    "dirname",
    "basename",
    "env",
    "nohup",
    "chmod",
    "chown",
    "ln",
    "find",
    "sort",
    "xargs",
    "touch",
    "id",
    "uname",
    "timeout",
    "nvidia-smi",
    "ssh",
    "rsync",
    "sudo",
    "apt-get",
    "tar",
];

fn judge(script: &Script) -> Vec<Found> {
    let mut found = Vec::new();
    for (at, command) in script.commands.iter().enumerate().filter(|(_, one)| one.words.is_empty()) {
        let mut values = command.sets.iter().filter(|(name, _)| name == "PATH");
        let Some(value) = values.next().map(|(_, word)| word.text.as_str()) else { continue };
        let is_folder = |part: &str| {
            let rest = part.strip_prefix('$').map(|rest| rest.split_once('/').map_or("", |(_, rest)| rest));
            !part.contains(['`', '(']) && rest.map_or(part.starts_with('/'), |rest| !rest.is_empty())
        };
        let mut parts = value.split(':');
        if value.contains("PATH") || !parts.clone().all(is_folder) || parts.any(|one| FOLDERS.contains(&one))
        {
            continue;
        }
        let rest = &script.commands[at + 1..];
        let until = rest.iter().position(|one| one.sets.iter().any(|(name, _)| name == "PATH"));
        let rest = &rest[..until.unwrap_or(rest.len())];
        let program = |one: &str| one.starts_with(|letter: char| letter.is_ascii_alphabetic());
        let lost = rest
            .iter()
            .find(|one| one.words.first().is_some_and(|word| OF_SYSTEM.contains(&word.text.as_str())));
        let next = rest.iter().find(|one| program(one.program()));
        let Some(shown) = lost.or(next) else { continue };
        let message = match lost {
            Some(one) => format!(
                "PATH={value} replaces the search path; line {} does not find {}",
                one.line,
                one.program()
            ),
            None => format!("PATH={value} replaces the search path; the system's programs are not found"),
        };
        let certain = lost.is_some() && shown.certain && command.certain;
        found.push(
            Found::error(command.line, message, format!("Write `PATH={value}:$PATH`"))
                .unless_certain(certain),
        );
    }
    found
}
