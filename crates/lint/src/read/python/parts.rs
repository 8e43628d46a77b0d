//! What a script is made of, as far as rules look at it.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// What is called, imports written out: `torch.distributed.init_process_group`; `.set_epoch` for a method
    /// of something else.
    pub name: String,
    pub arguments: Vec<Argument>,
    /// Its line, from 1.
    pub line: usize,
    /// Its byte range.
    pub at: Range<usize>,
    /// True if it is behind an `if`, in a handler, or in one branch of a condition.
    pub conditional: bool,
    /// The enclosing function, byte range; empty at the top.
    pub function: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument {
    pub name: Option<String>,
    /// As written.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
    /// Byte range of its value.
    pub at: Range<usize>,
}

/// `name = value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub name: String,
    /// The value as written.
    pub text: String,
    /// The line, from 1.
    pub line: usize,
    /// Byte range of the value.
    pub at: Range<usize>,
    /// The enclosing function, byte range.
    pub function: Range<usize>,
}

/// A statement that is only a name with dots, or a call: `model.eval`, `x.to(device)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    /// As written.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
    /// Its byte range.
    pub at: Range<usize>,
    /// The enclosing function, byte range; empty at the top.
    pub function: Range<usize>,
}

/// `left == right`, with one operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub left: String,
    /// `==`, `<`, `in`.
    pub operator: String,
    pub right: String,
    /// Its line, from 1.
    pub line: usize,
    /// Its byte range.
    pub at: Range<usize>,
    /// The enclosing function, byte range; empty at the top.
    pub function: Range<usize>,
}

/// A `for`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loop {
    /// What runs: `epoch`.
    pub over: String,
    /// Through what: `range(args.epochs)`.
    pub through: String,
    /// Its body, bytes.
    pub body: Range<usize>,
}

/// One way of an `if`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Branch {
    /// The condition as written.
    pub condition: String,
    /// Whether it is the way on which the condition does not hold.
    pub otherwise: bool,
    /// Its statements, bytes.
    pub at: Range<usize>,
    /// Whether it may leave the function or the loop: what follows is then for others.
    pub leaves: bool,
}

/// A function that the script defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function {
    pub name: String,
    pub parameters: Vec<Parameter>,
    /// As written: `@record`.
    pub decorators: Vec<String>,
    /// The line of its `def`, from 1.
    pub line: usize,
    /// The whole definition, bytes.
    pub at: Range<usize>,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub name: String,
    /// Its default value as written.
    pub default: Option<String>,
    pub kind: ParameterKind,
}

/// How a parameter gets its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    /// By its place, or by its name.
    Place,
    /// By its name alone.
    Name,
    /// `*args`.
    Rest,
    /// `**kwargs`.
    Names,
}

/// A class that the script defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Class {
    pub name: String,
    /// What it inherits from, as written: `(Dataset)`.
    pub bases: String,
    /// The whole definition, bytes.
    pub at: Range<usize>,
}

/// A `try`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Try {
    /// Its body, bytes.
    pub body: Range<usize>,
    /// Its handlers, bytes.
    pub handlers: Vec<Range<usize>>,
}

impl Call {
    /// An argument by its keyword.
    pub(crate) fn keyword(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|one| one.name.as_deref() == Some(name))
    }

    /// An argument by its place or its keyword.
    pub(crate) fn argument(&self, index: usize, name: &str) -> Option<&Argument> {
        let plain = self
            .arguments
            .get(index)
            .filter(|_| self.arguments[..=index].iter().all(|one| one.name.is_none()));
        self.keyword(name).or(plain)
    }
}
