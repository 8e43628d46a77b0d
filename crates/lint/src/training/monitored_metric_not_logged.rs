//! A metric that a callback of Lightning watches and nothing logs.

use std::collections::BTreeSet;

use crate::read::python::{Call, Class, Program, contains, entries, string};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "monitored-metric-not-logged",
    severity: Severity::Error,
    summary: "callbacks of Lightning monitor metrics that the module logs",
    explain: include_str!("monitored_metric_not_logged.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "fit.py",
            "import lightning as L\nfrom lightning.pytorch.callbacks import ModelCheckpoint\nclass \
             Net(L.LightningModule):\n    def training_step(self, batch, i):\n        loss = \
             self.f(batch)\n        self.log(\"train/loss\", loss)\n        return loss\n    def \
             validation_step(self, batch, i):\n        self.log(\"val/loss\", self.f(batch))\nkeep = \
             ModelCheckpoint(monitor=\"val_loss\", mode=\"min\")\ntrainer = \
             L.Trainer(callbacks=[keep])\ntrainer.fit(Net(), data)\n",
        ),
        named_with(
            "fit.py",
            "import pytorch_lightning as pl\nfrom pytorch_lightning.callbacks import EarlyStopping\nfrom net \
             import Net\ndef main():\n    stop = EarlyStopping(\"valid_acc\", patience=3)\n    net = \
             Net()\n    \
             pl.Trainer(callbacks=[stop]).fit(net)\nmain()\n",
            &[(
                "net.py",
                "import pytorch_lightning as pl\nclass Net(pl.LightningModule):\n    def _step(self, batch, \
                 stage):\n        self.log_dict({f\"{stage}/loss\": 1.0, f\"{stage}/acc\": 0.5})\n    def \
                 validation_step(self, batch, i):\n        self._step(batch, \"val\")\n",
            )],
        ),
    ],
    silent: &[
        named(
            "fit.py",
            "import lightning as L\nfrom lightning.pytorch.callbacks import EarlyStopping, \
             ModelCheckpoint\nclass Net(L.LightningModule):\n    def _step(self, batch, stage):\n        \
             self.log(f\"{stage}_loss\", self.f(batch), on_step=True, on_epoch=True)\n    def \
             validation_step(self, batch, i):\n        self._step(batch, \"val\")\ncalls = \
             [ModelCheckpoint(monitor=\"val_loss\"), EarlyStopping(monitor=\"val_loss_epoch\"), \
             ModelCheckpoint(monitor=\"step\", mode=\"max\"), \
             ModelCheckpoint()]\nL.Trainer(callbacks=calls).fit(Net())\n",
        ),
        named(
            "fit.py",
            "import lightning as L\nfrom lightning.pytorch.callbacks import ModelCheckpoint\nclass \
             Net(L.LightningModule):\n    def validation_step(self, batch, i):\n        for name, value in \
             self.metrics(batch):\n            self.log(name, value)\nkeep = \
             ModelCheckpoint(monitor=\"val_loss\")\nL.Trainer(callbacks=[keep]).fit(Net())\n",
        ),
        named(
            "fit.py",
            "import lightning as L\nfrom lightning.pytorch.callbacks import ModelCheckpoint\nfrom base \
             import \
             Base\nclass Net(Base):\n    def training_step(self, batch, i):\n        self.log(\"a\", \
             1)\nkeep = ModelCheckpoint(monitor=\"val_loss\")\nL.Trainer(callbacks=[keep]).fit(Net())\n",
        ),
    ],
};

/// A name that is logged, with `None` for what is known at run time only: `val_loss`, `{stage}_loss`.
type Name = Vec<Option<String>>;

fn judge(program: &Program) -> Vec<Found> {
    let lightning = program.imports.values().any(|full| full.contains("lightning"));
    let by_hand = ["callback_metrics[", "LightningCLI", "callback_metrics.update"];
    if !lightning || by_hand.iter().any(|word| program.text.contains(word)) {
        return Vec::new();
    }
    let monitors: Vec<(&Call, &str)> =
        program.calls.iter().filter_map(|call| monitored(program, call)).collect();
    if monitors.is_empty() {
        return Vec::new();
    }
    let modules = program.modules.iter().map(|one| one.program(program.catalog));
    let all: Vec<&Program> = std::iter::once(program).chain(modules).collect();
    let Some((logged, validates)) = logged(program, &all) else { return Vec::new() };
    let found = monitors.into_iter().filter(|(_, name)| !logged.iter().any(|one| fits(one, name)));
    found.map(|(call, name)| fault(call, name, &logged, validates)).collect()
}

/// A callback that watches a metric, with the name.
fn monitored<'p>(program: &'p Program, call: &'p Call) -> Option<(&'p Call, &'p str)> {
    let place = match call.name.rsplit('.').next()? {
        "ModelCheckpoint" => 2,
        "EarlyStopping" => 0,
        _ => return None,
    };
    let of_lightning = call.name.contains("lightning");
    let given = call.argument(place, "monitor").filter(|_| of_lightning)?;
    let name = string(program.origin(&given.at, &call.function).text)?;
    // What Lightning itself adds.
    let own = matches!(name, "epoch" | "step") || name.starts_with("lr-") || name.contains("dataloader_idx");
    let off = call.keyword("save_top_k").is_some_and(|one| one.text == "0");
    (!own && !off).then_some((call, name))
}

/// What the modules of a program log, and whether they validate; `None` where some of it is not known.
fn logged(program: &Program, all: &[&Program]) -> Option<(Vec<Name>, bool)> {
    let classes = || all.iter().flat_map(|one| one.classes.iter().map(move |class| (*one, class)));
    let is_module = |class: &Class| {
        let bases = class.bases.trim_matches(['(', ')']).trim();
        matches!(bases.rsplit('.').next(), Some("LightningModule")) && !bases.contains(',')
    };
    let mut fits = program.calls.iter().filter(|call| call.name.rsplit('.').next() == Some("fit")).peekable();
    fits.peek()?;
    let mut validates = false;
    for fit in fits {
        let model = fit.argument(0, "model")?;
        let made = program.origin_call(&model.at, &fit.function)?;
        let name = made.name.rsplit('.').next()?;
        let (home, class) = classes().find(|(_, class)| class.name == name)?;
        if !is_module(class) {
            return None;
        }
        validates |= home.method(class, "validation_step").is_some();
    }
    if hands_itself(all) {
        return None;
    }
    let mut names = Vec::new();
    for one in all {
        for call in &one.calls {
            names.extend(names_of(one, call)?);
        }
    }
    (!names.is_empty()).then_some((names, validates))
}

/// The names that a call logs; `None` where a module logs what is not known.
fn names_of(program: &Program, call: &Call) -> Option<Vec<Name>> {
    const MODULES: &[&str] = &["self", "pl_module", "module", "model", "self.model", "lightning_module"];
    let (object, method) = call.name.rsplit_once('.').unwrap_or(("", &call.name));
    let names = match method {
        "log" => call.arguments.first().and_then(|given| {
            let given = call.keyword("name").unwrap_or(given);
            Some(vec![name(program.origin(&given.at, &call.function).text)?])
        }),
        "log_dict" => call.argument(0, "dictionary").and_then(|given| {
            let entries = entries(program.origin(&given.at, &call.function).text)?;
            entries.into_iter().map(|(key, _)| name(key)).collect()
        }),
        _ => return Some(Vec::new()),
    };
    // Of another object it may be a logarithm, or the log of a program.
    names.or_else(|| (!MODULES.contains(&object)).then(Vec::new))
}

/// Whether a module hands itself to a function that is not known, which may log.
fn hands_itself(all: &[&Program]) -> bool {
    const HARMLESS: &[&str] =
        &["super", "isinstance", "hasattr", "getattr", "setattr", "print", "type", "id"];
    let functions = all.iter().flat_map(|one| one.functions.iter().map(|function| function.name.as_str()));
    let known: BTreeSet<&str> = functions.chain(HARMLESS.iter().copied()).collect();
    all.iter().any(|one| {
        let modules = one.classes.iter().filter(|class| class.bases.contains("LightningModule"));
        let modules: Vec<&Class> = modules.take(CLASSES_LIMIT).collect();
        one.calls.iter().filter(|call| call.arguments.iter().any(|given| given.text == "self")).any(|call| {
            let own = modules.iter().any(|class| contains(&class.at, &call.at));
            own && !known.contains(call.name.rsplit('.').next().unwrap_or_default())
        })
    })
}

/// Modules of a file that are looked at.
const CLASSES_LIMIT: usize = 100;

/// The name that a string or a formatted string gives.
fn name(text: &str) -> Option<Name> {
    if let Some(literal) = string(text) {
        return Some(vec![Some(literal.to_owned())]);
    }
    let mut rest = string(text.strip_prefix('f')?)?;
    let mut parts = Vec::new();
    while let Some((before, after)) = rest.split_once('{') {
        parts.push(Some(before.to_owned()));
        parts.push(None);
        rest = after.split_once('}')?.1;
    }
    parts.push(Some(rest.to_owned()));
    Some(parts)
}

/// Whether a name may be one that is logged; of an epoch and of a step there are others with an ending.
fn fits(logged: &Name, name: &str) -> bool {
    let ends = ["", "_epoch", "_step"].iter().filter_map(|end| name.strip_suffix(end));
    ends.into_iter().any(|name| matches_parts(logged, name))
}

fn matches_parts(parts: &[Option<String>], name: &str) -> bool {
    let (mut rest, mut open) = (name, false);
    for (index, part) in parts.iter().enumerate() {
        let Some(text) = part else {
            open = true;
            continue;
        };
        if open && index + 1 == parts.len() {
            return rest.ends_with(text.as_str());
        }
        let at = if open { rest.find(text.as_str()) } else { rest.starts_with(text.as_str()).then_some(0) };
        let Some(at) = at else { return false };
        rest = &rest[at + text.len()..];
        open = open && text.is_empty();
    }
    open || rest.is_empty()
}

/// Names that a message shows.
const SHOWN: usize = 6;

fn fault(call: &Call, name: &str, logged: &[Name], validates: bool) -> Found {
    let shown = |one: &Name| one.iter().map(|part| part.as_deref().unwrap_or("…")).collect::<String>();
    let all: BTreeSet<String> = logged.iter().map(shown).collect();
    let bare = |text: &str| text.replace(['/', '_', '-', '.', ' '], "").to_ascii_lowercase();
    let near = all.iter().find(|one| bare(one) == bare(name));
    let fix = match near {
        Some(near) => format!("Write `monitor=\"{near}\"`"),
        None => "Write a name that is logged, or log this one".to_owned(),
    };
    let last = call.name.rsplit('.').next().unwrap_or_default();
    let strict = call.keyword("strict").is_none_or(|one| one.text != "False");
    let ends = match last {
        "EarlyStopping" if strict => "EarlyStopping raises RuntimeError at its first check",
        "EarlyStopping" => "it never stops the training",
        _ if validates => "Lightning raises MisconfigurationException after the first validation",
        _ => "no checkpoint is chosen by it",
    };
    let list: Vec<String> = all.iter().take(SHOWN).map(|one| format!("`{one}`")).collect();
    let more = if all.len() > SHOWN { " and others" } else { "" };
    let message = format!(
        "{last} monitors `{name}`, which is never logged (logged: {}{more}); {ends}",
        list.join(", ")
    );
    let certain = if last == "EarlyStopping" { strict } else { validates };
    Found::error(call.line, message, fix).unless_certain(certain)
}
