//! A dataset that uses CUDA in the workers of its loader.

use crate::read::python::{Call, Class, Program, number};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "cuda-in-loader-worker",
    severity: Severity::Error,
    summary: "datasets return CPU tensors to data loaders with workers",
    explain: include_str!("cuda_in_loader_worker.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.multiprocessing as mp\nfrom torch.utils.data import DataLoader, \
             Dataset\n\
             class Data(Dataset):\n    def __getitem__(self, i):\n        return self.x[i].cuda()\n\
             mp.set_start_method(\"fork\")\nnet = torch.nn.Linear(8, 8).cuda()\n\
             loader = DataLoader(Data(), batch_size=8, num_workers=4)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.utils.data import DataLoader, Dataset\nclass Data(Dataset):\n    \
             def __getitem__(self, i):\n        return torch.tensor(self.x[i], device=\"cuda\")\ndata = \
             Data()\n\
             loader = DataLoader(data, num_workers=4)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nfrom torch.utils.data import DataLoader, Dataset\nclass Data(Dataset):\n    \
             def __getitem__(self, i):\n        return self.x[i].cuda()\n\
             loader = DataLoader(Data(), batch_size=8, num_workers=0)\nother = DataLoader(Data())\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.multiprocessing as mp\nfrom torch.utils.data import DataLoader, \
             Dataset\n\
             class Data(Dataset):\n    def __getitem__(self, i):\n        return self.x[i].cuda()\n\
             mp.set_start_method(\"spawn\")\nloader = DataLoader(Data(), batch_size=8, num_workers=4)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.utils.data import DataLoader, Dataset\nclass Data(Dataset):\n    \
             def __getitem__(self, i):\n        return self.x[i]\n\
             for x in DataLoader(Data(), num_workers=4):\n    x.cuda()\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let starts = program.calls.iter().filter(|call| call.name.ends_with("set_start_method"));
    let methods: Vec<&str> =
        starts.filter_map(|call| Some(call.argument(0, "method")?.text.trim_matches(['"', '\'']))).collect();
    if methods.iter().any(|method| *method != "fork") {
        return Vec::new();
    }
    let forked = !methods.is_empty();
    let loaders = program.calls.iter().filter(|call| call.name.ends_with("DataLoader"));
    loaders.filter_map(|loader| fault(program, loader, forked)).take(1).collect()
}

fn fault(program: &Program, loader: &Call, forked: bool) -> Option<Found> {
    let workers = loader.argument(5, "num_workers").and_then(|one| number(&one.text))?;
    let context = loader.keyword("multiprocessing_context").map(|one| one.text.trim_matches(['"', '\'']));
    if workers < 1.0 || context.is_some_and(|context| context != "fork") {
        return None;
    }
    let data = loader.argument(0, "dataset")?;
    let through = program.value(&data.text, &loader.function, loader.at.start);
    let made = program.call_at(&data.at).or_else(|| program.call_at(&through?.at))?;
    let class =
        program.classes.iter().find(|class| class.name == made.name && class.bases.contains("Dataset"))?;
    let method = program.method(class, "__getitem__")?;
    let used = program.calls.iter().find(|call| call.function == method.at && uses_cuda(call))?;
    let before = program.calls.iter().any(|call| {
        let here = call.function == loader.function || call.function == (0..0);
        here && !call.conditional
            && call.at.start < loader.at.start
            && uses_cuda(call)
            && !within(class, call)
    });
    let certain = before && (forked || context.is_some());
    let message = format!(
        "{}.__getitem__ uses CUDA in each of the {workers} workers of the loader in line {}; a forked \
         process \
         cannot use CUDA once its parent did: `Cannot re-initialize CUDA in forked subprocess`",
        class.name, loader.line
    );
    let fix = "Return CPU tensors, set pin_memory=True, and move the batch in the training loop";
    Some(Found::error(used.line, message, fix).unless_certain(certain))
}

fn within(class: &Class, call: &Call) -> bool {
    class.at.start <= call.at.start && call.at.end <= class.at.end
}

/// `x.cuda()`, `x.to("cuda:0")`, `device="cuda"`.
fn uses_cuda(call: &Call) -> bool {
    let cuda =
        |text: &str| text.trim_matches(['"', '\'']).starts_with("cuda") && text.starts_with(['"', '\'']);
    match call.name.rsplit('.').next().unwrap_or_default() {
        "cuda" => call.name != "torch.cuda",
        "to" => call.arguments.first().is_some_and(|one| cuda(&one.text)),
        _ => call.keyword("device").is_some_and(|one| cuda(&one.text)),
    }
}
