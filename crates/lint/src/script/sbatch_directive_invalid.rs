//! Options and values in #SBATCH lines that sbatch refuses or reads differently.

use std::collections::BTreeSet;

use crate::read::sbatch::{Batch, BatchOption};
use crate::read::sbatch_counts::{is_count, is_unreadable};
use crate::read::script::Script;
use crate::rule::{Change, Found, Judge, Rule, Severity, named};
use crate::schema::is_placeholder;
use catalog::Table;
use catalog::sbatch_options::SbatchOption;

pub(crate) const RULE: Rule = Rule {
    id: "sbatch-directive-invalid",
    severity: Severity::Error,
    summary: "#SBATCH lines have options and values that sbatch knows",
    explain: include_str!("sbatch_directive_invalid.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gpu-per-node=4\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --output=$SCRATCH/logs/%j.out\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --time=2d\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --time=48\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --time=24:00\nsrun python t.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --time=60:00\n# one full run is about 55 hours\nsrun python t.py\n",
        ),
        named("job.sbatch", "#!/bin/bash\n#SBATCH -t 30:00  # training takes 20h\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --mem=64\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --mem=64GiB\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --gres=gpu:\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --ntasks=four\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --mail-type=FINISH\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --nodes 2 gpus=4\nsrun python t.py\n"),
    ],
    silent: &[
        named("job.sbatch", "#!/bin/bash\n#SBATCH <SLURM OPTIONS> --nodes=2\nsrun python t.py\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH --image=docker:a/b:1 --module=gpu\nsrun shifter a\n"),
        named("job.sbatch", "#!/bin/bash\n#SBATCH -t {TIME}\nsrun python t.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --time=3600\n# one full run is about 55 hours; --time is in minutes\nsrun \
             a\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --time=30:00\n# trains on 8 hours of audio, on 4 hosts\nsrun a\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=1 --gres=gpu=4 --gpus-per-task=h100 --time=1-\nsrun python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N2-4 -t 2-0 --gres=gpu:a100:8,tmpfs:10G\n#SBATCH \
                --time=04:00:00 \
             --mem-per-cpu=2000 --output=%x-%j.out --mail-type=END,FAIL\n#SBATCH --gpus=h100:8 \
             --container-image=x\nsrun \
             python t.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --time=90 --array=0-9%2 --signal=B:TERM@60 --exclusive\nsrun a\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text) else { return Vec::new() };
    let hours = Hours { written: numbers_of_hours(&script.text), of_run: hours_of_run(&script.text) };
    let mut found: Vec<Found> = batch.options.iter().flat_map(|one| of_option(script, one, &hours)).collect();
    found.extend(stray_words(script, &batch));
    found
}

fn of_option(script: &Script, option: &BatchOption, hours: &Hours) -> Vec<Found> {
    if option.name.is_empty() {
        return unknown(script.catalog.sbatch_options(), option).into_iter().collect();
    }
    let Some(value) = option.value.as_deref() else { return Vec::new() };
    if value.contains("$(") || value.contains("${") || names_variable(value) {
        let message =
            format!("{} {value}: sbatch does not expand variables in #SBATCH lines", option.written);
        let fix = "Write the value itself, use %j and %x, or pass the option on the command line";
        let change = pattern(option, value).map(|new| Change::word(option.line, value, &new));
        return vec![Found::error(option.line, message, fix).change_if(change)];
    }
    if matches!(option.name, "output" | "error" | "chdir") && value.starts_with('~') {
        let message = format!("{} {value}: sbatch does not expand ~", option.written);
        return vec![Found::error(option.line, message, "Write the whole path")];
    }
    let found = match option.name {
        "time" | "time-min" => time(option, value, hours),
        "mem" | "mem-per-cpu" | "mem-per-gpu" => memory(option, value),
        "gres" => gres(option, value),
        "gpus" | "gpus-per-node" | "gpus-per-task" | "gpus-per-socket" => gpus(option, value),
        "ntasks" | "ntasks-per-node" | "cpus-per-task" | "cpus-per-gpu" | "ntasks-per-gpu" => {
            number(option, value)
        }
        "nodes" => nodes(option, value),
        "mail-type" => mail(option, value),
        _ => None,
    };
    found.into_iter().collect()
}

/// A file name with sbatch's own patterns in place of variables, where there is one for each.
fn pattern(option: &BatchOption, value: &str) -> Option<String> {
    const PATTERNS: &[(&str, &str)] = &[
        ("SLURM_ARRAY_TASK_ID", "%a"),
        ("SLURM_JOB_NAME", "%x"),
        ("SLURM_JOB_ID", "%j"),
        ("SLURM_JOBID", "%j"),
    ];
    let mut new = value.to_owned();
    for (name, pattern) in PATTERNS {
        new = new.replace(&format!("${{{name}}}"), pattern).replace(&format!("${name}"), pattern);
    }
    (matches!(option.name, "output" | "error") && !new.contains('$')).then_some(new)
}

fn names_variable(value: &str) -> bool {
    value
        .match_indices('$')
        .any(|(at, _)| value[at + 1..].starts_with(|next: char| next.is_ascii_alphabetic() || next == '_'))
}

fn unknown(known: &Table<SbatchOption>, option: &BatchOption) -> Option<Found> {
    let Some(typed) = option.written.strip_prefix("--") else {
        let message = format!("{} is not an sbatch option; sbatch refuses the script", option.written);
        return Some(Found::error(option.line, message, "Use the long name of the option"));
    };
    let several: Vec<&str> = known.names().filter(|name| name.starts_with(typed)).collect();
    if several.len() > 1 && !typed.is_empty() {
        let message = format!("--{typed} is ambiguous: {}; sbatch refuses the script", several.join(", "));
        return Some(Found::error(option.line, message, "Write the whole name"));
    }
    // Options of plugins: pyxis.
    if typed.starts_with("container-") || typed.starts_with("no-container-") {
        return None;
    }
    let plain = typed.replace('_', "-");
    let near = diagnostic::suggest::typo_of(&plain, known.names());
    let message = format!("--{typed} is not an sbatch option");
    Some(match near {
        Some(near) => Found::error(
            option.line,
            format!("{message}; it refuses the script"),
            format!("Write `--{near}`"),
        )
        .change(Change::word(option.line, &option.written, &format!("--{near}"))),
        None => Found::warning(option.line, format!("{message}, unless a plugin of the cluster adds it"), ""),
    })
}

fn error(option: &BatchOption, value: &str, fix: &str) -> Option<Found> {
    let message = format!("invalid value {value:?} of {}; sbatch refuses the script", option.written);
    (!is_placeholder(value)).then(|| Found::error(option.line, message, fix))
}

/// Hours that people write as a bare number: whole days and halves.
const HOURS: &[u64] = &[24, 36, 48, 72, 96, 120, 144, 168];

/// The numbers in a text that are followed by a word for hours.
fn numbers_of_hours(text: &str) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let number = &rest[start..];
        let end = number.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        if ["h", " h", "-hour"].iter().any(|unit| after.starts_with(unit)) {
            found.extend(number.parse::<u64>().ok());
        }
        rest = after;
    }
    found
}

/// What a script says of hours.
struct Hours {
    written: BTreeSet<u64>,
    /// How long the run takes, by its comments.
    of_run: Option<u64>,
}

/// The hours that a run takes by a comment: `# one full run is about 55 hours`.
fn hours_of_run(text: &str) -> Option<u64> {
    const RUNS: &[&str] =
        &["run is", "run takes", "run needs", "runs", "takes", "needs", "job is", "finishes", "lasts"];
    text.lines().find_map(|line| {
        let (_, comment) = line.trim_start().strip_prefix("#SBATCH").unwrap_or(line).split_once('#')?;
        let lower = comment.to_ascii_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let is_unit = |word: &str| matches!(word, "h" | "hour" | "hours" | "hr" | "hrs");
        let found = words.iter().enumerate().find_map(|(at, word)| {
            let next = words.get(at + 1).is_some_and(|next| is_unit(next));
            let of = words.get(at + 2).is_some_and(|next| *next == "of");
            let number = word.strip_suffix('h').unwrap_or(word);
            let fits = (next && !of) || number.len() < word.len();
            number.parse::<u64>().ok().filter(|_| fits)
        });
        found.filter(|_| RUNS.iter().any(|word| lower.contains(word)))
    })
}

fn time(option: &BatchOption, value: &str, hours: &Hours) -> Option<Found> {
    let special = ["-1", "INFINITE", "UNLIMITED"].iter().any(|one| one.eq_ignore_ascii_case(value));
    let (days, clock) = value.split_once('-').unwrap_or(("", value));
    let parts: Vec<&str> = clock.split(':').collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let fits = parts.iter().all(&digits) && parts.len() <= 3;
    // Days alone may end in a dash: src/common/parse_time.c.
    let fits = match value.contains('-') {
        true => digits(&days) && (fits || clock.is_empty()),
        false => fits,
    };
    if !fits && !special {
        return error(option, value, "Write HH:MM:SS, D-HH:MM:SS, or minutes");
    }
    let first = parts.first().and_then(|part| part.parse::<u64>().ok())?;
    let minutes_and_seconds =
        days.is_empty() && parts.len() == 2 && parts[1].trim_start_matches('0').is_empty();
    let bare = days.is_empty() && parts.len() == 1 && !value.contains('-');
    if let Some(needs) = hours
        .of_run
        .filter(|needs| minutes_and_seconds && option.name == "time" && first >= *needs && needs * 60 > first)
    {
        let message = format!(
            "{} {value} is {first} minutes (minutes:seconds), but a comment says that the run takes {needs} \
             hours",
            option.written
        );
        return Some(Found::warning(option.line, message, format!("Write `{first}:00:00` for hours")));
    }
    let likely = HOURS.contains(&first) || (first > 1 && hours.written.contains(&first));
    if !likely || !(bare || minutes_and_seconds) {
        return None;
    }
    let message =
        format!("{} {value} is {first} minutes: a number without hours is in minutes", option.written);
    Some(Found::warning(option.line, message, format!("Write `{first}:00:00` for hours")))
}

fn memory(option: &BatchOption, value: &str) -> Option<Found> {
    let digits = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = value[digits.len()..].to_ascii_uppercase();
    let known = ["", "K", "M", "G", "T", "KB", "MB", "GB", "TB"].contains(&unit.as_str());
    let Some(number) = digits.parse::<u64>().ok().filter(|_| known) else {
        // A gibibyte is what Slurm calls G.
        let letter = unit.strip_suffix("IB").filter(|_| digits.parse::<u64>().is_ok());
        let change = letter.map(|unit| Change::word(option.line, value, &format!("{digits}{unit}")));
        let found = error(option, value, "Write a whole number with K, M, G or T: 64G")?;
        return Some(found.change_if(change));
    };
    let message = format!("{} {value} is {number} MB: the default unit is megabytes", option.written);
    (unit.is_empty() && number > 0 && number < 1024)
        .then(|| Found::warning(option.line, message, format!("Write `{number}G` for gigabytes")))
}

fn gres(option: &BatchOption, value: &str) -> Option<Found> {
    let names =
        || value.split(',').map(|one| one.split('(').next().unwrap_or(one)).filter(|one| !one.is_empty());
    if names().any(is_unreadable) {
        return error(option, value, "Write `gpu:4`, or `gpu:TYPE:4`");
    }
    let number = names().find(|one| is_count(one))?;
    let message = format!("{} {value}: {number} is a number without the name of a resource", option.written);
    Some(Found::warning(option.line, message, format!("Write `gpu:{number}`")))
}

/// Slurm puts the name gpu before the value itself: xfmt_tres in src/common/proc_args.c.
fn gpus(option: &BatchOption, value: &str) -> Option<Found> {
    let types = || value.split(',').filter(|one| !one.is_empty());
    if types().any(|one| is_unreadable(&format!("gpu:{one}"))) {
        return error(option, value, "Write a number, or `TYPE:NUMBER`");
    }
    let rest = types().find_map(|one| one.strip_prefix("gpu:"))?;
    let message = format!("{} {value}: gpu is read as a type of GPU", option.written);
    Some(Found::warning(option.line, message, format!("Write `{rest}`")))
}

fn number(option: &BatchOption, value: &str) -> Option<Found> {
    let fits = value.parse::<u64>().is_ok();
    if fits { None } else { error(option, value, "Write a whole number") }
}

fn nodes(option: &BatchOption, value: &str) -> Option<Found> {
    let part = |one: &str| {
        let range = one.split_once(':').map_or(one, |(range, _)| range);
        range.split('-').all(is_count)
    };
    if value.split(',').all(part) {
        None
    } else {
        error(option, value, "Write a number of nodes, or a range: 2-4")
    }
}

/// Events of --mail-type. sbatch skips other words, and refuses a list with none of these:
/// parse_mail_type in src/common/proc_args.c.
const EVENTS: &[&str] = &[
    "NONE",
    "BEGIN",
    "END",
    "FAIL",
    "REQUEUE",
    "ALL",
    "INVALID_DEPEND",
    "STAGE_OUT",
    "TIME_LIMIT",
    "TIME_LIMIT_90",
    "TIME_LIMIT_80",
    "TIME_LIMIT_50",
    "ARRAY_TASKS",
];

fn mail(option: &BatchOption, value: &str) -> Option<Found> {
    let known = |one: &str| EVENTS.iter().any(|event| event.eq_ignore_ascii_case(one.trim()));
    let words = || value.split(',').filter(|one| !one.is_empty());
    let fix = "Write NONE, BEGIN, END, FAIL or ALL";
    if !words().any(known) {
        return error(option, value, fix);
    }
    let unknown = words().find(|one| !known(one))?;
    let message = format!("{} {value}: sbatch ignores {unknown}, which is not an event", option.written);
    Some(Found::warning(option.line, message, fix))
}

/// Words that belong to no option: sbatch stops reading options there.
fn stray_words(script: &Script, batch: &Batch) -> Vec<Found> {
    let source = &script.text;
    let last = batch.first_command.unwrap_or(usize::MAX);
    let lines = source.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(|(line, _)| *line < last);
    let directives = lines.filter_map(|(line, text)| Some((line, text.strip_prefix("#SBATCH")?.trim())));
    let stray = |(line, text): (usize, &str)| {
        let first = text.split_whitespace().next().filter(|word| !word.starts_with(['-', '#', '<', '{']))?;
        let own = matches!(first, "hetjob" | "packjob");
        let message = format!("#SBATCH {first}: an option begins with - or --; sbatch ignores the line");
        (!own).then(|| Found::error(line, message, format!("Write `#SBATCH --{first}`")))
    };
    let texts: Vec<&str> = source.lines().collect();
    let known: BTreeSet<&str> = script.catalog.sbatch_options().names().collect();
    let behind = |options: &[BatchOption]| {
        let line = options.first()?.line;
        let word = texts.get(line - 1)?.split_whitespace().skip(1).find(|word| {
            let name = word.split('=').next().unwrap_or_default();
            word.contains('=') && !word.starts_with(['-', '#', '"', '\'']) && known.contains(name)
        })?;
        let used = options.iter().any(|option| option.value.as_deref() == Some(word));
        let message = format!("{word}: an option begins with --; sbatch ignores the rest of the line");
        (!used).then(|| Found::error(line, message, format!("Write `--{word}`")))
    };
    let mut found: Vec<Found> = directives.filter_map(stray).collect();
    found.extend(batch.options.chunk_by(|one, next| one.line == next.line).filter_map(behind));
    found.dedup();
    found
}
