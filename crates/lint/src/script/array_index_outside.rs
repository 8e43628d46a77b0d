//! Tasks of a job array for which a list has no entry.

use crate::read::assigned;
use crate::read::quotes::split;
use crate::read::sbatch::Batch;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "array-index-outside",
    severity: Severity::Error,
    summary: "lists have an entry for every task of a job array",
    explain: include_str!("array_index_outside.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=1-3\nLRS=(1e-3 1e-4 1e-5)\nsrun python t.py --lr \
             ${LRS[$SLURM_ARRAY_TASK_ID]}\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=0-7%2\nMODELS=(\n  \"a b\"\n  c # small\n)\nsrun python t.py \
             \"${MODELS[${SLURM_ARRAY_TASK_ID}]}\"\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=0-7\nCFG=$(sed -n \"${SLURM_ARRAY_TASK_ID}p\" configs.txt)\nsrun \
             python \
             t.py $CFG\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -a 0-7\nID=$SLURM_ARRAY_TASK_ID\nX=$(awk -v n=$ID 'NR == n' list)\npython \
             t.py $X\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -a 0-7\nX=$(head -n ${SLURM_ARRAY_TASK_ID} list | tail -n 1)\npython t.py \
             $X\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -a 0-7\nX=`awk \"NR==$SLURM_ARRAY_TASK_ID\" list`\npython t.py $X\n",
        ),
    ],
    silent: &[
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=0-7\nN=$((SLURM_ARRAY_TASK_ID + 1))\nCFG=$(sed -n \"${N}p\" \
             c.txt)\npython \
             t.py $CFG\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=1-8\nCFG=$(sed -n \"${SLURM_ARRAY_TASK_ID}p\" c.txt)\npython t.py \
             $CFG\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=0-2\nLRS=(1e-3 1e-4 1e-5)\nsrun python t.py --lr \
             ${LRS[$SLURM_ARRAY_TASK_ID]}\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=1-3\nLRS=(1e-3 1e-4 1e-5)\nFILES=(*.txt)\nsrun python t.py --lr \
             ${LRS[$SLURM_ARRAY_TASK_ID - 1]} ${FILES[$SLURM_ARRAY_TASK_ID]}\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --array=1-3\nLRS=(1 2)\nLRS+=(3 4)\nsrun python t.py \
             ${LRS[$SLURM_ARRAY_TASK_ID]}\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let Some(batch) = Batch::read(script.catalog, &script.text).filter(|batch| !batch.is_heterogeneous())
    else {
        return Vec::new();
    };
    let Some(option) = batch.option("array") else { return Vec::new() };
    let value = option.value.as_deref().unwrap_or_default();
    if least(value) == Some(0)
        && let Some(found) = line_zero(script, &batch)
    {
        return vec![found];
    }
    let Some(most) = option.value.as_deref().and_then(most) else { return Vec::new() };
    let found = used(&script.text).into_iter().filter_map(|name| {
        let count = entries(&script.text, &name)?;
        let message = format!(
            "task {most} of the array uses {name}[{most}], but {name} has {count} entries, 0 to {}; the \
             value is \
             empty",
            count.saturating_sub(1)
        );
        let fix = format!("Set --array=0-{}", count.saturating_sub(1));
        (most >= count && count > 0).then(|| Found::error(option.line, message, fix))
    });
    found.collect()
}

/// The highest index of `0-7%2`, `1,3,5`, `0-15:4`; nothing where it cannot be read.
fn most(value: &str) -> Option<usize> {
    let list = value.split('%').next()?;
    let one = |part: &str| {
        let (range, step) = part.split_once(':').map_or((part, None), |(range, step)| (range, Some(step)));
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (from.trim().parse::<usize>().ok()?, to.trim().parse::<usize>().ok()?);
        let step = step.map_or(Some(1), |step| step.parse::<usize>().ok()).filter(|step| *step > 0)?;
        (from <= to).then(|| from + (to - from) / step * step)
    };
    list.split(',').map(one).collect::<Option<Vec<usize>>>()?.into_iter().max()
}

/// The lowest index.
fn least(value: &str) -> Option<usize> {
    let list = value.split('%').next()?;
    let one = |part: &str| part.split(['-', ':']).next()?.trim().parse::<usize>().ok();
    list.split(',').map(one).collect::<Option<Vec<usize>>>()?.into_iter().min()
}

/// A line of a file that is chosen by the number of the task, which is 0 for one of them: lines count from 1.
fn line_zero(script: &Script, batch: &Batch) -> Option<Found> {
    let own = ["$SLURM_ARRAY_TASK_ID", "${SLURM_ARRAY_TASK_ID}"];
    let mut names = vec!["SLURM_ARRAY_TASK_ID".to_owned()];
    let sets = assigned::of_script(script);
    names.extend(sets.iter().filter_map(|one| {
        let direct = one.value.as_deref().is_some_and(|value| own.contains(&value));
        let once = sets.iter().filter(|other| other.name == one.name).count() == 1;
        (direct && once).then(|| one.name.clone())
    }));
    batch.commands.iter().find_map(|(line, command)| {
        let effect = names.iter().find_map(|name| takes_line(command, name))?;
        let message = format!("task 0 of the array reads line 0 of a file, and lines count from 1: {effect}");
        let fix = "Start the array at 1, or add 1 to the number: `$((SLURM_ARRAY_TASK_ID + 1))`";
        Some(Found::error(*line, message, fix))
    })
}

/// What happens where a command takes the line with the number of a variable, and that is 0.
fn takes_line(command: &str, name: &str) -> Option<&'static str> {
    let text: String = command.chars().filter(|letter| !matches!(letter, '"' | '\'')).collect();
    let (plain, braces) = (format!("${name}"), format!("${{{name}}}"));
    let program = |name: &str| text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == name);
    let ends = |at: usize, length: usize| {
        !text[at + length..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    };
    // `${N}p`, `"$N"p`, `${N}q;d`
    let quoted = format!("\"{plain}\"");
    let of_sed = ["p", "q;d", "{p", "!d"].iter().any(|end| {
        let braced = text.contains(&format!(" {braces}{end}"));
        braced || command.contains(&format!("{quoted}{end}"))
    });
    if program("sed") && of_sed {
        return Some("sed stops with `invalid usage of line address 0`");
    }
    let bare = text.replace("NR ==", "NR==").replace("== ", "==");
    let by_number = |value: &str| {
        let mark = format!("NR=={value}");
        bare.match_indices(&mark).any(|(at, _)| {
            value.ends_with('}')
                || !bare[at + mark.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let of_awk = || {
        let passed = text.split_whitespace().find_map(|word| {
            let (inner, value) = word.split_once('=')?;
            (value == plain || value == braces).then(|| inner.trim_start_matches("-v").to_owned())
        });
        by_number(&plain) || by_number(&braces) || passed.is_some_and(|inner| by_number(&inner))
    };
    if program("awk") && of_awk() {
        return Some("awk prints nothing");
    }
    let of_head = [&plain, &braces].into_iter().any(|value| {
        ["head -n ", "head -n", "head -"].iter().any(|start| {
            let mark = format!("{start}{value}");
            text.match_indices(&mark).any(|(at, _)| ends(at, mark.len()))
        })
    });
    (of_head && program("tail")).then_some("head prints nothing")
}

/// The lists whose index is the number of the task, and nothing else.
fn used(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for index in ["[$SLURM_ARRAY_TASK_ID]", "[${SLURM_ARRAY_TASK_ID}]", "[SLURM_ARRAY_TASK_ID]"] {
        for (at, _) in text.match_indices(index) {
            let before = &text[..at];
            let start = before.rfind(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            let name = start.map_or(before, |start| &before[start + 1..]);
            let line = before.rsplit('\n').next().unwrap_or_default();
            if !name.is_empty()
                && !line.trim_start().starts_with('#')
                && before.ends_with(&format!("${{{name}"))
            {
                names.push(name.to_owned());
            }
        }
    }
    names.sort();
    names.dedup();
    names
}

/// The number of entries of a list that is set once, to words that the shell does not replace.
fn entries(text: &str, name: &str) -> Option<usize> {
    let (set, more) = (format!("{name}=("), format!("{name}+=("));
    let mut places = text.match_indices(&set).filter(|(at, _)| {
        let before = text[..*at].rsplit('\n').next().unwrap_or_default();
        before.trim().is_empty()
            || matches!(before.trim(), "declare -a" | "local" | "readonly" | "typeset -a")
    });
    let (at, _) = places.next()?;
    let others = places.next().is_some()
        || text.contains(&more)
        || text.contains(&format!("{name}["))
            && text.contains(&format!("]={}", ""))
            && text.lines().any(|line| line.trim_start().starts_with(&format!("{name}[")));
    let body = &text[at + set.len()..];
    let body = &body[..body.find(')')?];
    if others || body.contains(['$', '`', '*', '{', '(', '?', '[']) {
        return None;
    }
    Some(body.lines().map(|line| split(line, true).len()).sum())
}
