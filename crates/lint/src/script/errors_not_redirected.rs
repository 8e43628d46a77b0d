//! `2>&1` before the file: errors go elsewhere.

use crate::read::posix::masked;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "errors-not-redirected",
    severity: Severity::Warning,
    summary: "`2>&1` comes after the file to which the output goes",
    explain: include_str!("errors_not_redirected.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "torchrun --standalone --nproc_per_node=4 train.py 2>&1 > train.log\n"),
        named("run.sh", "nohup python train.py 2>&1 >> \"logs/$RUN.log\" &\n"),
        named("run.sh", "python train.py \\\n  2>&1 \\\n  1> train.log\n"),
    ],
    silent: &[
        named("run.sh", "python train.py > train.log 2>&1\npython train.py &> train.log\n"),
        named("run.sh", "python train.py 2>&1 | tee train.log\n"),
        named(
            "run.sh",
            "err=$(python train.py 2>&1 >/dev/null)\npython train.py 2>&1 >/dev/null | grep -i error\n",
        ),
        named("run.sh", "if pip show torch 2>&1 >/dev/null; then echo y; fi\n"),
        named("run.sh", "python train.py 3>&1 1>&2 2>&3\necho 'a 2>&1 > b'\n"),
        named("run.sh", "python train.py 2>&1 > out.log 2> err.log\n"),
        named("run.sh", "python a.py 2>&1; python b.py > b.log\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let bare = bare(script);
    let mask = masked(&bare);
    let found = mask.match_indices("2>&1").filter_map(|(at, sign)| {
        let before = mask[..at].chars().next_back();
        let behind = &mask[at + sign.len()..];
        let end = behind.find([';', '\n', '|', ')']).unwrap_or(behind.len());
        let stops = behind[end..].chars().next();
        let rest = behind[..end].split(" & ").next().unwrap_or_default().trim_end_matches('&').trim();
        let to = rest.strip_prefix('1').unwrap_or(rest).strip_prefix('>')?;
        let own = before.is_none_or(char::is_whitespace) && behind.starts_with(char::is_whitespace);
        let wanted = matches!(stops, Some('|' | ')'));
        // What is thrown away is no file.
        let discards = to.trim_start_matches('>').trim_start().starts_with("/dev/null");
        if !own
            || wanted
            || discards
            || to.starts_with('&')
            || rest.contains("2>")
            || rest.contains("&&") && to.trim().is_empty()
        {
            return None;
        }
        let line = bare[..at].matches('\n').count() + 1;
        let message =
            "`2>&1` before `>` sends errors to where the output went before: tracebacks are not in the file";
        Some(Found::warning(line, message, "Write `> FILE 2>&1`"))
    });
    found.collect()
}

/// The script with empty lines for its here-documents, as long as it is.
fn bare(script: &Script) -> String {
    let mut lines: Vec<&str> = script.text.lines().collect();
    for (line, _) in script.documents.iter().flat_map(|document| &document.lines) {
        if let Some(text) = lines.get_mut(line - 1) {
            *text = "";
        }
    }
    lines.join("\n")
}
