//! A directory that is copied without the option for directories.

use std::collections::BTreeSet;

use crate::read::dockerfile::command::Command;
use crate::read::handed::all_commands;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "directory-not-copied",
    severity: Severity::Error,
    summary: "directories are copied recursively",
    explain: include_str!("directory_not_copied.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "cp checkpoints/ /mnt/nfs/run1\n"),
        named("run.sh", "scp -q node1:/scratch/run1/ results\n"),
        named("run.sh", "aws s3 cp s3://models/llama-3.1-8b/ /models/llama\n"),
        named("run.sh", "mkdir -p out/logs\npython train.py --out out\ncp -v out/logs /home/me/\n"),
        named("run.sh", "gsutil -m cp gs://b/model/ .\n"),
    ],
    silent: &[
        named("up.sh", "aws s3 cp a.json s3://b/src/ --output json\n"),
        named(
            "run.sh",
            "cp -r a/ b\ncp -a a/ b\ncp -Rp a/ b\ncp --recursive a/ b\nscp -rq a/ h:b\ncp a b/\n",
        ),
        named(
            "run.sh",
            "aws s3 cp s3://m/a/ b --recursive\naws s3 cp a.pt s3://m/a/\naws s3 sync s3://m/a/ b\n",
        ),
        named("run.sh", "rsync a/ b\ncp a/* b\ngsutil cp -r gs://b/m/ .\ncp \"${opts[@]}\" a/ b\n"),
        named("run.sh", "mkdir -p out\ncp out/a.pt b\ncp train.py out\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let commands = all_commands(script);
    let made: BTreeSet<&str> = commands
        .iter()
        .filter(|one| one.program() == "mkdir")
        .flat_map(|one| one.words.iter().skip(1).map(|word| word.text.as_str()))
        .filter(|path| !path.starts_with('-'))
        .collect();
    commands.iter().filter_map(|one| fault(one, &made)).collect()
}

fn fault(command: &Command, made: &BTreeSet<&str>) -> Option<Found> {
    let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let (sources, answer, option) = match command.program() {
        "cp" | "scp" => {
            let letters = "rRa";
            let recursive = |text: &&str| {
                matches!(*text, "--recursive" | "--archive")
                    || text.starts_with('-')
                        && !text.starts_with("--")
                        && text.contains(|letter: char| letters.contains(letter))
            };
            if texts.iter().skip(1).any(recursive) {
                return None;
            }
            let answer = match command.program() {
                "cp" => "cp: omitting directory",
                _ => "not a regular file",
            };
            (arguments(&texts[1..]), answer, "-r")
        }
        "aws" if texts.get(1..3) == Some(&["s3", "cp"]) => {
            let paths = paths_of_aws(&texts[3..])?;
            let on_s3 = paths.first().is_some_and(|path| path.starts_with("s3://"));
            (paths, if on_s3 { "the object does not exist" } else { "Is a directory" }, "--recursive")
        }
        "gsutil" => {
            let at = texts.iter().position(|text| *text == "cp")?;
            (arguments(&texts[at + 1..]), "CommandException: No URLs matched", "-r")
        }
        _ => return None,
    };
    let given = ["-r", "-R", "--recursive"].iter().any(|one| texts.contains(one));
    let options = texts.iter().any(|text| text.starts_with('$') && text.contains("[@]"));
    let (_, sources) = sources.split_last()?;
    let folder = sources.iter().find(|path| {
        let named = path.len() > 1 && path.ends_with('/') && !path.contains('*');
        named || made.contains(path.trim_end_matches('/'))
    })?;
    let message = format!("{folder} is a directory, and {} has no {option}: `{answer}`", command.program());
    let fix = format!("Add {option}");
    (!given && !options).then(|| Found::error(command.line, message, fix))
}

/// Source and target of `aws s3 cp`; more words are the value of an option that is not known here.
fn paths_of_aws<'t>(texts: &[&'t str]) -> Option<Vec<&'t str>> {
    Some(arguments(texts)).filter(|paths| paths.len() == 2)
}

/// The words that are no options.
fn arguments<'t>(texts: &[&'t str]) -> Vec<&'t str> {
    const VALUED: &[&str] = &[
        "-P",
        "-i",
        "-o",
        "-F",
        "-J",
        "-l",
        "-c",
        "--profile",
        "--region",
        "--output",
        "--query",
        "--endpoint-url",
        "--exclude",
        "--include",
        "--acl",
        "--storage-class",
        "--sse",
        "-t",
    ];
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(text) = texts.get(at) {
        if text.starts_with('-') {
            at += if VALUED.contains(text) { 2 } else { 1 };
            continue;
        }
        found.push(*text);
        at += 1;
    }
    found
}
