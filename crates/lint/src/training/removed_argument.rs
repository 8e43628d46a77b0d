//! A keyword that the pinned release of a library no longer takes.

use std::str::FromStr;

use pep440_rs::Version;

use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "removed-argument",
    severity: Severity::Error,
    summary: "calls have only arguments that the pinned release of the library takes",
    explain: include_str!("removed_argument.md"),
    judge: Judge::Training(judge),
    fires: &[
        named_with(
            "train.py",
            "from transformers import TrainingArguments\n\
             args = TrainingArguments(\n    output_dir=\"out\",\n    evaluation_strategy=\"epoch\",\n)\n",
            &[("requirements.txt", "torch==2.7.1\ntransformers==4.55.0\n")],
        ),
        named_with(
            "train.py",
            "import pytorch_lightning as pl\ntrainer = pl.Trainer(gpus=8)\n",
            &[("requirements.txt", "pytorch-lightning>=2.1\n")],
        ),
    ],
    silent: &[
        named_with(
            "train.py",
            "from transformers import TrainingArguments\nargs = TrainingArguments(\"out\", \
             evaluation_strategy=\"epoch\")\n",
            &[("requirements.txt", "transformers==4.44.0\n")],
        ),
        named_with(
            "train.py",
            "from transformers import TrainingArguments\nargs = TrainingArguments(\"out\", \
             evaluation_strategy=\"epoch\")\n",
            &[("requirements.txt", "transformers\n")],
        ),
        named_with(
            "train.py",
            "from mine import TrainingArguments\nargs = TrainingArguments(evaluation_strategy=\"epoch\")\n",
            &[("requirements.txt", "transformers==4.55.0\n")],
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let table = program.catalog.removed_arguments();
    let mut found = Vec::new();
    for call in &program.calls {
        let rows = table.all().iter().filter(|row| row.callables.contains(&call.name));
        for row in rows {
            let Ok(removed) = Version::from_str(&row.removed_in) else { continue };
            let given = call.arguments.iter().find(|one| one.name.as_deref() == Some(row.argument.as_str()));
            let Some((argument, place)) = given.zip(program.packages.at_least(&row.package, &removed)) else {
                continue;
            };
            let message = format!(
                "{} {} and newer take no {} ({place} requires such a release); `unexpected keyword argument`",
                row.package, row.removed_in, row.argument
            );
            found.push(Found::error(argument.line, message, &row.replacement).about(&row.argument));
        }
    }
    found
}
