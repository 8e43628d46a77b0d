//! Where the value of an expression comes from: through names, parameters of functions that are called once,
//! and what functions of the script return.

use std::ops::Range;

use super::parts::{Call, ParameterKind};
use super::{Program, is_name, string};

/// An expression of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expression<'p> {
    /// As written.
    pub text: &'p str,
    /// Its byte range.
    pub at: Range<usize>,
    /// The enclosing function, byte range; empty at the top.
    pub function: Range<usize>,
}

/// How many steps are followed.
const STEPS_LIMIT: usize = 8;

impl Program {
    /// The expression that gives another one its value, as far as only one can.
    pub(crate) fn origin(&self, at: &Range<usize>, function: &Range<usize>) -> Expression<'_> {
        let text = |at: &Range<usize>| self.text.get(at.clone()).unwrap_or_default();
        let (mut at, mut function) = (at.clone(), function.clone());
        for _ in 0..STEPS_LIMIT {
            let next = match is_name(text(&at)) {
                true => self.named(text(&at), &at, &function),
                false => self.returned(&at),
            };
            match next {
                Some(next) => (at, function) = next,
                None => break,
            }
        }
        Expression { text: text(&at), at, function }
    }

    /// The call that gives an expression its value.
    pub(crate) fn origin_call(&self, at: &Range<usize>, function: &Range<usize>) -> Option<&Call> {
        self.call_at(&self.origin(at, function).at)
    }

    fn named(
        &self,
        name: &str,
        at: &Range<usize>,
        function: &Range<usize>,
    ) -> Option<(Range<usize>, Range<usize>)> {
        if let Some(own) = name.strip_prefix("self.") {
            let mut sets = self.assignments.iter().filter(|one| one.name == name);
            let set = sets.next().filter(|_| !own.contains('.') && sets.next().is_none())?;
            return Some((set.at.clone(), set.function.clone()));
        }
        if let Some(set) = self.certain_value(name, function, at.start) {
            return (set.at != *at).then(|| (set.at.clone(), set.function.clone()));
        }
        // What is assigned again is not what the caller gave.
        let again = self.assignments.iter().chain(&self.sums);
        if again.into_iter().any(|one| one.name == name && one.function == *function) {
            return None;
        }
        let own = self.functions.iter().find(|one| one.at == *function && !function.is_empty())?;
        let place = own.parameters.iter().position(|one| one.name == name)?;
        let parameter = own.parameters.get(place).filter(|one| {
            matches!(one.kind, ParameterKind::Place | ParameterKind::Name) && own.decorators.is_empty()
        })?;
        let method = own.parameters.first().is_some_and(|first| first.name == "self");
        let is_call = |call: &&Call| match method {
            true => call.name.rsplit('.').next() == Some(own.name.as_str()) && call.name.contains('.'),
            false => call.name == own.name,
        };
        let mut calls = self.calls.iter().filter(is_call);
        let call = calls.next().filter(|_| calls.next().is_none())?;
        let index = if method { place.checked_sub(1)? } else { place };
        let given = match parameter.kind {
            ParameterKind::Name => call.keyword(name),
            _ => call.argument(index, name),
        }?;
        Some((given.at.clone(), call.function.clone()))
    }

    /// What the only `return` of a function of the script gives, where an expression is a call of it.
    fn returned(&self, at: &Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
        let call = self.call_at(at).filter(|call| !call.name.contains('.'))?;
        let function = self.function(&call.name).filter(|one| one.decorators.is_empty())?;
        let mut returns = self.returns.iter().filter(|one| one.function == function.at);
        let only = returns.next().filter(|_| returns.next().is_none())?;
        Some((only.at.clone(), only.function.clone()))
    }

    /// The name of the option that an attribute of parsed arguments holds, with its default:
    /// `args.ckpt_dir` of `add_argument("--ckpt-dir", default="/ckpt")`.
    pub(crate) fn option(&self, text: &str) -> Option<(String, Option<&str>)> {
        let (object, attribute) = text.split_once('.').filter(|(_, rest)| !rest.contains('.'))?;
        let holds = object.contains("arg") || object.contains("opt") || object.contains("cfg");
        let name = |call: &Call| {
            let names = call.arguments.iter().filter(|one| one.name.is_none());
            let mut names = names.filter_map(|one| string(&one.text)?.strip_prefix("--"));
            let name = names.next()?.to_owned();
            let own = call.keyword("dest").and_then(|one| string(&one.text)).map(str::to_owned);
            (own.unwrap_or_else(|| name.replace('-', "_")) == attribute).then_some(name)
        };
        let adds = self.calls.iter().filter(|call| call.name.ends_with("add_argument") && holds);
        adds.into_iter().find_map(|call| {
            let default = call.keyword("default").and_then(|one| string(&one.text));
            Some((name(call)?, default))
        })
    }

    /// The path of a file that an expression names, with what scripts give for options: `"ds.json"`,
    /// `json.load(open("ds.json"))`, `args.config`.
    pub(crate) fn path(
        &self,
        at: &Range<usize>,
        function: &Range<usize>,
        given: &dyn Fn(&str) -> Option<String>,
    ) -> Option<String> {
        self.path_within(at, function, given, STEPS_LIMIT)
    }

    fn path_within(
        &self,
        at: &Range<usize>,
        function: &Range<usize>,
        given: &dyn Fn(&str) -> Option<String>,
        steps: usize,
    ) -> Option<String> {
        let from = self.origin(at, function);
        if let Some(literal) = string(from.text) {
            return Some(literal.to_owned());
        }
        if steps == 0 {
            return None;
        }
        if let Some((option, default)) = self.option(from.text) {
            return given(&option).or_else(|| default.map(str::to_owned));
        }
        // `sys.argv[1]`, by its place.
        if from.text.starts_with("sys.argv[") {
            return given(from.text);
        }
        if let Some(call) = self.call_at(&from.at) {
            let inner = match call.name.as_str() {
                "json.load"
                | "json.loads"
                | "yaml.safe_load"
                | "yaml.load"
                | "yaml.full_load"
                | "omegaconf.OmegaConf.load"
                | "omegaconf.OmegaConf.to_container"
                | "open"
                | "str"
                | "Path"
                | "pathlib.Path"
                | "os.path.abspath"
                | "os.path.realpath"
                | "os.path.expanduser"
                | "dict" => call.arguments.first()?,
                "os.path.join" => call.arguments.last()?,
                _ => return None,
            };
            return self.path_within(&inner.at, &from.function, given, steps - 1);
        }
        // `with open("ds.json") as file`
        let (head, body) = self.contexts.iter().rev().find(|(head, body)| {
            body.contains(&from.at.start)
                && head.trim_end().trim_end_matches(':').trim_end().ends_with(&format!(" as {}", from.text))
        })?;
        let start = body.start - head.len();
        let opened = self
            .calls
            .iter()
            .find(|call| call.name == "open" && call.at.start >= start && call.at.end <= body.start)?;
        let file = opened.arguments.first()?;
        self.path_within(&file.at, &opened.function, given, steps - 1)
    }
}

#[cfg(test)]
mod tests {
    use crate::read::python::Program;

    fn read(text: &str) -> Program {
        Program::read(catalog::testing::catalog(), text)
    }

    fn origin(text: &str) -> String {
        let program = read(text);
        let call = program.calls.iter().find(|call| call.name == "use").unwrap();
        program.origin(&call.arguments[0].at, &call.function).text.to_owned()
    }

    #[test]
    fn values_are_followed() {
        assert_eq!(origin("a = make()\nb = a\nuse(b)\n"), "make()");
        assert_eq!(origin("def f(x, y):\n    use(y)\nf(1, 2 + 3)\n"), "2 + 3");
        assert_eq!(origin("def f(*, y):\n    use(y)\nf(y='z')\n"), "'z'");
        assert_eq!(origin("def build():\n    net = Net()\n    return net\nuse(build())\n"), "Net()");
        assert_eq!(origin("class A:\n    def f(self, y):\n        use(y)\na.f(3)\n"), "3");
        assert_eq!(
            origin(
                "class A:\n    def __init__(self):\n        self.x = 4\n    def f(self):\n        \
                 use(self.x)\n"
            ),
            "4"
        );
    }

    #[test]
    fn what_may_be_another_value_stays() {
        assert_eq!(origin("def f(y):\n    use(y)\nf(1)\nf(2)\n"), "y");
        assert_eq!(origin("def f(y):\n    y = y or 1\n    use(y)\nf(1)\n"), "y");
        assert_eq!(origin("a = 1\na = 2\nuse(a)\n"), "a");
        assert_eq!(
            origin("def build(x):\n    if x:\n        return 1\n    return 2\nuse(build(3))\n"),
            "build(3)"
        );
    }

    #[test]
    fn paths_of_files() {
        let path = |text: &str, given: Option<&str>| {
            let program = read(text);
            let call = program.calls.iter().find(|call| call.name == "use").unwrap();
            let given = |option: &str| given.filter(|_| option == "cfg").map(str::to_owned);
            program.path(&call.arguments[0].at, &call.function, &given)
        };
        let parser = "p.add_argument('--cfg', default='a/ds.json')\nargs = p.parse_args()\n";
        assert_eq!(path(&format!("{parser}use(args.cfg)\n"), None).as_deref(), Some("a/ds.json"));
        assert_eq!(path(&format!("{parser}use(args.cfg)\n"), Some("b.json")).as_deref(), Some("b.json"));
        assert_eq!(path("import json\nuse(json.load(open('c.json')))\n", None).as_deref(), Some("c.json"));
        let with = "import json\nwith open('d.json') as f:\n    cfg = json.load(f)\nuse(cfg)\n";
        assert_eq!(path(with, None).as_deref(), Some("d.json"));
        let in_block = "import json\nwith open('d.json') as f:\n    use(json.load(f))\n";
        assert_eq!(path(in_block, None).as_deref(), Some("d.json"));
        assert_eq!(path("import os\nuse(os.path.join(HERE, 'e.json'))\n", None).as_deref(), Some("e.json"));
        assert_eq!(path("use(x())\n", None), None);
        let program = read("import sys, yaml\nuse(yaml.load(open(sys.argv[1]), Loader=yaml.Loader))\n");
        let call = program.calls.iter().find(|call| call.name == "use").unwrap();
        let given = |name: &str| (name == "sys.argv[1]").then(|| "f.yaml".to_owned());
        assert_eq!(program.path(&call.arguments[0].at, &call.function, &given).as_deref(), Some("f.yaml"));
    }
}
