//! A destination that is mirrored from a new and empty directory.

use crate::programs;
use crate::read::dockerfile::command::Command;
use crate::read::script::{Script, in_functions};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "mirrored-from-empty",
    severity: Severity::Error,
    summary: "nothing is mirrored with deletion from a directory that the script has just created",
    explain: include_str!("mirrored_from_empty.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sh",
            "LOCAL=$(mktemp -d /nvme/ckpt.XXXXXX)\npush() { rsync -a \"$LOCAL/\" \"$REMOTE/\"; }\nmkdir -p \
             \"$REMOTE\"\nrsync -a --delete \"$LOCAL/\" \"$REMOTE/\"\ntorchrun train.py --out \"$LOCAL\"\n",
        ),
        named(
            "job.sh",
            "rm -rf /scratch/$RUN\nmkdir -p /scratch/$RUN\naws s3 sync /scratch/$RUN s3://ckpt/$RUN \
             --delete\n",
        ),
        named("job.sh", "D=$(mktemp -d)\nexport D\ncd /tmp\nrclone sync \"$D\" remote:ckpt\n"),
        named(
            "job.sh",
            "SHARED=/lustre/ckpt\nLOCAL=/scratch/$USER/ckpt\nmkdir -p \"$SHARED\" \"$LOCAL\"\nrsync -a \
             --delete \"$LOCAL/\" \"$SHARED/\"\nsave() {\n  rsync -a \"$LOCAL/\" \"$SHARED/\"\n}\ntrap save \
             EXIT\ntorchrun --standalone train.py --checkpoint-dir \"$LOCAL\" --resume latest\n",
        ),
        named(
            "job.sh",
            "mkdir -p $SLURM_TMPDIR/out\naws s3 sync $SLURM_TMPDIR/out s3://runs/7 --delete\nsrun python \
             train.py --output_dir=$SLURM_TMPDIR/out --resume_from_checkpoint auto\naws s3 sync \
             $SLURM_TMPDIR/out s3://runs/7\n",
        ),
    ],
    silent: &[
        named(
            "job.sh",
            "SHARED=/lustre/ckpt\nLOCAL=/scratch/$USER/ckpt\nmkdir -p \"$SHARED\" \"$LOCAL\"\nrsync -a \
             --delete \"$SHARED/\" \"$LOCAL/\"\nsave() {\n  rsync -a \"$LOCAL/\" \"$SHARED/\"\n}\ntrap save \
             EXIT\ntorchrun --standalone train.py --checkpoint-dir \"$LOCAL\" --resume latest\n",
        ),
        named(
            "job.sh",
            "mkdir -p /scratch/data\ntar -xf data.tar -C /scratch/data\nrsync -a --delete /scratch/data/ \
             /nfs/data/\ntorchrun --standalone train.py --out /scratch/data --resume\nrsync -a \
             /scratch/data/ /nfs/data/\n",
        ),
        named("job.sh", "D=$(mktemp -d)\nrsync -a --delete \"$REMOTE/\" \"$D/\"\n"),
        named("job.sh", "D=$(mktemp -d)\npython train.py --out $D\nrsync -a --delete \"$D/\" \"$REMOTE/\"\n"),
        named("job.sh", "D=$(mktemp -d)\ncd $D\ngit clone https://x/y .\nrsync -a --delete $D/ /srv/y\n"),
        named("job.sh", "mkdir -p out\n./train.sh\nrsync -a --delete out/ store/\n"),
        named("job.sh", "D=$(mktemp -d)\nrsync -a \"$D/\" \"$REMOTE/\"\n"),
        named("job.sh", "mkdir -p \"$REMOTE\"\nrsync -a --delete \"$REMOTE/\" \"$LOCAL/\"\n"),
    ],
};

/// Commands that put nothing into a directory.
const HARMLESS: &[&str] =
    &["mkdir", "echo", "printf", "export", "trap", "chmod", "df", "ls", "date", "set", "sleep", "pwd", "cd"];

fn judge(script: &Script) -> Vec<Found> {
    let in_function = in_functions(&script.text);
    let commands: Vec<&Command> = script.commands.iter().filter(|one| !in_function(one.line)).collect();
    let mut found = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        let Some((source, program)) = mirrored(command) else { continue };
        let folder = source.trim_end_matches(['/', '.']).trim_end_matches('/');
        let made = (0..at).rev().find(|index| makes(&commands[..*index], commands[*index], folder));
        let Some(made) = made else { continue };
        let between = &commands[made + 1..at];
        let harmless = between.iter().all(|one| {
            let own = one.words.is_empty() && one.sets.iter().all(|(_, word)| !word.text.contains("$("));
            own || HARMLESS.contains(&one.program())
        });
        // A relative path may be filled by whatever runs in the working directory.
        let entered = between.iter().any(|one| one.program() == "cd" && one.word(1) == folder);
        if !harmless || entered {
            continue;
        }
        let message = format!(
            "{folder} is new and empty here (line {}): {program} removes everything from the destination",
            commands[made].line
        );
        found.push(Found::error(
            command.line,
            message,
            "Swap source and destination, or fill the directory first",
        ));
    }
    if found.is_empty() {
        found.extend(restored_backwards(script, &commands));
    }
    found
}

/// A restore before the job in the direction of the save after it: from the directory that the job fills.
fn restored_backwards(script: &Script, commands: &[&Command]) -> Option<Found> {
    let job = commands.iter().position(|one| programs::is_job(one))?;
    let (before, mirror, source, program) = commands[..job].iter().enumerate().find_map(|(at, one)| {
        mirrored(one)
            .filter(|_| one.certain)
            .map(|(source, program)| (&commands[..at], *one, source, program))
    })?;
    let target = copied(mirror)?.1;
    let folder = bare(source);
    // It may have been filled before.
    let names = |one: &&&Command| one.words.iter().any(|word| bare(&word.text).starts_with(folder));
    if before.iter().filter(names).any(|one| !HARMLESS.contains(&one.program())) {
        return None;
    }
    let others = || script.commands.iter().filter(|one| one.line != mirror.line).filter_map(copied);
    let saved = others().any(|(from, to)| bare(from) == folder && bare(to) == bare(target));
    let restored = others().any(|(from, _)| bare(from) == bare(target));
    let words: Vec<&str> = commands[job].words.iter().map(|word| word.text.as_str()).collect();
    let writes =
        words.iter().any(|word| bare(word.split_once('=').map_or(word, |(_, value)| value)) == folder);
    if !saved || restored || !writes {
        return None;
    }
    let resumes = words.iter().any(|word| word.starts_with("--") && word.contains("resume"));
    let local = is_local(commands, folder);
    if !resumes && !local {
        return None;
    }
    let target = bare(target);
    let message = format!(
        "{program} copies {folder} to {target} before the job, in the same direction as the save after it; \
         nothing is restored, and if {folder} is empty, everything in {target} is deleted"
    );
    let fix = "Swap source and destination to restore";
    Some(Found::error(mirror.line, message, fix).unless_certain(resumes && local))
}

/// A path without the slash behind it.
fn bare(path: &str) -> &str {
    path.trim_end_matches("/.").trim_end_matches('/')
}

/// Whether a directory is one of the machine itself, which another job does not see.
fn is_local(commands: &[&Command], folder: &str) -> bool {
    let name = folder.trim_start_matches("${").trim_start_matches('$').trim_end_matches('}');
    let value = commands.iter().flat_map(|one| &one.sets).find(|(own, _)| own == name);
    let path = value.map_or(folder, |(_, word)| word.text.as_str());
    let places = ["/tmp", "/scratch", "/local", "/nvme", "/mnt/nvme", "$TMPDIR", "${TMPDIR", "$SLURM_TMPDIR"];
    places.iter().any(|place| path.starts_with(place))
}

/// The source and the destination of a copy of a directory.
fn copied(command: &Command) -> Option<(&str, &str)> {
    let first = match command.program() {
        "rsync" | "cp" => 1,
        "aws" if command.word(1) == "s3" && matches!(command.word(2), "sync" | "cp") => 3,
        "rclone" if matches!(command.word(1), "sync" | "copy") => 2,
        _ => return None,
    };
    let rest = command.words.get(first..)?.iter().map(|word| word.text.as_str());
    let paths: Vec<&str> = rest.filter(|word| !word.starts_with('-')).collect();
    let [from, to] = paths[..] else { return None };
    (!command.has("--dry-run") && !command.has("-n")).then_some((from, to))
}

/// The source of a command that removes what its source does not have.
fn mirrored(command: &Command) -> Option<(&str, &'static str)> {
    let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let plain = |from: usize| texts.iter().skip(from).copied().find(|text| !text.starts_with('-'));
    let has = |options: &[&str]| texts.iter().any(|text| options.contains(text));
    match command.program() {
        "rsync" => {
            let deletes = texts.iter().any(|text| text.starts_with("--delete"));
            let paths: Vec<&str> = texts[1..].iter().copied().filter(|text| !text.starts_with('-')).collect();
            (deletes && paths.len() == 2).then(|| (paths[0], "rsync --delete"))
        }
        "aws" if texts.get(1..3) == Some(&["s3", "sync"]) => {
            plain(3).filter(|_| has(&["--delete"])).map(|source| (source, "aws s3 sync --delete"))
        }
        "rclone" if texts.get(1) == Some(&"sync") => plain(2).map(|source| (source, "rclone sync")),
        "mc" if texts.get(1) == Some(&"mirror") => {
            plain(2).filter(|_| has(&["--remove"])).map(|source| (source, "mc mirror --remove"))
        }
        _ => None,
    }
}

/// Whether a command creates an empty directory. `mkdir -p` leaves an existing one as it is.
fn makes(before: &[&Command], command: &Command, folder: &str) -> bool {
    let name = folder.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let name = name.or_else(|| folder.strip_prefix('$'));
    let temporary = command.sets.iter().any(|(own, value)| {
        Some(own.as_str()) == name && value.text.starts_with("$(mktemp") && value.text.contains("-d")
    });
    let names = |one: &Command| one.words.iter().any(|word| word.text.trim_end_matches('/') == folder);
    let keeps = command.has("-p") || command.has("--parents");
    let removed = || before.iter().any(|one| one.program() == "rm" && names(one));
    temporary || command.program() == "mkdir" && names(command) && (!keeps || removed())
}
