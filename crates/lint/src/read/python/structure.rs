//! What encloses the calls of a script: branches, functions, loops.

use std::ops::Range;

use tree_sitter::Node;

use super::Program;
use super::parts::{Assignment, Branch, Call, Class, Function, Parameter, ParameterKind};

/// Words that leave a function, a loop or the program.
const LEAVING: &[&str] = &["return", "continue", "break", "raise", "exit("];

impl Program {
    pub(super) fn structure(&mut self, node: Node, function: &Range<usize>, text: &str) {
        let of = |node: Node| text.get(node.byte_range()).unwrap_or_default().to_owned();
        match node.kind() {
            "if_statement" | "elif_clause" => self.branch(node, text),
            "for_statement" | "while_statement" => {
                self.bodies.extend(node.child_by_field_name("body").map(|body| body.byte_range()));
            }
            "with_statement" => {
                let Some(body) = node.child_by_field_name("body") else { return };
                let head = text.get(node.start_byte()..body.start_byte()).unwrap_or_default();
                self.contexts.push((head.to_owned(), body.byte_range()));
            }
            "print_statement" => self.refused.push((node.start_position().row + 1, "print")),
            "exec_statement" => self.refused.push((node.start_position().row + 1, "exec")),
            "block" => self.refused.extend(mixed_tabs(node, text).map(|line| (line, "tabs"))),
            "function_definition" => {
                let Some(name) = node.child_by_field_name("name") else { return };
                let list = node.child_by_field_name("parameters");
                let decorators = match self.decorated.take() {
                    Some((at, decorators)) if at == node.byte_range() => decorators,
                    _ => Vec::new(),
                };
                self.functions.push(Function {
                    name: of(name),
                    parameters: list.map(|list| parameters(list, text)).unwrap_or_default(),
                    decorators,
                    line: node.start_position().row + 1,
                    at: node.byte_range(),
                });
            }
            "decorated_definition" => {
                let Some(definition) = node.child_by_field_name("definition") else { return };
                let mut cursor = node.walk();
                let all = node.children(&mut cursor).filter(|child| child.kind() == "decorator");
                self.decorated = Some((definition.byte_range(), all.map(of).collect()));
            }
            "class_definition" => {
                let Some(name) = node.child_by_field_name("name") else { return };
                let bases = node.child_by_field_name("superclasses").map(of).unwrap_or_default();
                self.classes.push(Class { name: of(name), bases, at: node.byte_range() });
            }
            "augmented_assignment" => {
                let (Some(left), Some(right)) =
                    (node.child_by_field_name("left"), node.child_by_field_name("right"))
                else {
                    return;
                };
                self.sums.push(Assignment {
                    name: of(left),
                    text: of(right),
                    line: node.start_position().row + 1,
                    at: right.byte_range(),
                    function: function.clone(),
                });
            }
            _ => {}
        }
    }

    fn branch(&mut self, node: Node, text: &str) {
        let of = |at: Range<usize>| text.get(at).unwrap_or_default();
        let (Some(condition), Some(body)) =
            (node.child_by_field_name("condition"), node.child_by_field_name("consequence"))
        else {
            return;
        };
        let condition = of(condition.byte_range());
        let branch = |at: Range<usize>, otherwise| Branch {
            condition: condition.to_owned(),
            otherwise,
            leaves: LEAVING.iter().any(|word| of(at.clone()).contains(word)),
            at,
        };
        self.branches.push(branch(body.byte_range(), false));
        let mut cursor = node.walk();
        for other in node.children_by_field_name("alternative", &mut cursor) {
            self.branches.push(branch(other.byte_range(), true));
        }
    }

    /// The branches around a place, within its function.
    pub(crate) fn branches_at<'p>(
        &'p self,
        at: &'p Range<usize>,
        function: &'p Range<usize>,
    ) -> impl Iterator<Item = &'p Branch> {
        let holds = |branch: &&Branch| contains(&branch.at, at) && branch.at.start >= function.start;
        self.branches.iter().filter(holds)
    }

    /// Whether a call runs whenever the file is the main program: `if __name__ == "__main__"` is no
    /// condition.
    pub(crate) fn always_runs(&self, call: &Call) -> bool {
        let mut around = self.branches_at(&call.at, &call.function).peekable();
        let main =
            around.peek().is_some() && around.all(|one| one.condition.contains("__name__") && !one.otherwise);
        !call.conditional || main
    }

    /// The innermost loop around a place.
    pub(crate) fn loop_at(&self, at: &Range<usize>) -> Option<&Range<usize>> {
        self.bodies.iter().filter(|body| contains(body, at)).min_by_key(|body| body.len())
    }

    /// The method of a class.
    pub(crate) fn method(&self, class: &Class, name: &str) -> Option<&Function> {
        self.functions.iter().find(|one| one.name == name && contains(&class.at, &one.at))
    }

    /// The only function of a name.
    pub(crate) fn function(&self, name: &str) -> Option<&Function> {
        let mut named = self.functions.iter().filter(|one| one.name == name);
        named.next().filter(|_| named.next().is_none())
    }
}

/// A line of a block that is indented with other blanks than the line before it, to the same column.
fn mixed_tabs(block: Node, text: &str) -> Option<usize> {
    let mut cursor = block.walk();
    let blanks = |node: Node| {
        let start = text.get(..node.start_byte())?.rfind('\n').map_or(0, |at| at + 1);
        text.get(start..node.start_byte())
            .filter(|before| before.chars().all(|one| one == ' ' || one == '\t'))
    };
    let statements = block.named_children(&mut cursor).filter(|child| child.kind() != "comment");
    let mut first: Option<&str> = None;
    for child in statements {
        let Some(own) = blanks(child) else { continue };
        match first {
            Some(other) if other != own && (other.contains('\t') || own.contains('\t')) => {
                return Some(child.start_position().row + 1);
            }
            Some(_) => {}
            None => first = Some(own),
        }
    }
    None
}

/// The parameters of a function.
fn parameters(list: Node, text: &str) -> Vec<Parameter> {
    let of = |node: Node| text.get(node.byte_range()).unwrap_or_default().to_owned();
    let (mut found, mut kind) = (Vec::new(), ParameterKind::Place);
    let mut cursor = list.walk();
    for node in list.named_children(&mut cursor) {
        let named = node.child_by_field_name("name").map(of);
        let parameter = match node.kind() {
            "identifier" => Parameter { name: of(node), default: None, kind },
            "default_parameter" | "typed_default_parameter" => {
                let default = node.child_by_field_name("value").map(of);
                Parameter { name: named.unwrap_or_default(), default, kind }
            }
            "typed_parameter" => {
                let written = node.named_child(0).map(of).unwrap_or_default();
                let kind = match written.bytes().take_while(|byte| *byte == b'*').count() {
                    0 => kind,
                    1 => ParameterKind::Rest,
                    _ => ParameterKind::Names,
                };
                Parameter { name: written.trim_start_matches('*').to_owned(), default: None, kind }
            }
            "list_splat_pattern" => Parameter {
                name: of(node).trim_start_matches('*').to_owned(),
                default: None,
                kind: ParameterKind::Rest,
            },
            "dictionary_splat_pattern" => Parameter {
                name: of(node).trim_start_matches('*').to_owned(),
                default: None,
                kind: ParameterKind::Names,
            },
            "keyword_separator" => {
                kind = ParameterKind::Name;
                continue;
            }
            _ => continue,
        };
        if parameter.kind == ParameterKind::Rest {
            kind = ParameterKind::Name;
        }
        found.push(parameter);
    }
    found
}

/// What is around an expression or a statement.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    /// Whether it runs under a condition, within its function.
    pub conditional: bool,
    /// The bytes of the function that it is in; empty outside functions.
    pub function: Range<usize>,
}

impl Surroundings {
    /// The same for the children of a node.
    pub(super) fn enclosed_by(self, node: Node) -> Surroundings {
        match node.kind() {
            "function_definition" | "lambda" => {
                Surroundings { conditional: false, function: node.byte_range() }
            }
            "if_statement"
            | "elif_clause"
            | "else_clause"
            | "conditional_expression"
            | "except_clause"
            | "boolean_operator" => Surroundings { conditional: true, ..self },
            _ => self,
        }
    }
}

/// Whether one range lies in another.
pub(crate) fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests {
    use crate::read::python::{ParameterKind, Program};

    #[test]
    fn branches_functions_and_loops() {
        let text = "def a(x):\n    if x == 0:\n        b()\n        return\n    elif y:\n        c()\n    \
            else:\n        d()\nwhile True:\n    total += loss\n    with no_grad():\n        e()\n";
        let program = Program::read(catalog::testing::catalog(), text);
        let ways: Vec<_> =
            program.branches.iter().map(|one| (one.condition.as_str(), one.otherwise, one.leaves)).collect();
        let expected =
            [("x == 0", false, true), ("x == 0", true, false), ("x == 0", true, false), ("y", false, false)];
        assert_eq!(ways, expected);
        let call = program.calls.iter().find(|call| call.name == "b").unwrap();
        assert_eq!(program.branches_at(&call.at, &call.function).count(), 1);
        assert_eq!(program.function("a").unwrap().at, call.function);
        assert_eq!((program.sums[0].name.as_str(), program.sums[0].line), ("total", 10));
        assert!(program.loop_at(&program.sums[0].at).is_some() && program.loop_at(&call.at).is_none());
        assert_eq!(program.contexts[0].0, "with no_grad():\n        ");
    }

    #[test]
    fn parameters_and_decorators() {
        let text = "@record\n@a.b(1)\ndef f(a, b: int, c=1, d: int = 2, *rest, e, **more):\n    pass\n\
            class C:\n    def g(self, *, x):\n        pass\n";
        let program = Program::read(catalog::testing::catalog(), text);
        let of = |index: usize| {
            let all = program.functions[index].parameters.iter();
            all.map(|one| (one.name.as_str(), one.default.as_deref(), one.kind)).collect::<Vec<_>>()
        };
        use ParameterKind::{Name, Names, Place, Rest};
        let expected = [
            ("a", None, Place),
            ("b", None, Place),
            ("c", Some("1"), Place),
            ("d", Some("2"), Place),
            ("rest", None, Rest),
            ("e", None, Name),
            ("more", None, Names),
        ];
        assert_eq!(of(0), expected);
        assert_eq!(program.functions[0].decorators, ["@record", "@a.b(1)"]);
        assert_eq!(of(1), [("self", None, Place), ("x", None, Name)]);
        assert!(program.functions[1].decorators.is_empty());
    }
}
