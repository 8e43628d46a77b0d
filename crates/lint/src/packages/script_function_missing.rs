//! A console script for a function that its module does not define.

use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "script-function-missing",
    severity: Severity::Error,
    summary: "console scripts name functions of their modules",
    explain: include_str!("script_function_missing.md"),
    judge: Judge::Packages(judge),
    fires: &[named_with(
        "pyproject.toml",
        "[project]\nname = \"trainer\"\nversion = \"1\"\n\n[project.scripts]\ntrain = \"trainer.cli:main\"\n",
        &[(
            "trainer/cli.py",
            "import argparse\n\n\ndef run():\n    pass\n\n\nif __name__ == \"__main__\":\n    run()\n",
        )],
    )],
    silent: &[
        named_with(
            "pyproject.toml",
            "[project]\nname = \"trainer\"\nversion = \"1\"\n\n[project.scripts]\ntrain \
             = \"trainer.cli:main\"\n",
            &[("trainer/cli.py", "def main():\n    pass\n")],
        ),
        named_with(
            "pyproject.toml",
            "[project]\nname = \"trainer\"\nversion = \"1\"\n\n[project.scripts]\ntrain \
             = \"trainer.cli:main\"\n",
            &[("src/trainer/cli.py", "from .app import *\n")],
        ),
    ],
};

fn judge(list: &PackageList) -> Vec<Found> {
    let scripts = scripts(list);
    scripts
        .into_iter()
        .filter_map(|(name, module, function)| fault(list, &name, &module, &function))
        .collect()
}

/// The console scripts: name, module, function.
pub(crate) fn scripts(list: &PackageList) -> Vec<(String, String, String)> {
    let table = list.text.parse::<toml::Table>().ok().filter(|_| list.kind == Kind::Pyproject);
    let scripts = table.as_ref().and_then(|table| table.get("project")?.get("scripts")?.as_table());
    let one = |(name, value): (&String, &toml::Value)| {
        let (module, function) = value.as_str()?.split_once(':')?;
        let function = function.split(['.', '[']).next()?.trim();
        Some((name.clone(), module.trim().to_owned(), function.to_owned()))
    };
    scripts.into_iter().flatten().filter_map(one).collect()
}

/// The files that a module may be.
pub(crate) fn files_of(module: &str) -> Vec<String> {
    let path = module.replace('.', "/");
    let folders = ["", "src/"];
    folders
        .iter()
        .flat_map(|folder| [format!("{folder}{path}.py"), format!("{folder}{path}/__init__.py")])
        .collect()
}

fn fault(list: &PackageList, name: &str, module: &str, function: &str) -> Option<Found> {
    let mut there = files_of(module)
        .into_iter()
        .filter_map(|path| Some((path.clone(), list.context.get(&path)?.as_ref()?)));
    let (path, text) = there.next().filter(|_| there.next().is_none())?;
    // Names that come from elsewhere.
    let hidden = ["import *", "__getattr__", "globals(", "exec(", "setattr(", "__path__", "lazy"];
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>().join("\n");
    let words = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    if hidden.iter().any(|word| code.contains(word)) || words.into_iter().any(|word| word == function) {
        return None;
    }
    let line = list.text.lines().position(|line| line.contains(&format!("{module}:{function}"))).unwrap_or(0);
    let message = format!("{path} does not define {function}; the command {name} fails with ImportError");
    Some(Found::error(line + 1, message, "Name a function of the module, or define it"))
}
