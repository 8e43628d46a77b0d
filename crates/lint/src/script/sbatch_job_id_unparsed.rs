//! The message of sbatch in place of the job id that a dependency needs.

use std::collections::BTreeMap;

use crate::read::assigned::{self, Assigned};
use crate::read::script::{Script, functions};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sbatch-job-id-unparsed",
    severity: Severity::Error,
    summary: "dependencies of jobs have the job id, not the message of sbatch",
    explain: include_str!("sbatch_job_id_unparsed.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("submit.sh", "jid=$(sbatch prep.sbatch)\nsbatch --dependency=afterok:$jid train.sbatch\n"),
        named(
            "submit.sh",
            "JOB1=`sbatch --export=ALL,A=1 prep.sbatch`\nsbatch -d \"afterany:${JOB1}\" train.sbatch\n",
        ),
        named("submit.sh", "sbatch --dependency=afterok:$(sbatch a.sbatch) b.sbatch\n"),
        named(
            "submit.sh",
            "a=$(sbatch --parsable a.sbatch)\nb=\"$(sbatch b.sbatch)\"\nDEP=afterok:$a:$b\nsbatch \
             --dependency=$DEP c.sbatch\n",
        ),
    ],
    silent: &[
        named(
            "submit.sh",
            "jid=$(sbatch --parsable prep.sbatch)\nsbatch --dependency=afterok:$jid train.sbatch\n",
        ),
        named(
            "submit.sh",
            "jid=$(sbatch prep.sbatch | awk '{print $4}')\nsbatch --dependency=afterok:$jid t.sbatch\n",
        ),
        named(
            "submit.sh",
            "jid=$(sbatch prep.sbatch)\njid=${jid##* }\nsbatch --dependency=afterok:$jid t.sbatch\n",
        ),
        named(
            "submit.sh",
            "out=$(sbatch prep.sbatch)\necho \"$out\"\nsbatch --dependency=afterok:${out##* } t.sbatch\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    // The program of that name may be another one.
    let own =
        functions(&script.text).iter().any(|one| one.name == "sbatch") || script.text.contains("alias ");
    if own || script.text.contains("PARSABLE") {
        return Vec::new();
    }
    let sets = assigned::of_script(script);
    let messages = messages(&sets);
    let found = script.text.lines().enumerate().filter_map(|(index, line)| {
        let code = line.trim_start();
        if code.starts_with('#') {
            return None;
        }
        let message = |what: &str| {
            format!(
                "{what} is the message `Submitted batch job 123`, not the job id; sbatch refuses the \
                 dependency"
            )
        };
        if let Some(inner) = substituted(code).filter(|inner| prints_message(inner)) {
            let fix = "Write `$(sbatch --parsable …)`";
            return Some(Found::error(index + 1, message(&format!("the output of `{inner}`")), fix));
        }
        let set = messages.iter().find(|one| names_it(code, &one.name))?;
        let text = format!("{} (line {})", message(&set.name), set.line);
        let text = text.replacen(&set.name, &format!("${}", set.name), 1);
        Some(Found::error(set.line, text, "Write `sbatch --parsable`, which prints only the job id"))
    });
    let mut found: Vec<Found> = found.collect();
    found.sort_by_key(|one| one.line);
    found.dedup_by_key(|one| one.line);
    found
}

/// Variables that are the output of sbatch and nothing else, wherever they are set.
fn messages(sets: &[Assigned]) -> Vec<&Assigned> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    sets.iter().for_each(|one| *places.entry(&one.name).or_default() += 1);
    let is_message = |set: &&Assigned| {
        let value = set.value.as_deref().unwrap_or_default();
        let inner = value.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
        let inner = inner.or_else(|| value.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')));
        places[set.name.as_str()] == 1 && inner.is_some_and(prints_message)
    };
    sets.iter().filter(is_message).collect()
}

/// Whether a command is sbatch, which prints a sentence unless an option changes that.
fn prints_message(command: &str) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    let changed = command.contains(['|', ';', '&', '`', '\n']) && !command.contains("2>&1");
    let other = ["--parsable", "--quiet", "-Q", "--test-only", "--help", "--version", "--wrap"];
    let other_output =
        words.iter().any(|word| other.iter().any(|one| word.starts_with(one) && *one != "--wrap"));
    words.first() == Some(&"sbatch") && !changed && !other_output
}

/// The command behind `afterok:$(`.
fn substituted(line: &str) -> Option<&str> {
    let at = line.find(":$(sbatch ")?;
    let before = line[..at].trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let kind = &line[before.len()..at];
    let inner = &line[at + 3..];
    let end = inner.find(')')?;
    kind.starts_with("after").then_some(&inner[..end])
}

/// Whether a dependency has the value of a variable in it: `afterok:$A`, `afterany:$A:${B}`.
fn names_it(line: &str, name: &str) -> bool {
    line.match_indices("after").any(|(at, _)| {
        let rest = &line[at..];
        let end = rest.find(|letter: char| letter.is_whitespace() || "\"',;)".contains(letter));
        let part = &rest[..end.unwrap_or(rest.len())];
        let Some((kind, ids)) = part.split_once(':') else { return false };
        let known = matches!(kind, "after" | "afterok" | "afterany" | "afternotok" | "aftercorr");
        known && ids.split(':').any(|id| id == format!("${name}") || id == format!("${{{name}}}"))
    })
}
