//! Blanks that change what a line of a shell script means.

use std::collections::BTreeSet;

use crate::read::dockerfile::command::{Command, Word};
use crate::read::posix::masked;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "shell-spacing-wrong",
    severity: Severity::Error,
    summary: "no spaces around `=` in assignments, spaces inside `[ ]`; -gt compares numbers",
    explain: include_str!("shell_spacing_wrong.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "export NCCL_IB_TC = 106\ntorchrun train.py\n"),
        named("run.sh", "NPROC = 8\n"),
        named("run.sh", "if [ \"$RANK\" > 0 ]; then sleep 1; fi\n"),
        named("run.sh", "if [\"$RANK\" = 0 ]; then sleep 1; fi\n"),
        named("run.sh", "if [ $RANK = 0]; then sleep 1; fi\n"),
        named("run.sh", "$NGPU=4\ntorchrun --nproc_per_node=4 train.py\n"),
        named("run.sh", "MODEL= \"facebook/opt-125m\"\n"),
        named("run.sh", "if [ \"$RANK\" = 0 ] then\n  sleep 1\nfi\n"),
        named("run.sh", "export NCCL_IB_HCA=mlx5_0:1, mlx5_1:1\ntorchrun train.py\n"),
        named("run.sh", "export A=b CUDA_VISIBLE_DEVICES=0, 1\n"),
        named("run.sh", "export NCCL_SOCKET_IFNAME=ib0, ib1\n"),
        named("run.sh", "export NCCL_IB_HCA= mlx5_0\n"),
        named("run.sh", "NCCL_IB_HCA=mlx5_0, mlx5_1 torchrun train.py\n"),
    ],
    silent: &[
        named(
            "run.sh",
            "export SLURM_ACCOUNT=<slurm account, used to feed -A>\nexport http_proxy= no_proxy\n",
        ),
        named(
            "run.sh",
            "export A=1 B C=2\nexport D=\"mlx5_0, mlx5_1\" E\nexport -f my-func\nexport F=$A G $H\nexport \
             http_proxy= https_proxy= no_proxy\nexport A=x, && b\nCUDA_VISIBLE_DEVICES=0,1 python t.py\n",
        ),
        named("run.sh", "CUDA_VISIBLE_DEVICES= python train.py\nIFS= read -r line\nX=\n$CMD --lr=1\n"),
        named(
            "run.sh",
            "export NCCL_IB_TC=106\nA= b\n[ \"$A\" = b ] && [ 1 -gt 0 ] > log 2>&1\nexpr 1 = 1\n",
        ),
        named(
            "run.sh",
            "[[ $a > $b ]]\n(( a > b ))\nfor (( i = 0; i < 3; i++ )); do a; done\n[ a \\> b ]\nif [ -f x \
             ]; then cat < y > z; fi\n",
        ),
        named("run.sh", "cat > /tmp/x.toml <<+\nname = \"$Y\"\n+\n"),
        named("run.sh", "awk '{ if ($1 > 0) [ print ] }' f\npip install 'a[b]'\necho \"[$A]\" [0-9]\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    // In `(( i = 0 ))` blanks are allowed.
    let lines: Vec<bool> = script.text.lines().map(|line| line.contains("((")).collect();
    let arithmetic = |line: usize| lines.get(line.saturating_sub(1)) == Some(&true);
    let commands = script.commands.iter().filter(|command| !arithmetic(command.line));
    let mut found: Vec<Found> =
        commands.flat_map(|command| assignment(command).or_else(|| test(command))).collect();
    let documents =
        script.documents.iter().flat_map(|document| document.lines.iter().map(|(number, _)| *number));
    let in_documents: BTreeSet<usize> = documents.collect();
    let mask = masked(&script.text);
    for (index, line) in mask.lines().enumerate().filter(|(index, _)| !in_documents.contains(&(index + 1))) {
        let (message, fix) = match redirection(line) {
            Some('>') => (
                "`>` in `[ ]` writes to a file instead of comparing, so that the test is always \
                true",
                "-gt",
            ),
            Some(_) => ("`<` in `[ ]` reads a file instead of comparing", "-lt"),
            None => continue,
        };
        found.push(Found::error(index + 1, message, format!("Use {fix}, or `[[ ]]`")));
    }
    found
}

/// Blanks around the `=` of an assignment.
fn assignment(command: &Command) -> Option<Found> {
    if command.exports.iter().any(String::is_empty) {
        let message = "spaces around `=`: export takes `=` for a name and fails, `not a valid identifier`";
        return Some(Found::error(command.line, message, "Write `export NAME=value`"));
    }
    if let Some(found) = list_cut(command) {
        return Some(found);
    }
    if let Some(found) = with_dollar(command).or_else(|| value_apart(command)) {
        return Some(found);
    }
    let program = command.program();
    let name = program.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && program.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && !matches!(program, "expr" | "test");
    let sign = command
        .words
        .get(1)
        .is_some_and(|word| !word.quoted && word.text.starts_with('=') && !word.text.starts_with("=="));
    let message = format!("spaces around `=`: the shell runs a program {program} with the argument `=`");
    (sign && name).then(|| {
        Found::error(
            command.line,
            message,
            format!(
                "Write \
            `{program}=value`"
            ),
        )
        .unless_certain(command.certain)
    })
}

/// `export LIST=a, b`: the list ends at the blank.
fn list_cut(command: &Command) -> Option<Found> {
    let mut sets = command.sets.iter().peekable();
    let mut before: Option<(&str, &Word)> = None;
    for (at, name) in command.exports.iter().enumerate() {
        if let Some((_, value)) = sets.next_if(|(own, _)| own == name) {
            before = Some((name, value));
            continue;
        }
        let Some((list, value)) = before.filter(|(_, value)| !value.quoted) else { continue };
        let text = value.text.as_str();
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.,:/=-".contains(&byte));
        let cut = text.ends_with([',', ':']);
        // `export http_proxy= no_proxy`
        let apart =
            text.is_empty() && name.bytes().any(|byte| byte.is_ascii_digit()) && !name.contains("proxy");
        let valid = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.starts_with(|letter: char| letter.is_ascii_digit());
        // `export ACCOUNT=<account, as Slurm knows it>` is a placeholder.
        let placeholder = text.is_empty() && !apart;
        if !plain || name.is_empty() || placeholder || valid && !cut && !apart {
            continue;
        }
        let effect = match valid {
            true => format!("{name} is exported as another variable"),
            false => format!("export fails on {name} (`not a valid identifier`)"),
        };
        let message = format!("{list} is only {text:?}: its value ends at the blank, and {effect}");
        let whole = joined(text, command.exports[at..].iter().map(String::as_str));
        let fix = format!("Write `export {list}={whole}` without the blank, or quote the value");
        return Some(Found::error(command.line, message, fix).unless_certain(command.certain));
    }
    let [.., (list, value)] = &command.sets[..] else { return None };
    let first = command.words.first().filter(|word| word.known && !word.quoted && !value.quoted)?;
    let same = value.text.chars().zip(first.text.chars()).take_while(|(one, other)| one == other).count();
    let digits =
        |text: &str| text.trim_end_matches(',').bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    let cut = value.text.ends_with(',') && value.text.len() > 1;
    let item = same > 2 || digits(&value.text) && digits(&first.text);
    let message = format!(
        "{list} is only {:?}: its value ends at the blank, and the shell runs {} as a program",
        value.text, first.text
    );
    let whole = joined(&value.text, command.words.iter().map(|word| word.text.as_str()));
    (cut && item).then(|| {
        Found::error(command.line, message, format!("Write `{list}={whole}`")).unless_certain(command.certain)
    })
}

/// A list with the words behind its blanks: `0, 1, 2 train` is `0,1,2`.
fn joined<'w>(list: &str, words: impl Iterator<Item = &'w str>) -> String {
    let mut whole = list.to_owned();
    for word in words {
        if !whole.is_empty() && !whole.ends_with([',', ':']) {
            break;
        }
        whole.push_str(word);
    }
    whole.trim_end_matches(',').to_owned()
}

/// `$NAME=value`.
fn with_dollar(command: &Command) -> Option<Found> {
    let first = command.words.first().filter(|word| !word.quoted && command.words.len() == 1)?;
    let (name, value) = first.text.strip_prefix('$')?.split_once('=')?;
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let message =
        format!("`${name}=` is replaced before it is read, so that nothing is assigned: `command not found`");
    (plain && !value.starts_with('=')).then(|| {
        Found::error(command.line, message, format!("Write `{name}={value}`")).unless_certain(command.certain)
    })
}

/// `NAME= "value"`: the value is taken for a program.
fn value_apart(command: &Command) -> Option<Found> {
    let [(name, value)] = &command.sets[..] else { return None };
    let word = command.words.first().filter(|_| command.words.len() == 1 && value.text.is_empty())?;
    let no_program = word.quoted && word.text.contains(['/', ' ', ':']) && !word.text.starts_with(['/', '.'])
        || word.text.parse::<f64>().is_ok();
    let message = format!(
        "a blank follows `{name}=`: it is set to nothing for a program {}, which does not exist",
        word.text
    );
    (no_program && word.known && !value.quoted).then(|| {
        Found::error(command.line, message, format!("Write `{name}=\"{}\"`", word.text))
            .unless_certain(command.certain)
    })
}

/// Brackets of a test that are no words of their own.
fn test(command: &Command) -> Option<Found> {
    let first = command.words.first().map_or("", |word| word.text.as_str());
    let last = command.words.last().map_or("", |word| word.text.as_str());
    if first.starts_with('[') && first.len() > 1 && first != "[[" && last == "]" {
        let message = format!("no space after `[`: the shell runs a program {first}");
        return Some(Found::error(command.line, message, "Write `[ `"));
    }
    let end = command.words.iter().position(|word| word.text == "]" && !word.quoted);
    let next = end.and_then(|at| command.words.get(at + 1)).map_or("", |word| word.text.as_str());
    if first == "[" && matches!(next, "then" | "do") {
        let message = format!("no `;` between `]` and `{next}`: `[` takes it for an argument, syntax error");
        return Some(Found::error(command.line, message, format!("Write `]; {next}`")));
    }
    let open = first == "[" && last.ends_with(']') && !matches!(last, "]" | "]]") && !last.contains('[');
    let message = "no space before `]`: `[` fails with `missing ]`";
    (open && command.words.len() > 2).then(|| Found::error(command.line, message, "Write ` ]`"))
}

/// The sign between the brackets of a test.
fn redirection(line: &str) -> Option<char> {
    let mut from = 0;
    while let Some(offset) = line[from..].find("[ ") {
        let at = from + offset;
        from = at + 2;
        let before = line[..at].trim_end();
        let starts = line[..at].ends_with([' ', '\t', ';', '(', '!']) || at == 0;
        let command = before.is_empty()
            || before.ends_with([';', '|', '&', '(', '!', '{'])
            || ["if", "elif", "while", "until", "then", "do", "else"]
                .iter()
                .any(|word| before.split_whitespace().next_back() == Some(word));
        // A test ends before the next one begins.
        let rest = line[from..].split("[ ").next().unwrap_or_default();
        let Some(end) = rest.find(" ]") else { continue };
        let inner = &rest[..end];
        if !starts || !command || inner.contains(['&', '|', ';']) {
            continue;
        }
        if let Some(sign) = ['>', '<']
            .into_iter()
            .find(|sign| inner.contains(&format!(" {sign} ")) || inner.contains(&format!(" {sign}")))
        {
            return Some(sign);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_joined() {
        assert_eq!(joined("0,", ["1,", "2", "train"].into_iter()), "0,1,2");
        assert_eq!(joined("", ["mlx5_0", "x"].into_iter()), "mlx5_0");
        assert_eq!(joined("a,", ["b,"].into_iter()), "a,b");
    }
}
