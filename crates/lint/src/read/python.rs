//! A training script in Python, read with a real parser and never run: its calls, assignments, loops and what
//! it catches.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use tree_sitter::{Node, Parser};

use super::near::Near;
use super::script::Script;
use crate::file::{File, Over};
use crate::kind::Kind;
use crate::recognize::kind_of_name;
use catalog::Catalog;
use facts::Facts;

mod environment;
mod modules;
mod origin;
mod packages;
mod parts;
mod ranks;
mod structure;
mod text;
use modules::imports;
pub(crate) use origin::Expression;
pub(crate) use packages::Packages;
pub(crate) use parts::{
    Argument, Assignment, Branch, Call, Class, Comparison, Function, Loop, ParameterKind, Statement, Try,
};
pub(crate) use ranks::is_other_ranks;
use structure::Surroundings;
pub(crate) use structure::contains;
pub(crate) use text::{argument_texts, entries, is_name, names, number, string};

#[derive(Debug)]
pub(crate) struct Program {
    /// What it is compared with.
    pub catalog: &'static Catalog,
    pub calls: Vec<Call>,
    /// `name = value`, in order.
    pub assignments: Vec<Assignment>,
    /// `for a in b`.
    pub loops: Vec<Loop>,
    /// `try` with its handlers.
    pub tries: Vec<Try>,
    /// The ways of every `if`.
    pub branches: Vec<Branch>,
    pub functions: Vec<Function>,
    pub classes: Vec<Class>,
    /// `name += value`.
    pub sums: Vec<Assignment>,
    pub statements: Vec<Statement>,
    /// The values of `return`, in order.
    pub returns: Vec<Statement>,
    pub comparisons: Vec<Comparison>,
    /// The bodies of all loops, bytes.
    pub bodies: Vec<Range<usize>>,
    /// The heads and bodies of `with` statements.
    pub contexts: Vec<(String, Range<usize>)>,
    pub text: String,
    /// The name of the file, and the scripts next to it that name it.
    pub name: String,
    pub scripts: Vec<Near<Script>>,
    /// The modules of its directory that it imports.
    pub modules: Vec<Near<Program>>,
    /// Other programs of its directory.
    pub others: Vec<Near<Program>>,
    /// Configurations of accelerate in its directory.
    pub configs: Vec<Over>,
    /// What the lists of packages next to it, or above it, install.
    pub packages: Packages,
    /// Import aliases: `dist` for `torch.distributed`.
    pub imports: BTreeMap<String, String>,
    /// The facts of the target machine, if known.
    pub facts: Option<Rc<Facts>>,
    /// Why Python 3 refuses the file, although the parser takes it, by lines from 1.
    pub refused: Vec<(usize, &'static str)>,
    /// Lines, from 1, of what the parser does not understand, and of what is nested deeper than is read.
    pub unparsed: BTreeSet<usize>,
    /// The first call of each place: start and end, in bytes.
    call_places: BTreeMap<(usize, usize), usize>,
    /// The decorators of the definition that is read next, with its place.
    decorated: Option<(Range<usize>, Vec<String>)>,
}

/// How deep in the syntax tree a script is read: each call keeps its text, which holds that of the calls in
/// it. A call in a call is two levels deeper.
const DEPTH_MAX: usize = 400;

impl Program {
    /// Reads a script; what the parser cannot read is left out, and its lines are in `unparsed`.
    pub(crate) fn read(catalog: &'static Catalog, text: &str) -> Program {
        let mut program = Program {
            catalog,
            calls: Vec::new(),
            assignments: Vec::new(),
            loops: Vec::new(),
            tries: Vec::new(),
            branches: Vec::new(),
            functions: Vec::new(),
            classes: Vec::new(),
            text: text.to_owned(),
            sums: Vec::new(),
            statements: Vec::new(),
            returns: Vec::new(),
            comparisons: Vec::new(),
            bodies: Vec::new(),
            contexts: Vec::new(),
            name: String::new(),
            scripts: Vec::new(),
            modules: Vec::new(),
            others: Vec::new(),
            configs: Vec::new(),
            packages: Packages::default(),
            imports: BTreeMap::new(),
            facts: None,
            refused: Vec::new(),
            unparsed: BTreeSet::new(),
            call_places: BTreeMap::new(),
            decorated: None,
        };
        let mut parser = Parser::new();
        if parser.set_language(&tree_sitter_python::LANGUAGE.into()).is_err() {
            return program;
        }
        let Some(tree) = parser.parse(text, None) else { return program };
        // Without recursion: expressions may be nested as deeply as somebody likes.
        // What is around a node is kept on the way down: `Node::parent` searches from the root each time.
        let mut cursor = tree.walk();
        let mut nodes = Vec::new();
        let mut around = vec![Surroundings::default()];
        let mut down = true;
        loop {
            let node = cursor.node();
            let here = around.last().cloned().unwrap_or_default();
            if down {
                nodes.push((node, here.clone()));
                let too_deep = around.len() >= DEPTH_MAX && node.child_count() > 0;
                if node.is_error() || node.is_missing() || too_deep {
                    program.unparsed.insert(node.start_position().row + 1);
                }
            }
            if down && around.len() < DEPTH_MAX && cursor.goto_first_child() {
                around.push(here.enclosed_by(node));
                continue;
            }
            if cursor.goto_next_sibling() {
                down = true;
                continue;
            }
            if !cursor.goto_parent() {
                break;
            }
            around.pop();
            down = false;
        }
        for (node, _) in nodes.iter().filter(|(node, _)| node.kind().starts_with("import")) {
            program.import(*node, text);
        }
        for (node, around) in nodes {
            program.structure(node, &around.function, text);
            program.node(node, around, text);
        }
        for (index, call) in program.calls.iter().enumerate() {
            program.call_places.entry((call.at.start, call.at.end)).or_insert(index);
        }
        program
    }

    /// Of a file, with the scripts and lists of packages that go with it.
    pub(crate) fn of(file: &File) -> Program {
        let is_list = |other: &Over| kind_of_name(&other.name).is_some_and(Kind::lists_packages);
        let (lists, others): (Vec<Over>, Vec<Over>) = file.over.iter().cloned().partition(is_list);
        let is_config = |other: &Over| other.name.ends_with(".yaml") || other.name.ends_with(".yml");
        let (configs, others): (Vec<Over>, Vec<Over>) = others.into_iter().partition(is_config);
        let (programs, scripts): (Vec<Over>, Vec<Over>) =
            others.into_iter().partition(|other| other.name.ends_with(".py"));
        let (modules, others): (Vec<Over>, Vec<Over>) =
            programs.into_iter().partition(|other| imports(&file.text, &other.name));
        Program {
            others: others.into_iter().map(Near::from).collect(),
            name: file.name.clone(),
            scripts: scripts.into_iter().map(Near::from).collect(),
            configs,
            modules: modules.into_iter().map(Near::from).collect(),
            packages: Packages::of(file.catalog, lists),
            facts: file.facts.clone(),
            ..Program::read(file.catalog, &file.text)
        }
    }

    /// Whether it trains with several processes.
    pub(crate) fn is_distributed(&self) -> bool {
        self.calls.iter().any(|call| {
            matches!(
                call.name.as_str(),
                "torch.distributed.init_process_group"
                    | "deepspeed.init_distributed"
                    | "deepspeed.initialize"
            ) || call.name.ends_with("DistributedDataParallel")
        })
    }

    /// Whether it starts its processes itself, on one machine.
    pub(crate) fn spawns(&self) -> bool {
        self.calls.iter().any(|call| {
            let last = call.name.rsplit('.').next().unwrap_or_default();
            matches!(last, "spawn" | "Process" | "start_processes" | "notebook_launcher")
        })
    }

    /// The value of a name as it was last set before a place, in that function or at the top.
    pub(crate) fn value<'p>(
        &'p self,
        name: &str,
        function: &Range<usize>,
        before: usize,
    ) -> Option<&'p Assignment> {
        let here = |one: &&Assignment| one.name == name && one.at.start < before;
        let of = |function: &Range<usize>| {
            self.assignments.iter().rev().filter(here).find(|one| one.function == *function)
        };
        of(function).or_else(|| of(&(0..0)))
    }

    /// The value that a name has at a place, unless a parameter, a loop or `+=` may make it another.
    pub(crate) fn certain_value<'p>(
        &'p self,
        name: &str,
        function: &Range<usize>,
        before: usize,
    ) -> Option<&'p Assignment> {
        let text = self.text.get(function.clone()).unwrap_or_default();
        let own = self.functions.iter().find(|one| one.at == *function && !function.is_empty());
        let is_parameter = own.is_some_and(|own| own.parameters.iter().any(|one| one.name == name));
        let lambda = text.starts_with("lambda");
        let looped = self.loops.iter().any(|one| names(&one.over).any(|over| over == name));
        let mut all = self.assignments.iter().filter(|one| one.name == name);
        let one = self.value(name, function, before)?;
        let others = all.any(|other| other.at != one.at && (other.function == one.function));
        let changes = others || self.sums.iter().any(|sum| sum.name == name);
        (!is_parameter && !lambda && !looped && !changes).then_some(one)
    }

    /// The call that a piece of text is, whole.
    pub(crate) fn call_at(&self, at: &Range<usize>) -> Option<&Call> {
        self.call_places.get(&(at.start, at.end)).and_then(|index| self.calls.get(*index))
    }

    fn import(&mut self, node: Node, text: &str) {
        let of = |node: Node| text.get(node.byte_range()).unwrap_or_default().to_owned();
        let module = node.child_by_field_name("module_name").map(of);
        let mut cursor = node.walk();
        for name in node.children_by_field_name("name", &mut cursor) {
            let (full, local) = match name.kind() {
                "aliased_import" => {
                    (name.child_by_field_name("name").map(of), name.child_by_field_name("alias").map(of))
                }
                _ => (Some(of(name)), None),
            };
            let Some(full) = full else { continue };
            match &module {
                Some(module) => {
                    let local = local.unwrap_or_else(|| full.clone());
                    self.imports.insert(local, format!("{module}.{full}"));
                }
                // `import torch.distributed` makes `torch` known under its own name.
                None => {
                    if let Some(local) = local {
                        self.imports.insert(local, full);
                    }
                }
            }
        }
    }

    fn node(&mut self, node: Node, around: Surroundings, text: &str) {
        let of = |node: Node| text.get(node.byte_range()).unwrap_or_default().to_owned();
        match node.kind() {
            "call" => {
                let Some(function) = node.child_by_field_name("function") else { return };
                let name = self.resolved(&of(function));
                let arguments = node
                    .child_by_field_name("arguments")
                    .map(|list| arguments(list, text))
                    .unwrap_or_default();
                self.calls.push(Call {
                    name,
                    arguments,
                    line: line(node),
                    at: node.byte_range(),
                    conditional: around.conditional,
                    function: around.function,
                });
            }
            "assignment" => {
                let (Some(left), Some(right)) =
                    (node.child_by_field_name("left"), node.child_by_field_name("right"))
                else {
                    return;
                };
                for (left, right) in paired(left, right) {
                    self.assignments.push(Assignment {
                        name: of(left),
                        text: of(right),
                        line: line(node),
                        at: right.byte_range(),
                        function: around.function.clone(),
                    });
                }
            }
            "expression_statement" => {
                let only = node.named_child(0).filter(|child| matches!(child.kind(), "attribute" | "call"));
                let Some(child) = only.filter(|_| node.named_child_count() == 1) else { return };
                self.statements.push(Statement {
                    text: of(child),
                    line: line(child),
                    at: child.byte_range(),
                    function: around.function,
                });
            }
            "return_statement" => {
                let Some(value) = node.named_child(0) else { return };
                self.returns.push(Statement {
                    text: of(value),
                    line: line(value),
                    at: value.byte_range(),
                    function: around.function,
                });
            }
            "comparison_operator" if node.child_count() == 3 => {
                let part = |index| node.child(index).map(of).unwrap_or_default();
                self.comparisons.push(Comparison {
                    left: part(0),
                    operator: part(1),
                    right: part(2),
                    line: line(node),
                    at: node.byte_range(),
                    function: around.function,
                });
            }
            "for_statement" => {
                let (Some(left), Some(right)) =
                    (node.child_by_field_name("left"), node.child_by_field_name("right"))
                else {
                    return;
                };
                let body = node.child_by_field_name("body").map_or(0..0, |body| body.byte_range());
                self.loops.push(Loop { over: of(left), through: of(right), body });
            }
            "try_statement" => {
                let Some(body) = node.child_by_field_name("body") else { return };
                let mut cursor = node.walk();
                let handlers = node.children(&mut cursor).filter(|child| child.kind().starts_with("except"));
                self.tries.push(Try {
                    body: body.byte_range(),
                    handlers: handlers.map(|one| one.byte_range()).collect(),
                });
            }
            _ => {}
        }
    }

    /// A dotted name with its import written out; `.last` for what is called on something else.
    fn resolved(&self, text: &str) -> String {
        let plain = text.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.');
        if !plain {
            return format!(".{}", text.rsplit('.').next().unwrap_or_default());
        }
        let (first, rest) = text.split_once('.').map_or((text, ""), |(first, rest)| (first, rest));
        match self.imports.get(first) {
            Some(full) if rest.is_empty() => full.clone(),
            Some(full) => format!("{full}.{rest}"),
            None => text.to_owned(),
        }
    }
}

/// What an assignment gives to each of its names: `a, b = 1, 2` is two assignments, and in `a = b = 1` the
/// first name gets the 1 too.
fn paired<'t>(left: Node<'t>, right: Node<'t>) -> Vec<(Node<'t>, Node<'t>)> {
    let mut value = right;
    while let Some(inner) = value.child_by_field_name("right").filter(|_| value.kind() == "assignment") {
        value = inner;
    }
    let parts = |node: Node<'t>, kinds: &[&str]| -> Option<Vec<Node<'t>>> {
        let mut cursor = node.walk();
        let parts: Vec<Node> =
            node.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect();
        let plain = !parts.iter().any(|part| part.kind().contains("splat"));
        (kinds.contains(&node.kind()) && plain).then_some(parts)
    };
    let names = parts(left, &["pattern_list", "tuple_pattern"]);
    match (names, parts(value, &["expression_list", "tuple"])) {
        (Some(names), Some(values)) if names.len() == values.len() => names.into_iter().zip(values).collect(),
        _ => vec![(left, value)],
    }
}

fn line(node: Node) -> usize {
    node.start_position().row + 1
}

fn arguments(list: Node, text: &str) -> Vec<Argument> {
    let of = |node: Node| text.get(node.byte_range()).unwrap_or_default().to_owned();
    let mut cursor = list.walk();
    let inner = list.named_children(&mut cursor).filter(|node| node.kind() != "comment");
    inner
        .map(|node| match node.kind() {
            "keyword_argument" => {
                let value = node.child_by_field_name("value").unwrap_or(node);
                let name = node.child_by_field_name("name").map(of);
                Argument { name, text: of(value), line: line(value), at: value.byte_range() }
            }
            // `*args` and `**kwargs` may be anything.
            kind if kind.contains("splat") => Argument {
                name: Some("*".to_owned()),
                text: of(node),
                line: line(node),
                at: node.byte_range(),
            },
            _ => Argument { name: None, text: of(node), line: line(node), at: node.byte_range() },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeply_nested_calls_are_read_to_a_limit() {
        let text = format!("{}{}\nlast()\n", "f(".repeat(30_000), ")".repeat(30_000));
        let started = std::time::Instant::now();
        let calls = Program::read(catalog::testing::catalog(), &text).calls;
        assert!((100..400).contains(&calls.len()), "{}", calls.len());
        assert_eq!(calls.last().unwrap().name, "last");
        assert!(started.elapsed().as_secs() < 20, "it took minutes");
    }

    #[test]
    fn calls_and_names() {
        let text = "import torch.distributed as dist\nfrom datetime import timedelta\nimport torch\n\n\
            def main():\n    if x:\n        dist.barrier()\n    rank = dist.get_rank()\n    \
            dist.init_process_group(\"nccl\", timeout=timedelta(seconds=60 * 60), **k)\n    a().b(1)\n    \
            torch.cuda.set_device(rank)\n";
        let program = Program::read(catalog::testing::catalog(), text);
        let names: Vec<(&str, usize, bool)> =
            program.calls.iter().map(|call| (call.name.as_str(), call.line, call.conditional)).collect();
        assert_eq!(
            names,
            [
                ("torch.distributed.barrier", 7, true),
                ("torch.distributed.get_rank", 8, false),
                ("torch.distributed.init_process_group", 9, false),
                ("datetime.timedelta", 9, false),
                (".b", 10, false),
                ("a", 10, false),
                ("torch.cuda.set_device", 11, false),
            ]
        );
        let init = &program.calls[2];
        assert_eq!(init.argument(0, "backend").unwrap().text, "\"nccl\"");
        let timeout = init.keyword("timeout").unwrap();
        assert_eq!(program.call_at(&timeout.at).unwrap().name, "datetime.timedelta");
        let set = &program.calls[6];
        let rank = program.value("rank", &set.function, set.at.start).unwrap();
        assert_eq!(program.call_at(&rank.at).unwrap().name, "torch.distributed.get_rank");
        assert!(program.is_distributed() && !program.spawns());
    }

    #[test]
    fn assignments_of_several_names() {
        let text = "a, b = x(), y()\n(c, d) = (1, 2)\ne = f = 3\ng, h = z()\ni, *j = 1, 2\n";
        let program = Program::read(catalog::testing::catalog(), text);
        let all: Vec<_> =
            program.assignments.iter().map(|one| (one.name.as_str(), one.text.as_str())).collect();
        let expected = [
            ("a", "x()"),
            ("b", "y()"),
            ("c", "1"),
            ("d", "2"),
            ("e", "3"),
            ("f", "3"),
            ("g, h", "z()"),
            ("i, *j", "1, 2"),
        ];
        assert_eq!(all, expected);
        assert_eq!(program.call_at(&program.assignments[1].at).unwrap().name, "y");
    }

    #[test]
    fn nothing_breaks_it() {
        for text in [
            "",
            "def",
            "a(",
            "try:\n",
            "\"\"\"",
            "é = (",
            "print 'x'\n",
            &"(".repeat(5000),
            "for x in y:\n  a(b=c)\n",
        ] {
            Program::read(catalog::testing::catalog(), text);
        }
    }
}
