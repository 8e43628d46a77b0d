//! A loop over the lines of a file in which ssh reads the rest of them.

use crate::read::dockerfile::command::Command;
use crate::read::handed;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "loop-input-taken",
    severity: Severity::Error,
    summary: "commands in a `while read` loop leave its input alone",
    explain: include_str!("loop_input_taken.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "while read host; do\n  ssh $host \"pkill -f train.py\"\ndone < hosts.txt\n"),
        named(
            "run.sh",
            "scontrol show hostnames | while IFS= read -r h; do\n  echo $h\n  ssh \"$h\" nvidia-smi \
             -L\ndone\n",
        ),
        named("run.sh", "while read -r lr; do srun python train.py --lr $lr; done < grid.txt\n"),
        named(
            "run.sh",
            "while read h rest; do\n  [ -z \"$h\" ] || ssh -o BatchMode=yes $h uptime\ndone < hosts\n",
        ),
    ],
    silent: &[
        named("run.sh", "while read host; do\n  ssh -n $host uptime\ndone < hosts.txt\n"),
        named("run.sh", "while read host; do\n  ssh $host uptime < /dev/null\ndone < hosts.txt\n"),
        named("run.sh", "while read host; do\n  ssh $host uptime &\ndone < hosts.txt\nwait\n"),
        named("run.sh", "while read -u 3 host; do\n  ssh $host uptime\ndone 3< hosts.txt\n"),
        named("run.sh", "for h in $(cat hosts); do ssh $h uptime; done\n"),
        named("run.sh", "while read h; do\n  ssh $h bash -s <<'E'\nuptime\nE\ndone < hosts\n"),
        named("run.sh", "while read h; do\n  cat k | ssh $h 'cat >> f'\ndone < hosts\n"),
        named("run.sh", "while read h; do echo $h; done < hosts\nssh a uptime\n"),
        named("run.sh", "while read h; do\n  ssh $SSH_OPTS $h uptime\n  srun --input=none a\ndone < hosts\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let lines: Vec<&str> = script.text.lines().collect();
    // The depth of each `while read` that is open.
    let mut open: Option<(usize, usize)> = None;
    let mut found = Vec::new();
    for command in &script.commands {
        if open.is_some_and(|(depth, _)| command.loops < depth) {
            open = None;
        }
        if command.condition && command.program() == "read" && command.loops > 0 && open.is_none() {
            let line = lines.get(command.line - 1).copied().unwrap_or_default();
            let other = command.words.iter().any(|word| word.text.starts_with("-u")) || line.contains("<&");
            open = (!other).then_some((command.loops, command.line));
            continue;
        }
        let Some((_, from)) = open else { continue };
        let Some(name) = reads(command, &lines) else { continue };
        let message = format!(
            "{name} reads the input of the loop (line {from}), which is the rest of the list: the loop \
             ends after its first iteration"
        );
        let fix = match name {
            "ssh" => "Write `ssh -n`, or `< /dev/null` after the command".to_owned(),
            _ => format!("Write `< /dev/null` after {name}"),
        };
        found.push(Found::error(command.line, message, fix));
        open = None;
    }
    found
}

/// The program that reads its input, if the command is one.
fn reads<'c>(command: &'c Command, lines: &[&str]) -> Option<&'c str> {
    let name = command.program();
    let known = matches!(name, "ssh" | "srun" | "mpirun" | "mpiexec");
    if !known || command.piped || command.after == "&" || command.heredoc.is_some() {
        return None;
    }
    if name == "ssh" {
        let host = handed::host_of_ssh(command)?;
        let quiet = command.words[1..host].iter().any(|word| {
            // What a variable holds is not known.
            let unknown = word.text.starts_with('$') || word.text == "-";
            let letters = word.text.strip_prefix('-').unwrap_or_default();
            // Letters behind one with a value are the value.
            let end = letters.find(|letter: char| "opilFJ".contains(letter)).unwrap_or(letters.len());
            unknown || letters[..end].contains(['n', 'f']) || word.text.contains("StdinNull")
        });
        if quiet {
            return None;
        }
    }
    if name == "srun"
        && command.words.iter().any(|word| word.text.starts_with("--input") || word.text == "-i")
    {
        return None;
    }
    // The command's own lines: the redirection is behind it.
    let last = command.words.iter().map(|word| word.line).max().unwrap_or(command.line);
    let own = lines.get(command.line - 1..last.max(command.line)).unwrap_or_default().join(" ");
    let first = own.split("done").next().unwrap_or_default();
    let redirected = ["</", "< /", "<<", "< \"", "<\"", "< $", "<$"].iter().any(|sign| first.contains(sign));
    (!redirected && !own.contains("/dev/null <")).then_some(name)
}
