//! A dataset that uses CUDA in the workers of its loader.

use std::ops::Range;
use std::rc::Rc;

use crate::cuda_use::{Made, computes_with, members_on_gpu, uses_cuda};
use crate::location::{Location, OtherFile};
use crate::read::python::{Call, Class, Program, number};
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
        named(
            "train.py",
            "import torch\nfrom torch.utils.data import DataLoader, Dataset\nclass Data(Dataset):\n    \
             def __init__(self, device):\n        self.x = torch.ones(3).to(device)\n    \
             def __getitem__(self, i):\n        return self.x.to(self.dtype)\n\
             loader = DataLoader(Data(\"cuda\"), num_workers=4)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.utils.data import DataLoader, Dataset\nclass Pairs(Dataset):\n    \
             def __init__(self, path):\n        rows = torch.load(path)\n        self.a = \
             rows[\"a\"]\n        self.table = torch.from_numpy(rows[\"t\"]).cuda().float()\n    \
             def __getitem__(self, i):\n        return self.a[i], \
             self.table[self.a[i]]\npairs = Pairs(\"p.pt\")\nloader = DataLoader(pairs, num_workers=8)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.utils.data import DataLoader, Dataset\nclass Encoded(Dataset):\n    \
             def __init__(self, files, net):\n        self.net = net\n        self.files = files\n    \
             def __getitem__(self, i):\n        return self.net(read(self.files[i]))\nnet = \
             torch.nn.Linear(8, 8).to(\"cuda\")\nloader = DataLoader(Encoded(files, net), \
             num_workers=2)\n",
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
             def __init__(self, x):\n        self.x = x.cuda()\n        self.y = x.cuda().cpu()\n    \
             def __getitem__(self, i):\n        assert self.x.device  # self.x[i]\n        return \
             self.y[i], self.x.shape[0]\nloader = DataLoader(Data(rows), num_workers=4)\n",
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
    let Use { name, location, class, kept } =
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
    let certain = (before || kept) && (forked || context.is_some());
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
    /// Whether the parent process has put something on the GPU for it.
    kept: bool,
}

/// A dataset that uses CUDA for each item.
fn in_dataset(program: &Program, loader: &Call) -> Option<Use> {
    let data = loader.argument(0, "dataset")?;
    let through = program.value(&data.text, &loader.function, loader.at.start);
    let made = program.call_at(&data.at).or_else(|| program.call_at(&through?.at))?;
    if let Some(class) = dataset(program, &made.name) {
        let used = of_class(&Made { program, call: made, home: program, class })?;
        let class = (!used.2).then(|| class.at.clone());
        return Some(Use { name: used.0, location: used.1.into(), class, kept: used.2 });
    }
    let (_, name) = made.name.rsplit_once('.')?;
    let file = program.module_of(&made.name)?;
    let home = file.program(program.catalog);
    let class = dataset(home, name)?;
    let used = of_class(&Made { program, call: made, home, class })?;
    let other = Some(Rc::new(OtherFile { path: file.name.clone(), by: None }));
    Some(Use { name: used.0, location: Location::new(other, used.1), class: None, kept: used.2 })
}

fn dataset<'p>(program: &'p Program, name: &str) -> Option<&'p Class> {
    program.classes.iter().find(|class| class.name == name && class.bases.contains("Dataset"))
}

/// A function that makes batches of items on the GPU.
fn in_collate(program: &Program, loader: &Call) -> Option<Use> {
    let function = program.function(&loader.argument(6, "collate_fn")?.text)?;
    let call =
        program.calls.iter().find(|call| call.function == function.at && uses_cuda(program, None, call))?;
    Some(Use { name: function.name.clone(), location: call.line.into(), class: None, kept: false })
}

/// The methods whose results the workers hand on.
const METHODS: &[&str] = &["__getitem__", "__getitems__", "__iter__"];

/// What uses CUDA of a dataset, and the line.
fn of_class(made: &Made<'_>) -> Option<(String, usize, bool)> {
    let methods = || METHODS.iter().filter_map(|name| Some((name, made.home.method(made.class, name)?)));
    let direct = methods().find_map(|(name, method)| {
        let mut calls = made.home.calls.iter().filter(|call| call.function == method.at);
        let used = calls.find(|call| uses_cuda(made.home, Some(made), call))?;
        Some((format!("{}.{name}", made.class.name), used.line, false))
    });
    direct.or_else(|| {
        let kept = members_on_gpu(made);
        methods().find_map(|(name, method)| {
            let text = made.home.text.get(method.at.clone())?;
            kept.iter().find_map(|one| {
                let line = method.line + computes_with(text, &one.name)?;
                let of = format!(
                    "{}.{name} computes with {}, which is on the GPU since line {}; it",
                    made.class.name, one.name, one.line
                );
                Some((of, line, true))
            })
        })
    })
}
