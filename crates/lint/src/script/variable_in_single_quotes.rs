//! A variable that single quotes keep from being replaced.

use crate::read::dockerfile::command::Command;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "variable-in-single-quotes",
    severity: Severity::Error,
    summary: "variables in the data of curl are replaced",
    explain: include_str!("variable_in_single_quotes.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "MODEL=a/b\ncurl http://localhost:8000/v1/completions -d '{\"model\": \"$MODEL\", \"prompt\": \
             \"hi\"}'\n",
        ),
        named(
            "run.sh",
            "export TOKEN=$(cat token)\ncurl -H 'Authorization: Bearer $TOKEN' https://x.example\n",
        ),
    ],
    silent: &[
        named(
            "run.sh",
            "MODEL=a/b\ncurl http://localhost:8000/v1/completions -d '{\"model\": \"'\"$MODEL\"'\"}'\n",
        ),
        named("run.sh", "curl -d '{\"price\": \"$5\"}' http://x.example\n"),
        named("run.sh", "MODEL=a/b\ncurl -d \"{\\\"model\\\": \\\"$MODEL\\\"}\" http://x.example\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let curls = script.commands.iter().filter(|one| one.program() == "curl");
    curls.filter_map(|curl| fault(script, curl)).collect()
}

fn fault(script: &Script, curl: &Command) -> Option<Found> {
    const OPTIONS: &[&str] =
        &["-d", "-H", "--data", "--data-raw", "--data-binary", "--json", "--header", "-u"];
    let words = curl.words.windows(2).filter(|pair| OPTIONS.contains(&pair[0].text.as_str()));
    words.map(|pair| &pair[1]).filter(|word| word.known && word.quoted).find_map(|word| {
        let names = crate::read::script::used(&word.text);
        let sets = script.commands.iter().flat_map(|one| &one.sets);
        let name = sets.map(|(name, _)| name).find(|name| names.contains(*name))?;
        // `\\$NAME` in double quotes is known too, and meant.
        let raw = script.text.lines().nth(word.line - 1).is_some_and(|line| line.contains("\\$"));
        let message =
            format!("single quotes keep ${name} from being replaced; the server gets the text `${name}`");
        let fix = format!("End the quotes around it: `'…'\"${name}\"'…'`");
        (!raw).then(|| Found::error(word.line.max(curl.line), message, fix))
    })
}
