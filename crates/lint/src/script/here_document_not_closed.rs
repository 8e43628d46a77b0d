//! A here-document whose end is indented.

use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "here-document-not-closed",
    severity: Severity::Error,
    summary: "here-documents end where they should",
    explain: include_str!("here_document_not_closed.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "if true; then\n  cat > hostfile <<EOF\nnode1 slots=8\n  EOF\n  deepspeed --hostfile hostfile \
             train.py\nfi\n",
        ),
        named("run.sh", "python - <<'PY'\nprint(1)\n PY\npython train.py\n"),
    ],
    silent: &[
        named("run.sh", "cat > hostfile <<EOF\nnode1 slots=8\nEOF\ndeepspeed train.py\n"),
        named("run.sh", "if true; then\n	cat > hostfile <<-EOF\n	node1 slots=8\n	EOF\nfi\n"),
        named("run.sh", "x=$((1 << N))\n  N\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let lines: Vec<&str> = script.text.lines().collect();
    let found = script.open_documents.iter().filter_map(|(line, word)| {
        let is_end = |text: &&&str| text.trim() == word && **text != word.as_str();
        let near = lines[*line..].iter().position(|text| is_end(&text))? + line + 1;
        let command = lines.get(line - 1)?;
        let tabs = command.contains("<<-");
        let how = if tabs { "only tabs may stand before it" } else { "nothing may stand before it" };
        let message = format!(
            "the here-document never ends: {word} in line {near} is indented, and {how}; everything below is \
             its text and does not run"
        );
        let arithmetic = command.contains("$((") || command.contains("((");
        // A text in quotes, which `eval` or another shell reads.
        let before = command.split("<<").next().unwrap_or_default().replace("\\\"", "");
        let quoted = before.matches('"').count() % 2 == 1 || before.matches('\'').count() % 2 == 1;
        (!arithmetic && !quoted)
            .then(|| Found::error(*line, message, format!("Put {word} at the start of line {near}")))
    });
    found.take(1).collect()
}
