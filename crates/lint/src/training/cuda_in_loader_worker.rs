//! A dataset that uses CUDA in the workers of its loader.

use std::ops::Range;
use std::rc::Rc;

use crate::location::{Location, OtherFile};
use crate::read::python::{Argument, Call, Class, Function, Program, number};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

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
        named(
            "train.py",
            "import torch\nfrom torch.utils.data import DataLoader, Dataset\nclass Patches(Dataset):\n    \
             def __init__(self, path, device):\n        self.device = device\n    \
             def __getitem__(self, i):\n        return torch.ones(3).to(self.device)\ndef main():\n    \
             device = torch.device(\"cuda\")\n    net = Net().to(device)\n    \
             loader = DataLoader(Patches(\"/data\", device), batch_size=8, num_workers=8)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.utils.data import DataLoader\ndevice = \"cuda\"\n\
             def collate(batch):\n    return torch.stack(batch).to(device)\n\
             loader = DataLoader(data, num_workers=2, collate_fn=collate)\n",
        ),
        named_with(
            "train.py",
            "import torch\nfrom torch.utils.data import DataLoader\nfrom data.tiles import Tiles\n\
             net = torch.nn.Linear(8, 8).cuda()\nloader = DataLoader(Tiles(\"/data\"), num_workers=8, \
             multiprocessing_context=\"fork\")\n",
            &[(
                "data/tiles.py",
                "import torch\nfrom torch.utils.data import Dataset\nclass Tiles(Dataset):\n    \
                 def __getitem__(self, i):\n        return read(i).cuda()\n",
            )],
        ),
    ],
    silent: &[
        named_with(
            "train.py",
            "import torch\nfrom torch.utils.data import DataLoader\nfrom tiles import Tiles\n\
             net = torch.nn.Linear(8, 8).cuda()\nloader = DataLoader(Tiles(\"/data\", \"cpu\"), \
             num_workers=8)\n",
            &[(
                "tiles.py",
                "import torch\nfrom torch.utils.data import Dataset\nclass Tiles(Dataset):\n    \
                 def __init__(self, path, device=\"cuda\"):\n        self.device = device\n    \
                 def __getitem__(self, i):\n        return read(i).to(self.device)\n",
            )],
        ),
        named(
            "train.py",
            "import torch\nfrom torch.utils.data import DataLoader, Dataset\nclass Data(Dataset):\n    \
             def __init__(self, device):\n        self.x = torch.ones(3).to(device)\n    \
             def __getitem__(self, i):\n        return self.x.to(self.dtype)\n\
             loader = DataLoader(Data(\"cuda\"), num_workers=4)\n",
        ),
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
    let Use { name, location, class } =
        in_dataset(program, loader).or_else(|| in_collate(program, loader))?;
    let before = program.calls.iter().any(|call| {
        let here = call.function == loader.function || call.function == (0..0);
        let within =
            class.as_ref().is_some_and(|class| class.start <= call.at.start && call.at.end <= class.end);
        here && !call.conditional
            && call.at.start < loader.at.start
            && uses_cuda(program, None, call)
            && !within
    });
    let certain = before && (forked || context.is_some());
    let message = format!(
        "{name} uses CUDA in each of the {workers} workers of the loader in line {}; a forked process \
         cannot use CUDA once its parent did: `Cannot re-initialize CUDA in forked subprocess`",
        loader.line
    );
    let fix = "Return CPU tensors, set pin_memory=True, and move the batch in the training loop";
    Some(Found::error(location, message, fix).unless_certain(certain))
}

/// What uses CUDA in the workers.
struct Use {
    /// `Tiles.__getitem__`.
    name: String,
    location: Location,
    /// The class, bytes, where it is in the file of the loader.
    class: Option<Range<usize>>,
}

/// A dataset that uses CUDA for each item.
fn in_dataset(program: &Program, loader: &Call) -> Option<Use> {
    let data = loader.argument(0, "dataset")?;
    let through = program.value(&data.text, &loader.function, loader.at.start);
    let made = program.call_at(&data.at).or_else(|| program.call_at(&through?.at))?;
    if let Some(class) = dataset(program, &made.name) {
        let used = of_class(&Made { program, call: made, home: program, class })?;
        return Some(Use { name: used.0, location: used.1.into(), class: Some(class.at.clone()) });
    }
    let (module, name) = made.name.rsplit_once('.')?;
    let path = format!("{}.py", module.trim_start_matches('.').replace('.', "/"));
    let file = program.modules.iter().find(|one| {
        one.name.strip_suffix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    })?;
    let home = Program::read(program.catalog, &file.text);
    let class = dataset(&home, name)?;
    let used = of_class(&Made { program, call: made, home: &home, class })?;
    let other = Some(Rc::new(OtherFile { path: file.name.clone(), by: None }));
    Some(Use { name: used.0, location: Location::new(other, used.1), class: None })
}

fn dataset<'p>(program: &'p Program, name: &str) -> Option<&'p Class> {
    program.classes.iter().find(|class| class.name == name && class.bases.contains("Dataset"))
}

/// A function that makes batches of items on the GPU.
fn in_collate(program: &Program, loader: &Call) -> Option<Use> {
    let function = program.function(&loader.argument(6, "collate_fn")?.text)?;
    let call =
        program.calls.iter().find(|call| call.function == function.at && uses_cuda(program, None, call))?;
    Some(Use { name: function.name.clone(), location: call.line.into(), class: None })
}

/// A dataset that is made.
pub(super) struct Made<'p> {
    /// The file that makes it, and where.
    program: &'p Program,
    call: &'p Call,
    /// The file of its class.
    home: &'p Program,
    class: &'p Class,
}

/// The method whose results the workers hand on, and the line on which it uses CUDA.
fn of_class(made: &Made<'_>) -> Option<(String, usize)> {
    ["__getitem__", "__getitems__", "__iter__"].iter().find_map(|name| {
        let method = made.home.method(made.class, name)?;
        let mut calls = made.home.calls.iter().filter(|call| call.function == method.at);
        let used = calls.find(|call| uses_cuda(made.home, Some(made), call))?;
        Some((format!("{}.{name}", made.class.name), used.line))
    })
}

/// `x.cuda()`, `x.to("cuda:0")`, `device="cuda"`.
pub(super) fn uses_cuda(program: &Program, made: Option<&Made<'_>>, call: &Call) -> bool {
    let cuda = |one: &Argument| {
        is_cuda(program, one, &call.function, DEPTH_LIMIT)
            || made.is_some_and(|made| member_is_cuda(made, &one.text))
    };
    match call.name.rsplit('.').next().unwrap_or_default() {
        "cuda" => call.name != "torch.cuda",
        "to" => call.argument(0, "device").is_some_and(cuda),
        // It only names a device.
        "device" => false,
        _ => call.keyword("device").is_some_and(cuda),
    }
}

/// Names that are followed to what they were set to.
const DEPTH_LIMIT: usize = 4;

/// Whether an expression is a GPU: `"cuda:0"`, `torch.device("cuda")`, a name of one.
fn is_cuda(program: &Program, one: &Argument, function: &Range<usize>, depth: usize) -> bool {
    let text = match one.text.split_once(" if ") {
        Some((text, condition)) if condition.contains("cuda.is_available()") => text.trim(),
        Some(_) => return false,
        None => one.text.as_str(),
    };
    let quoted = text.strip_prefix('f').unwrap_or(text);
    if quoted.starts_with(['"', '\'']) {
        return quoted.trim_start_matches(['"', '\'']).starts_with("cuda");
    }
    if depth == 0 {
        return false;
    }
    if let Some(call) = program.call_at(&one.at) {
        let device = call.argument(0, "device").filter(|_| call.name == "torch.device");
        return device.is_some_and(|device| is_cuda(program, device, function, depth - 1));
    }
    let set = program.value(text, function, one.at.start);
    set.is_some_and(|set| {
        let value = Argument { name: None, text: set.text.clone(), line: set.line, at: set.at.clone() };
        is_cuda(program, &value, &set.function, depth - 1)
    })
}

/// Whether `self.device` is a GPU by what the constructor of the class was given.
fn member_is_cuda(made: &Made<'_>, text: &str) -> bool {
    if !text.starts_with("self.") {
        return false;
    }
    let Some(init) = made.home.method(made.class, "__init__") else { return false };
    let mut sets = made.home.assignments.iter().filter(|one| one.name == text && one.function == init.at);
    let (Some(set), None) = (sets.next(), sets.next()) else { return false };
    let value = Argument { name: None, text: set.text.clone(), line: set.line, at: set.at.clone() };
    is_cuda(made.home, &value, &init.at, DEPTH_LIMIT) || parameter_is_cuda(made, init, &set.text)
}

/// Whether a parameter of the constructor is a GPU, as it was given or by its default.
fn parameter_is_cuda(made: &Made<'_>, init: &Function, name: &str) -> bool {
    let Some(index) = init.parameters.iter().position(|one| one.name == name) else { return false };
    // The first is the object itself.
    let given = index.checked_sub(1).and_then(|index| made.call.argument(index, name));
    if let Some(given) = given {
        return is_cuda(made.program, given, &made.call.function, DEPTH_LIMIT);
    }
    let spread = made.call.arguments.iter().any(|one| one.name.as_deref() == Some("*"));
    let default = init.parameters[index].default.as_deref().filter(|_| !spread);
    default.is_some_and(|text| text.trim_matches(['"', '\'']).starts_with("cuda"))
}
