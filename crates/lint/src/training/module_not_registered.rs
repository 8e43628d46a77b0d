//! Layers that a module does not know of.

use crate::read::python::{Call, Class, Program, contains};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "module-not-registered",
    severity: Severity::Error,
    summary: "modules call super().__init__() first and keep their layers in a ModuleList",
    explain: include_str!("module_not_registered.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "net.py",
            "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        \
             self.fc = nn.Linear(2, 2)\n        super().__init__()\n",
        ),
        named(
            "net.py",
            "import torch\nclass Net(torch.nn.Module):\n    def __init__(self, n):\n        \
             super().__init__()\n        \
             self.layers = [torch.nn.Linear(2, 2) for _ in range(n)]\n    def forward(self, x):\n        \
             for layer in self.layers:\n            x = layer(x)\n        return x\n",
        ),
    ],
    silent: &[
        named(
            "net.py",
            "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self, n):\n        \
             super(Net, self).__init__()\n        self.fc = nn.Linear(2, 2)\n        \
             self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(n)])\n        \
             self.losses = [nn.MSELoss(), nn.L1Loss()]\n",
        ),
        named(
            "net.py",
            "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self, n):\n        \
             nn.Module.__init__(self)\n        self.layers = [nn.Linear(2, 2) for _ in range(n)]\n        \
             self.body = nn.Sequential(*self.layers)\n",
        ),
        named(
            "net.py",
            "import torch\nfrom torch import nn\nclass Base(nn.Module):\n    pass\nclass Net(Base):\n    \
             def __init__(self):\n        self.setup()\n        self.n = 3\nclass Plain:\n    def \
             __init__(self):\n        \
             self.fc = nn.Linear(2, 2)\n        self.all = [nn.Linear(2, 2)]\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let modules = program.classes.iter().filter(|class| {
        let bases = class.bases.trim_matches(['(', ')']);
        matches!(bases, "nn.Module" | "torch.nn.Module" | "Module") && resolves(program, bases)
    });
    modules.flat_map(|class| no_init(program, class).into_iter().chain(plain_list(program, class))).collect()
}

/// Whether the name of the base stands for that of torch.
fn resolves(program: &Program, bases: &str) -> bool {
    match bases {
        "torch.nn.Module" => true,
        "nn.Module" => program.imports.get("nn").is_some_and(|full| full == "torch.nn"),
        _ => program.imports.get("Module").is_some_and(|full| full == "torch.nn.Module"),
    }
}

/// Whether a call makes a module with parameters.
fn is_layer(call: &Call) -> bool {
    let Some(name) = call.name.strip_prefix("torch.nn.") else { return false };
    let other = name.contains('.')
        || name.ends_with("Loss")
        || matches!(name, "ModuleList" | "ModuleDict" | "Parameter");
    !other && name.starts_with(|letter: char| letter.is_ascii_uppercase())
}

/// A layer that is assigned before Module.__init__.
fn no_init(program: &Program, class: &Class) -> Option<Found> {
    let init = program.method(class, "__init__")?;
    let first = program.assignments.iter().find(|one| {
        let made = one.name.starts_with("self.").then(|| program.call_at(&one.at)).flatten();
        one.function == init.at && made.is_some_and(is_layer)
    })?;
    let called = program.calls.iter().any(|call| {
        call.function == init.at && call.name.ends_with("__init__") && call.at.start < first.at.start
    });
    let message = format!(
        "{} assigns a layer before Module.__init__ has run; `AttributeError: cannot assign module before \
         Module.__init__() call`",
        class.name
    );
    (!called).then(|| {
        Found::error(first.line, message, "Write `super().__init__()` as the first line of __init__")
    })
}

/// Layers in a list of Python.
fn plain_list(program: &Program, class: &Class) -> Option<Found> {
    let body = program.text.get(class.at.clone())?;
    let list = program.assignments.iter().find(|one| {
        let is_list = one.text.starts_with('[') && one.text.ends_with(']') && contains(&class.at, &one.at);
        let holds = program.calls.iter().any(|call| contains(&one.at, &call.at) && is_layer(call));
        let used = [
            "ModuleList",
            "Sequential",
            "add_module",
            "register_module",
            "ModuleDict",
            "extend",
            "parameters",
        ];
        let name = one.name.strip_prefix("self.").unwrap_or_default();
        // In a loop over the list the call is on a line of its own.
        let registered = ["add_module(", "register_module(", "setattr(self"]
            .iter()
            .any(|word| body.contains(word))
            || body.lines().any(|line| line.contains(name) && used.iter().any(|word| line.contains(word)));
        is_list && holds && !name.is_empty() && !registered
    })?;
    let message = format!(
        "{} is a Python list, so its layers are not part of {}: .to(), the optimizer and DDP do not \
         see them",
        list.name, class.name
    );
    Some(Found::error(list.line, message, format!("Write `{} = nn.ModuleList([…])`", list.name)))
}
