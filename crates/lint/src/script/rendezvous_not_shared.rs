//! Nodes of one job that do not meet.

use crate::read::launch::{Launch, Launches, Replaced};
use crate::read::launch_options::Given;
use crate::read::quotes::OpenQuote;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "rendezvous-not-shared",
    severity: Severity::Error,
    summary: "all nodes of a torchrun job use the same rendezvous and different ranks",
    explain: include_str!("rendezvous_not_shared.md"),
    judge: Judge::Launch(judge),
    fires: &[
        named("run.sh", "torchrun --nnodes=2 --nproc_per_node=8 --node_rank=$RANK train.py\n"),
        named(
            "run.sh",
            "torchrun --nnodes=2 --nproc_per_node=8 --node_rank=1 --master_addr=localhost train.py\n",
        ),
        named(
            "run.sh",
            "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=$RANDOM --rdzv_endpoint=head:29400 train.py\n",
        ),
        named(
            "run.sh",
            "ID=$(date +%s)\ntorchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=$ID \
             --rdzv_endpoint=head:29400 train.py\n",
        ),
        named(
            "run.sh",
            "RUN=${RUN:-sweep-$(date +%Y%m%d-%H%M%S)}\ntorchrun --nnodes=4 --rdzv_backend=c10d \
             --rdzv_id=$RUN --rdzv_endpoint=head:29400 train.py\n",
        ),
        named(
            "run.sh",
            "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=eval-$(date -Iseconds) \
             --rdzv_endpoint=head:29400 eval.py\n",
        ),
        named("run.sh", "torchrun --standalone --nnodes=2 --nproc_per_node=8 train.py\n"),
        named("run.sh", "OPTS=(--nnodes 4 --standalone)\ntorchrun \"${OPTS[@]}\" train.py\n"),
        named("run.sh", "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=1 train.py\n"),
        named("run.sh", "torchrun --nnodes=2 --nproc_per_node=8 --master_addr=head train.py\n"),
        named(
            "job.sbatch",
            "srun bash -c 'export MASTER_ADDR=$(hostname); torchrun --nnodes=2 --node_rank=$SLURM_NODEID \
             --master_addr=$MASTER_ADDR x.py'\n",
        ),
        named("run.sh", "torchrun --nnodes=2 --node_rank=$R --master_addr=$(hostname) x.py\n"),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N 2\nexport HEAD=gpu-7\nsrun --ntasks-per-node=1 bash -c '\n  \
             PORT=$((30000 + RANDOM % 1000))\n  torchrun --nnodes $SLURM_NNODES --node_rank $SLURM_NODEID \
             --master_addr $HEAD --master_port $PORT fit.py\n'\n",
        ),
        named(
            "up.sh",
            "RUN=$1\npdsh -w red[1-2] '\n  cd /srv/fit\n  torchrun --nnodes=2 --nproc_per_node=8 \\\n    \
             --rdzv_backend=c10d --rdzv_id='\"$RUN\"' \\\n    --rdzv_endpoint=$(hostname):29400 fit.py\n'\n",
        ),
        named(
            "node.sh",
            "RANK=$1\nMASTER_ADDR=127.0.0.1\nNODE_ARGS=\"\n  --nnodes 2 \\\n  --node_rank $RANK \\\n  \
             --master_addr $MASTER_ADDR\n\"\ntorchrun $NODE_ARGS fit.py\n",
        ),
        named(
            "run.sh",
            "pdsh -w gpu-[1-4] 'bash -lc \"\n  cd /x\n  torchrun --nnodes=4 --rdzv-id=$RANDOM \
             --rdzv-backend=c10d \
             --rdzv-endpoint=gpu-1:29400 x.py\n\"'\n",
        ),
        named(
            "run.sh",
            "for h in a b; do\n  ssh $h \"torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=$RANDOM \
             --rdzv_endpoint=a:29400 x.py\" &\ndone\nwait\n",
        ),
    ],
    silent: &[
        // The shell of the batch script draws it once.
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH -N 2\nexport HEAD=gpu-7\nexport PORT=$((30000 + RANDOM % 1000))\nexport \
             RUN=$RANDOM\nsrun --ntasks-per-node=1 bash -c 'torchrun --nnodes $SLURM_NNODES --node_rank \
             $SLURM_NODEID --rdzv_id $RUN --master_addr $HEAD --master_port $PORT fit.py'\n",
        ),
        named("run.sh", "PORT=$((30000 + RANDOM % 1000))\ntorchrun --nnodes=1 --master_port $PORT fit.py\n"),
        named(
            "up.sh",
            "# it's for both nodes\nRUN=$1\npdsh -w red[1-2] \"torchrun --nnodes=2 --rdzv_backend=c10d \
             --rdzv_id=$RUN --rdzv_endpoint=$(hostname):29400 fit.py\"\n",
        ),
        named(
            "run.sh",
            "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=job-$(date -d \"$START\" +%s) \
             --rdzv_endpoint=head:29400 train.py\n",
        ),
        named(
            "run.sh",
            "ID=$(date -d @$SLURM_JOB_START_TIME +%s)\ntorchrun --nnodes=2 --rdzv_backend=c10d \
             --rdzv_id=$ID --rdzv_endpoint=head:29400 train.py\n",
        ),
        named(
            "run.sh",
            "DAY=nightly-$(date -u +%Y_%m_%d)\ntorchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=$DAY \
             --rdzv_endpoint=head:29400 train.py\n",
        ),
        named(
            "run.sh",
            "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=\"eval-$(date +%F)\" \
             --rdzv_endpoint=head:29400 eval.py\n",
        ),
        named(
            "run.sh",
            "DAY=$(date -u -I)\ntorchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=$DAY \
             --rdzv_endpoint=head:29400 train.py\n",
        ),
        named(
            "run.sh",
            "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=\"eval-$(date --iso-8601=date)\" \
             --rdzv_endpoint=head:29400 eval.py\n",
        ),
        named(
            "run.sh",
            "torchrun --nproc_per_node=8 train.py\ntorchrun --standalone --nproc_per_node=8 train.py\n",
        ),
        named(
            "run.sh",
            "torchrun --nnodes=2 --node_rank=$RANK --master_addr=$MASTER_ADDR --nproc_per_node=8 train.py\n",
        ),
        named(
            "run.sh",
            "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=$JOB --rdzv_endpoint=$HEAD:29400 train.py\n",
        ),
        named(
            "job.sbatch",
            "#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun --nnodes=2 --rdzv_backend=c10d \
             --rdzv_id=$RANDOM --rdzv_endpoint=$(hostname):29400 train.py\n",
        ),
        named("run.sh", "torchrun --nnodes=2 $DISTRIBUTED_ARGS train.py\n"),
        named(
            "run.sh",
            "pdsh -w a,b \"torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_id=$RANDOM \
             --rdzv_endpoint=$(hostname):29400 x.py\"\n",
        ),
        named(
            "run.sh",
            "RUN=$RANDOM\nfor h in a b; do\n  ssh $h \"torchrun --nnodes=2 --rdzv_backend=c10d \
             --rdzv_id=$RUN \
             --rdzv_endpoint=a:29400 x.py\" &\ndone\nwait\n",
        ),
        named("run.sh", "export PET_MASTER_ADDR=head PET_NODE_RANK=$R\ntorchrun --nnodes=2 train.py\n"),
        named("run.sh", "torchrun --nnodes=2 --node_rank=0 --master_addr=127.0.0.1 train.py\n"),
        named("run.sh", "torchrun --nnodes=1 --rdzv_backend=c10d --rdzv_endpoint=localhost:0 train.py\n"),
    ],
};

fn judge(launches: &Launches) -> Vec<Found> {
    let torch = launches
        .launches
        .iter()
        .filter(|launch| launch.launcher.is_torch() && (nodes(launch) > 1 || nodes_of_slurm(launch)));
    let found = torch.filter_map(|launch| {
        let known = (nodes(launch) > 1).then(|| nowhere(launch)).flatten();
        let found = known
            .or_else(|| own_name(launch, launches))
            .or_else(|| identity(launch, launches.slurm))
            .or_else(|| port(launch, launches.slurm))
            .or_else(|| rank(launch))?;
        Some(found.unless_certain(launch.certain))
    });
    found.collect()
}

/// The most nodes of a job; 1 where that is not known.
fn nodes(launch: &Launch) -> u64 {
    let text = launch.options.value("nnodes").unwrap_or("1");
    text.rsplit(':').next().and_then(|most| most.parse().ok()).unwrap_or(1)
}

/// Whether Slurm gives the number of nodes, which a job of one node does not need.
fn nodes_of_slurm(launch: &Launch) -> bool {
    let written = launch.options.get("nnodes").and_then(|one| one.written.as_deref());
    written.is_some_and(|text| text.contains("SLURM_NNODES") || text.contains("SLURM_JOB_NUM_NODES"))
}

/// Whether torchrun takes an option from the environment: `PET_MASTER_ADDR`.
fn given(launch: &Launch, name: &str) -> bool {
    let variable = format!("PET_{}", name.to_ascii_uppercase());
    launch.options.has(name) || launch.variables.has(&variable) || launch.written.contains_key(&variable)
}

const FIX: &str =
    "Give all nodes the address of the first: `--rdzv_backend=c10d --rdzv_endpoint=HOST:29400 --rdzv_id=JOB`";

/// Why the nodes do not meet.
fn nowhere(launch: &Launch) -> Option<Found> {
    let options = &launch.options;
    if let Some(one) = options.get("standalone") {
        let message = format!(
            "--standalone with --nnodes={}: each node waits in a rendezvous of its own",
            nodes(launch)
        );
        return Some(Found::error(one.line, message, FIX));
    }
    let is_static = launch.has_static_rendezvous();
    let endpoint = given(launch, "rdzv_endpoint") || (is_static && given(launch, "master_addr"));
    if !endpoint && options.complete {
        let missing = if is_static { "--master_addr or --rdzv_endpoint" } else { "--rdzv_endpoint" };
        let line = options.get("nnodes").map_or(launch.line, |one| one.line);
        let message = format!(
            "--nnodes={} without {missing}: every node waits for the others on itself",
            nodes(launch)
        );
        return Some(Found::error(line, message, FIX));
    }
    let one = options.get(address(launch))?;
    // The first node listens on all of its addresses.
    if one.name == "master_addr" && options.value("node_rank") == Some("0") {
        return None;
    }
    let host = one.value.as_deref().map(|text| text.rsplit_once(':').map_or(text, |(host, _)| host));
    let loopback = matches!(host, Some("localhost" | "127.0.0.1" | "0.0.0.0" | "::1"));
    let message = format!(
        "--{} is {} in a job of {} nodes: every node waits on itself",
        one.name,
        host?,
        nodes(launch)
    );
    loopback.then(|| Found::error(one.line, message, FIX))
}

/// The option with the address of the first node.
fn address(launch: &Launch) -> &'static str {
    if launch.options.has("rdzv_endpoint") { "rdzv_endpoint" } else { "master_addr" }
}

/// An address that is each node's own.
fn own_name(launch: &Launch, launches: &Launches) -> Option<Found> {
    let name = address(launch);
    let one = launch.options.get(name)?;
    // Before `srun` the shell of the first node replaces it, behind it each node does.
    let each = launch.nested
        || (launch.by.is_empty() && !launches.slurm)
        || launch.remote == Some(Replaced::Here) && in_single_quotes(&launches.text, one);
    let written = launch.written_value(name).filter(|_| each)?;
    let own = ["$(hostname", "`hostname", "$HOSTNAME", "${HOSTNAME", "$(uname -n"]
        .iter()
        .any(|mark| written.texts().any(|text| text.contains(mark)));
    own.then(|| {
        let message = format!("--{name} is the name of each node itself; the nodes do not meet");
        Found::warning(one.line, message, FIX)
    })
}

/// Whether what the shell would replace in an option is in single quotes: `'… $(hostname)'"$ID"'…'`.
fn in_single_quotes(text: &str, one: &Given) -> bool {
    let Some(written) = one.written.as_deref() else { return false };
    let before = text.split_inclusive('\n').take(one.line.saturating_sub(1)).map(str::len).sum::<usize>();
    let rest = text.get(before..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let at = rest.find(written).zip(written.find(['$', '`'])).map(|(at, mark)| before + at + mark);
    let Some(at) = at else { return false };
    // Apostrophes in comments open nothing.
    let mut open = OpenQuote::default();
    for line in text[..at].split_inclusive('\n') {
        if open.quote.is_some() || !line.trim_start().starts_with('#') {
            open.add(line);
        }
    }
    open.quote == Some('\'')
}

/// The port that all nodes have to use.
fn port(launch: &Launch, slurm: bool) -> Option<Found> {
    let name = if launch.options.has("rdzv_endpoint") { "rdzv_endpoint" } else { "master_port" };
    let one = launch.options.get(name)?;
    let each = launch.nested || (launch.by.is_empty() && !slurm && nodes(launch) > 1);
    let written = launch.written_value(name).filter(|_| each)?;
    // The host of an endpoint is another question.
    let texts = written.texts().map(|text| text.rsplit_once("}:").map_or(text, |(_, port)| port));
    let drawn = ["RANDOM", "shuf ", "socket"];
    let certain = texts
        .filter(|text| drawn.iter().any(|mark| text.contains(mark)))
        .map(|text| differs(text).unwrap_or(!text.contains(":-")))
        .max()?;
    let port = written.texts().map(|text| text.replace('\n', " ")).collect::<Vec<_>>().join(", set to ");
    let message = format!("--{name} is {port}: each node draws a port of its own, and the nodes do not meet");
    let fix = "Draw the port once, before the nodes start, or use a fixed one";
    Some(Found::error(one.line, message, fix).unless_certain(certain))
}

/// What the nodes call the job.
fn identity(launch: &Launch, slurm: bool) -> Option<Found> {
    let one = launch.options.get("rdzv_id")?;
    // A loop replaces it in each turn, a list of nodes once for all.
    let turns = launch.remote == Some(Replaced::Here) && launch.looped && !names_variable_of_script(launch);
    let each = launch.nested || (launch.by.is_empty() && !slurm) || turns;
    let written = launch.written_value("rdzv_id").filter(|_| each)?;
    let certain = written.texts().filter_map(differs).max()?;
    let id = written.texts().map(|text| text.replace('\n', " ")).collect::<Vec<_>>().join(", set to ");
    let (differs, effect) = match certain {
        true => ("differs", "the nodes never meet"),
        false => ("may differ", "the nodes then do not meet"),
    };
    let message = format!("--rdzv_id is {id}, which {differs} on each node; {effect}");
    let fix = "Use the same text on all nodes, such as the id of the job";
    Some(Found::error(one.line, message, fix).unless_certain(certain))
}

/// Whether a text is certain to differ from node to node; nothing where it is the same, as the day is.
fn differs(written: &str) -> Option<bool> {
    let random = ["RANDOM", "uuidgen", "$$", "mktemp", "random/uuid", "openssl rand", "hostname"];
    // `${ID:-$RANDOM}`: who starts the nodes may give it.
    let given = |at: usize| {
        written[..at].rfind("${").is_some_and(|open| {
            let inner = &written[open..at];
            inner.contains('-') && !inner.contains('}')
        })
    };
    let marks = random.iter().flat_map(|mark| written.match_indices(mark)).map(|(at, _)| Some(!given(at)));
    let dates = ["$(date", "`date"].iter().flat_map(|mark| written.match_indices(mark)).map(|(at, mark)| {
        let rest = &written[at + mark.len()..];
        let end = rest.find([')', '`']).unwrap_or(rest.len());
        of_date(&rest[..end]).map(|certain| certain && !given(at))
    });
    marks.chain(dates).flatten().max()
}

/// Whether `date` with these arguments prints another text on each node: seconds certainly, minutes perhaps,
/// days not.
fn of_date(arguments: &str) -> Option<bool> {
    if names_time(arguments) {
        return None;
    }
    let Some((_, format)) = arguments.split_once('+') else {
        // `-I`, `-uIseconds`, `--iso-8601=minutes`
        let precision = arguments.split_whitespace().find_map(|word| match word.strip_prefix("--iso-8601") {
            Some(rest) => Some(rest.trim_start_matches('=')),
            None => word.strip_prefix("-I").or_else(|| word.strip_prefix("-uI")),
        });
        // GNU takes the beginning of each word.
        return match precision {
            Some(word) if "date".starts_with(word) => None,
            Some(word) if "hours".starts_with(word) || "minutes".starts_with(word) => Some(false),
            _ => Some(true),
        };
    };
    let mut letters = format.chars();
    let mut finest = None;
    while let Some(letter) = letters.next() {
        if letter != '%' {
            continue;
        }
        let kind = letters.find(|letter| !"-_0^#:".contains(*letter))?;
        let certain = match kind {
            'Y' | 'y' | 'C' | 'G' | 'g' | 'm' | 'd' | 'e' | 'j' | 'F' | 'D' | 'x' | 'a' | 'A' | 'b' | 'B'
            | 'h' | 'u' | 'w' | 'U' | 'V' | 'W' | 'q' | 'Z' | 'z' | 'n' | 't' | '%' => continue,
            'H' | 'I' | 'k' | 'l' | 'p' | 'P' | 'M' | 'R' => false,
            _ => true,
        };
        finest = finest.max(Some(certain));
    }
    finest
}

/// Whether `date` shows a time that its arguments name, and not the clock's: `-d 2026-01-01`, `-r train.py`.
fn names_time(arguments: &str) -> bool {
    let words = || arguments.split_whitespace();
    let long = |option: &str| words().any(|word| word.split('=').next() == Some(option));
    let short = |letter: char| {
        let all = words().filter_map(|word| word.strip_prefix('-'));
        all.filter(|rest| !rest.starts_with('-')).any(|rest| rest.trim_start_matches('u').starts_with(letter))
    };
    // `1 hour ago` is of the clock; a variable has a time of its own.
    let of_clock = |word: &str| {
        let lower = word.to_ascii_lowercase();
        let words = ["now", "today", "ago", "day", "morrow", "week", "next", "last", "hour", "min", "sec"];
        !word.contains('$') && words.iter().any(|one| lower.contains(one))
    };
    long("--reference") || short('r') || (long("--date") || short('d')) && !words().any(of_clock)
}

/// Whether the id is a variable that the script sets, which all turns of a loop may share.
fn names_variable_of_script(launch: &Launch) -> bool {
    let written = launch.options.get("rdzv_id").and_then(|one| one.written.as_deref()).unwrap_or_default();
    !["$RANDOM", "${RANDOM", "$(uuidgen", "$(mktemp"].iter().any(|mark| written.contains(mark))
}

/// Which of the nodes it is.
fn rank(launch: &Launch) -> Option<Found> {
    let options = &launch.options;
    if nodes(launch) < 2 {
        return None;
    }
    if !launch.has_static_rendezvous() || given(launch, "node_rank") || !options.complete {
        return None;
    }
    let line = options.get("nnodes").map_or(launch.line, |one| one.line);
    let message = format!("--nnodes={} without --node_rank: every node is node 0", nodes(launch));
    Some(Found::warning(
        line,
        message,
        "Add `--node_rank`, different on each node, or use `--rdzv_backend=c10d`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_the_clock_differ() {
        for same in
            ["-I", "-Id", "-u -d today -I", "--date=2026-01-01", "-r train.py -Is", "-d \"$LAST\" +%s"]
        {
            assert_eq!(of_date(same), None, "{same}");
        }
        for perhaps in ["-Ih", "-Im", "--iso-8601=hours"] {
            assert_eq!(of_date(perhaps), Some(false), "{perhaps}");
        }
        for differs in ["-Is", "+%s", "-d now +%s", "-d '1 hour ago' +%s", "-Ins", ""] {
            assert_eq!(of_date(differs), Some(true), "{differs}");
        }
    }
}
