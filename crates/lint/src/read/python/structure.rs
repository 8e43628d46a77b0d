//! What encloses the calls of a script: branches, functions, loops.

use std::ops::Range;

use tree_sitter::Node;

use super::Program;
use super::parts::{Assignment, Branch, Class, Function};

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
            "function_definition" => {
                let Some(name) = node.child_by_field_name("name") else { return };
                self.functions.push(Function { name: of(name), at: node.byte_range() });
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
    use crate::read::python::Program;

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
}
