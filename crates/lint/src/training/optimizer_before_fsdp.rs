//! An optimizer of parameters that FSDP replaces.

use crate::read::python::{Call, Program, names};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "optimizer-before-fsdp",
    severity: Severity::Error,
    summary: "the optimizer is created after FSDP wraps the model",
    explain: include_str!("optimizer_before_fsdp.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nnet = Net()\n\
             optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)\nmodel = FSDP(net)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\ndef \
             run():\n    \
             net = Net()\n    big = [w for n, w in net.named_parameters() if w.ndim > 1]\n    groups = \
             [{\"params\": big, \"weight_decay\": 0.1}]\n    opt = torch.optim.AdamW(groups, lr=1e-4)\n    \
             net = FSDP(net)\n",
        ),
    ],
    silent: &[
        // The groups are of another model.
        named(
            "train.py",
            "import torch\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nnet = Net()\n\
             slow = [p for p in old_net.parameters()]\nopt = torch.optim.SGD([{\"params\": slow}], \
             lr=0.1)\nmodel = FSDP(net)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nnet = Net()\n\
             optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)\nmodel = FSDP(net, \
             use_orig_params=True)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nnet = Net()\n\
             model = FSDP(net)\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nnet = Net()\n\
             optimizer = torch.optim.SGD(net.parameters())\nwarm_up(net, optimizer)\nmodel = FSDP(net)\n\
             optimizer = torch.optim.AdamW(model.parameters())\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let wraps = program.calls.iter().filter(|call| {
        call.name.ends_with("FullyShardedDataParallel") && call.name.starts_with("torch.distributed.fsdp")
    });
    wraps.filter_map(|wrap| fault(program, wrap)).take(1).collect()
}

fn fault(program: &Program, wrap: &Call) -> Option<Found> {
    let splat = wrap.arguments.iter().any(|one| one.name.as_deref() == Some("*"));
    // A second wrap may be of other parameters.
    if splat || wrap.keyword("use_orig_params").is_some_and(|one| one.text != "False") {
        return None;
    }
    let model = wrap.argument(0, "module")?;
    let optimizer = program.assignments.iter().find(|one| {
        let made = program.call_at(&one.at);
        let is_optimizer = made.is_some_and(|call| {
            let given = call.argument(0, "params");
            call.name.contains("optim.")
                && given.is_some_and(|given| has_parameters(program, &given.text, call, &model.text, 0))
        });
        is_optimizer && one.function == wrap.function && one.at.start < wrap.at.start
    })?;
    let again = program.assignments.iter().any(|one| {
        one.name == optimizer.name && one.at.start > wrap.at.start
            || one.name == model.text && optimizer.at.start < one.at.start && one.at.end < wrap.at.start
    });
    let added = program.text.contains("add_param_group");
    let message = format!(
        "{} was created before line {}, where FSDP replaces the parameters of {} (use_orig_params is \
         False); it updates parameters that get no gradients, so the model is not trained",
        optimizer.name, wrap.line, model.text
    );
    let fix = "Create the optimizer after FSDP, from the wrapped model, or set use_orig_params=True";
    (!again && !added && !wrap.conditional).then(|| Found::error(optimizer.line, message, fix))
}

/// How many names deep the groups of an optimizer are followed.
const NAMES_DEPTH: usize = 2;

/// Whether a text holds parameters of a model, itself or through the names in it.
fn has_parameters(program: &Program, text: &str, at: &Call, model: &str, depth: usize) -> bool {
    let methods = ["parameters()", "named_parameters()"];
    let here = methods.iter().any(|method| {
        let call = format!("{model}.{method}");
        text.match_indices(&call).any(|(at, _)| {
            !text[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.')
        })
    });
    here || depth < NAMES_DEPTH
        && names(text).any(|name| {
            let set = program.certain_value(name, &at.function, at.at.start);
            set.is_some_and(|set| has_parameters(program, &set.text, at, model, depth + 1))
        })
}
