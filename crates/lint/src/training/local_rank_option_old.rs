//! An option of the launcher that the script does not know.

use crate::read::launch::Launches;
use crate::read::launcher::Launcher;
use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "local-rank-option-old",
    severity: Severity::Warning,
    summary: "a script for torch.distributed.launch takes --local-rank",
    explain: include_str!("local_rank_option_old.md"),
    judge: Judge::Training(judge),
    fires: &[named_with(
        "train.py",
        "import argparse\nparser = argparse.ArgumentParser()\n\
         parser.add_argument(\"--local_rank\", type=int)\nargs = parser.parse_args()\n",
        &[("run.sh", "python -m torch.distributed.launch --nproc_per_node=4 train.py\n")],
    )],
    silent: &[
        named_with(
            "train.py",
            "import argparse\nparser = argparse.ArgumentParser()\n\
             parser.add_argument(\"--local-rank\", \"--local_rank\", type=int)\nargs = parser.parse_args()\n",
            &[("run.sh", "python -m torch.distributed.launch --nproc_per_node=4 train.py\n")],
        ),
        named_with(
            "train.py",
            "import argparse\nparser = argparse.ArgumentParser()\n\
             parser.add_argument(\"--local_rank\", type=int)\nargs = parser.parse_args()\n",
            &[(
                "run.sh",
                "torchrun --nproc_per_node=4 train.py\npython -m torch.distributed.launch \
             --use_env train.py\npython -m torch.distributed.launch other.py\n",
            )],
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let options = program.calls.iter().filter(|call| call.name.ends_with("add_argument"));
    let names = |call: &crate::read::python::Call, name: &str| {
        call.arguments.iter().any(|one| one.name.is_none() && one.text.trim_matches(['"', '\'']) == name)
    };
    let old = options.clone().find(|call| names(call, "--local_rank"));
    let new = options.clone().any(|call| names(call, "--local-rank"));
    let lenient = program.calls.iter().any(|call| call.name.contains("parse_known"));
    let strict = program.calls.iter().any(|call| call.name.ends_with("parse_args"));
    let Some(old) = old.filter(|_| !new && !lenient && strict) else { return Vec::new() };
    let base = program.name.rsplit('/').next().unwrap_or_default();
    let launched = program.scripts.iter().find_map(|script| {
        let launches = Launches::of_script(script.script(program.catalog)).launches;
        let of_this =
            |word: &crate::read::dockerfile::command::Word| word.text.rsplit('/').next() == Some(base);
        let one = launches.into_iter().find(|launch| {
            launch.launcher == Launcher::DistributedLaunch
                && !launch.options.has("use_env")
                && launch.words.iter().any(of_this)
        })?;
        Some((script.name.clone(), one.line))
    });
    let Some((script, line)) = launched else { return Vec::new() };
    let message = format!(
        "torch.distributed.launch of PyTorch 2.0 and later passes --local-rank (line {line} of \
         {script}), which \
         argparse does not take for --local_rank; `unrecognized arguments`"
    );
    let fix =
        "Use torchrun and os.environ[\"LOCAL_RANK\"], or add \"--local-rank\" to the names of the option";
    vec![Found::warning(old.line, message, fix)]
}
