//! Calls of torch with arguments that it does not take.

use crate::read::python::{Argument, Call, Program, is_name, string};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "torch-call-invalid",
    severity: Severity::Error,
    summary: "functions of torch get the arguments that they take",
    explain: include_str!("torch_call_invalid.md"),
    judge: Judge::Training(judge),
    fires: &[
        named("train.py", "import torch.distributed as dist\ndist.init_process_group(backend=\"ncll\")\n"),
        named(
            "train.py",
            "import torch\ndevice = torch.device(\"gpu\")\nx = y.to(\"cuda:local_rank\")\n\
             opt = torch.optim.AdamW(model.parameters, learning_rate=1e-4)\n",
        ),
        named(
            "train.py",
            "import torch\nwith torch.autocast(dtype=torch.bfloat16):\n    y = model(x)\n\
             scaler = torch.amp.GradScaler(device_type=\"cuda\")\n",
        ),
        named(
            "train.py",
            "import torch\ntorch.save(\"m.pt\", model.state_dict())\nmodel.load_state_dict(\"m.pt\")\n",
        ),
        named(
            "train.py",
            "import torch\nmodel = Net()\nmodel = model.load_state_dict(torch.load(\"x\"))\ny = model(x)\n",
        ),
        named("train.py", "import torch.distributed as dist\ndist.all_reduce(loss.item())\n"),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as \
             dist\ndist.init_process_group(\"cpu:gloo,cuda:nccl\")\n\
             dist.init_process_group(backend=\"NCCL\")\ndevice = torch.device(f\"cuda:{local_rank}\")\n\
             other = torch.device(\"cuda\", 0)\nx = y.to(\"cuda:0\").to(\"bfloat16\")\nz = \
             frame.to(\"gpu-node\")\n",
        ),
        named(
            "train.py",
            "import torch\nopt = torch.optim.SGD(model.parameters(), lr=0.1)\n\
             with torch.autocast(\"cuda\", dtype=torch.bfloat16):\n    pass\n\
             with torch.cuda.amp.autocast(dtype=torch.float16):\n    pass\n\
             scaler = torch.amp.GradScaler(\"cuda\")\ntorch.save(model.state_dict(), \"m.pt\")\n\
             keys = model.load_state_dict(torch.load(\"m.pt\"), strict=False)\nprint(keys)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.Backend.register_backend(\"mine\", make)\n\
             dist.init_process_group(\"mine\")\n",
        ),
    ],
};

const BACKENDS: &[&str] =
    &["nccl", "gloo", "mpi", "ucc", "xccl", "hccl", "ccl", "fake", "undefined", "mccl", "cncl"];

/// Types of devices that torch knows by name.
const DEVICES: &[&str] = &[
    "cpu",
    "cuda",
    "mps",
    "xpu",
    "meta",
    "xla",
    "hpu",
    "npu",
    "mlu",
    "musa",
    "mtia",
    "vulkan",
    "ipu",
    "privateuseone",
    "opencl",
    "opengl",
    "hip",
    "fpga",
    "maia",
    "lazy",
    "ve",
    "ort",
    "mkldnn",
    "ideep",
];

/// Keywords that people take for those of optimizers.
const OF_OPTIMIZERS: &[(&str, &str)] = &[
    ("learning_rate", "lr"),
    ("parameters", "params"),
    ("weight_decay_rate", "weight_decay"),
    ("beta", "betas"),
];

fn judge(program: &Program) -> Vec<Found> {
    program.calls.iter().filter_map(|call| fault(program, call)).collect()
}

fn fault(program: &Program, call: &Call) -> Option<Found> {
    match call.name.as_str() {
        "torch.distributed.init_process_group" => backend(program, call),
        "torch.device" => device(call, call.argument(0, "type")?),
        "torch.autocast" | "torch.amp.autocast" if call.argument(0, "device_type").is_none() => {
            let spread = call.arguments.iter().any(|one| one.name.as_deref() == Some("*"));
            let message = "autocast has no device_type; TypeError";
            (!spread).then(|| Found::error(call.line, message, "Write `torch.autocast(\"cuda\", …)`"))
        }
        "torch.cuda.amp.autocast" => {
            let given =
                call.arguments.first().filter(|one| one.name.is_none() && string(&one.text).is_some())?;
            let message = format!(
                "torch.cuda.amp.autocast takes `enabled` first: {} is not a device there, and the type stays \
                 float16",
                given.text
            );
            Some(Found::warning(given.line, message, "Write `torch.autocast(\"cuda\", …)`"))
        }
        "torch.amp.GradScaler" => {
            let given = call.keyword("device_type")?;
            let message = "GradScaler has no device_type; TypeError";
            Some(Found::error(given.line, message, "Write `device=`"))
        }
        "torch.save" => {
            let first = call.argument(0, "obj").filter(|one| string(&one.text).is_some())?;
            let second = call.argument(1, "f").filter(|one| string(&one.text).is_none())?;
            let object = second.text.ends_with(".state_dict()") || second.text.starts_with('{');
            let message =
                format!("torch.save takes the object first, and then the file; it gets {} first", first.text);
            object.then(|| {
                Found::error(
                    call.line,
                    message,
                    format!("Write `torch.save({}, {})`", second.text, first.text),
                )
            })
        }
        "torch.distributed.all_reduce" | "torch.distributed.broadcast" | "torch.distributed.reduce" => {
            let given = call.argument(0, "tensor").filter(|one| one.text.ends_with(".item()"))?;
            let message = format!("{} is a number, not a tensor; TypeError", given.text);
            Some(Found::error(given.line, message, "Give the tensor, and call item() on the result"))
        }
        name if name.starts_with("torch.optim.") && !name.contains("lr_scheduler") => optimizer(call),
        name if name.ends_with(".load_state_dict") => loaded(program, call),
        name if name.ends_with(".to") && call.arguments.len() == 1 => {
            // `to` of other libraries takes other texts: only what is close to a GPU's name.
            let given = call.argument(0, "device")?;
            let text = string(&given.text)?;
            let close = text.strip_prefix("cuda").is_some_and(|rest| !rest.is_empty()) || text == "gpu";
            close.then(|| device(call, given)).flatten()
        }
        _ => None,
    }
}

fn backend(program: &Program, call: &Call) -> Option<Found> {
    let given = call.argument(0, "backend")?;
    let text = string(&given.text)?.to_ascii_lowercase();
    let custom = program.text.contains("register_backend");
    let known = text.split(',').all(|part| {
        let name = part.rsplit(':').next().unwrap_or_default();
        BACKENDS.contains(&name)
    });
    let near = BACKENDS.iter().min_by_key(|name| diagnostic::suggest::edits(name, &text))?;
    let close = diagnostic::suggest::edits(near, &text) <= 2;
    let message = format!("the backend {text:?} does not exist; `Invalid backend`");
    // A plugin may register any other name.
    (!known && !custom && close).then(|| Found::error(given.line, message, format!("Write \"{near}\"")))
}

fn device(call: &Call, given: &Argument) -> Option<Found> {
    let text = string(&given.text)?;
    let (kind, index) = text.split_once(':').map_or((text, None), |(kind, index)| (kind, Some(index)));
    let bad_index =
        index.is_some_and(|index| index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()));
    if DEVICES.contains(&kind) && !bad_index {
        return None;
    }
    // A plugin may register any other name of a device, with an index or without.
    let slip = kind.eq_ignore_ascii_case("gpu")
        || kind.to_ascii_lowercase().starts_with("cuda")
        || diagnostic::suggest::edits("cuda", kind) == 1 && kind != "musa";
    let meant = DEVICES.contains(&kind) && matches!(kind, "cuda" | "cpu");
    if !slip && !meant {
        return None;
    }
    let message = format!("{text:?} is not a torch device; RuntimeError");
    let fix = match (kind, index) {
        ("cuda", Some(name)) if is_name(name) => format!("Write `f\"cuda:{{{name}}}\"`"),
        _ => "Write \"cuda\" or \"cuda:0\"".to_owned(),
    };
    Some(Found::error(call.line, message, fix))
}

fn optimizer(call: &Call) -> Option<Found> {
    let last = call.name.rsplit('.').next()?;
    let is_class =
        call.name.matches('.').count() == 2 && last.starts_with(|letter: char| letter.is_ascii_uppercase());
    if !is_class {
        return None;
    }
    let first = call.argument(0, "params");
    if let Some(first) = first.filter(|one| is_name(&one.text) && one.text.ends_with(".parameters")) {
        let message = format!(
            "{} is a method, not its result; `TypeError: 'method' object is not iterable`",
            first.text
        );
        return Some(Found::error(first.line, message, format!("Write `{}()`", first.text)));
    }
    let (given, right) =
        OF_OPTIMIZERS.iter().find_map(|(wrong, right)| Some((call.keyword(wrong)?, right)))?;
    let name = given.name.as_deref()?;
    let line = given.line;
    let message = format!("torch.optim.{last} takes no {name}; `unexpected keyword argument`");
    Some(Found::error(line, message, format!("Write `{right}=`")))
}

/// `load_state_dict` of a path, and its result in place of the model.
fn loaded(program: &Program, call: &Call) -> Option<Found> {
    let given = call.argument(0, "state_dict")?;
    if string(&given.text).is_some() {
        let message = format!("load_state_dict takes a dict, not the path {}; TypeError", given.text);
        return Some(Found::error(
            given.line,
            message,
            format!("Write `load_state_dict(torch.load({}))`", given.text),
        ));
    }
    let model = call.name.strip_suffix(".load_state_dict")?;
    let set = program.assignments.iter().find(|one| one.at == call.at && one.name == model)?;
    let message = format!("load_state_dict returns the missing keys, not the model; {model} is lost here");
    Some(Found::error(set.line, message, "Call it alone, without the assignment"))
}
