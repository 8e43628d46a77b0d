//! `$?` behind a command that only prints, or only sets a variable.

use crate::read::dockerfile::command::Command;
use crate::read::posix::masked;
use crate::read::script::{Script, functions};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "status-of-report",
    severity: Severity::Warning,
    summary: "`$?` is read right behind the command whose exit status is meant",
    explain: include_str!("status_of_report.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "torchrun --nproc_per_node=8 train.py\necho \"training ended\"\nif [ $? -ne 0 ]; then\n  exit \
             1\nfi\n",
        ),
        named("run.sh", "python train.py\ndate\nstatus=$?\n[ $status -eq 0 ] && rm -rf old\n"),
        named("run.sh", "srun python train.py\nprintf 'done\\n'\nexit $?\n"),
        named(
            "run.sh",
            "f() {\n  local port=$(python free_port.py)\n  if [[ $? != 0 ]]; then return 1; fi\n  echo \
             $port\n}\n",
        ),
        named("run.sh", "export MASTER_ADDR=$(scontrol show hostnames | head -1)\ntest $? -eq 0 || exit 1\n"),
    ],
    silent: &[
        named("run.sh", "python train.py\nrc=$?\necho \"status $rc\"\nexit $rc\n"),
        named(
            "run.sh",
            "echo start\nif python train.py; then\n  echo ok\nelse\n  rc=$?\n  exit $rc\nfi\npython b.py && \
             echo ok\n[ $? -eq 0 ] || exit 1\n",
        ),
        named("run.sh", "echo start\ncleanup() {\n  rc=$?\n  exit $rc\n}\ntrap cleanup EXIT\n"),
        named("run.sh", "ADDR=$(scontrol show hostnames | head -1)\nif [ $? -ne 0 ]; then exit 1; fi\n"),
        named("run.sh", "echo y | apt-get install x\necho \"it was $?\"\ncase $1 in\na) echo a ;;\nesac\n"),
    ],
};

/// Commands that print or wait, and do not fail because of what came before.
const REPORTS: &[&str] = &["echo", "printf", "date", "sleep", "true", ":"];
/// Commands that set a variable; their exit status is not that of a substitution.
const SETS: &[&str] = &["local", "readonly", "typeset", "declare"];

fn judge(script: &Script) -> Vec<Found> {
    let mask = masked(&script.text);
    let lines: Vec<&str> = mask.lines().collect();
    let begins: Vec<usize> = functions(&script.text).into_iter().map(|one| *one.lines.start()).collect();
    let pairs = script.commands.iter().zip(script.commands.iter().skip(1)).enumerate();
    let found = pairs.filter_map(|(at, (before, command))| {
        let asks = asks(command);
        let listed = at > 0 && matches!(script.commands[at - 1].after, "&&" | "||" | "|");
        if !asks || listed || before.piped || before.after != ";" {
            return None;
        }
        let what = report(before)?;
        // The two are of one list of commands: no branch and no function begins between them.
        let apart = begins.iter().any(|line| before.line < *line && *line <= command.line);
        if apart || has_keyword(&lines, before.line, command.line) {
            return None;
        }
        let message = format!(
            "`$?` is the exit status of {what} (line {}), which is 0: a failure of the command before it is \
             not seen",
            before.line
        );
        let fix = "Read `$?` in the command right behind the one that is meant: `status=$?`";
        Some(Found::warning(command.line, message, fix))
    });
    found.collect()
}

/// Whether a command reads the exit status of the one before it.
fn asks(command: &Command) -> bool {
    let is_status = |text: &str| matches!(text, "$?" | "${?}");
    let set = command.words.is_empty()
        && command.exports.is_empty()
        && command.sets.iter().any(|(_, value)| is_status(&value.text));
    let tests = ["[", "[[", "test", "exit", "return"];
    let first = command.words.first().map_or("", |word| word.text.as_str());
    set || tests.contains(&first) && command.words.iter().any(|word| is_status(&word.text))
}

/// A command whose exit status says nothing.
fn report(command: &Command) -> Option<String> {
    let program = command.program();
    if REPORTS.contains(&program) && command.writes.is_empty() {
        return Some(program.to_owned());
    }
    let substitutes = |text: &str| text.contains("$(") || text.contains('`');
    if !command.exports.is_empty() && command.sets.iter().any(|(_, value)| substitutes(&value.text)) {
        return Some("export".to_owned());
    }
    let sets = SETS.contains(&program) && command.words.iter().any(|word| substitutes(&word.text));
    sets.then(|| program.to_owned())
}

/// Whether a word of the shell that parts branches is on the lines from one command to the next.
fn has_keyword(lines: &[&str], from: usize, to: usize) -> bool {
    const WORDS: &[&str] =
        &["else", "elif", "then", "do", "done", "fi", "esac", ";;", "{", "}", "case", "in"];
    let is_keyword = |word: &str| WORDS.contains(&word) || word.ends_with(";;") || word.ends_with(')');
    let words = |text: &str| text.split([' ', '\t', ';']).any(|word| is_keyword(word.trim()));
    (from..=to).any(|number| {
        let line = lines.get(number.saturating_sub(1)).copied().unwrap_or_default();
        match number == to {
            true => words(line.split("$?").next().unwrap_or_default()),
            // Of the line of the command that prints, only what is behind it is between the two.
            false if number == from => line.split_once(';').is_some_and(|(_, rest)| words(rest)),
            false => words(line) || line.contains(";;"),
        }
    })
}
