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

/// A `for`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loop {
    /// What runs: `epoch`.
    pub over: String,
    /// Through what: `range(args.epochs)`.
    pub through: String,
}

/// A `try`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Try {
    /// Its body, bytes.
    pub body: Range<usize>,
    /// Its handlers, bytes.
    pub handlers: Vec<Range<usize>>,
}

/// An `if`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Branch {
    /// As written: `rank == 0`.
    pub condition: String,
    /// What runs where it holds, bytes.
    pub body: Range<usize>,
    /// Whether it has neither `elif` nor `else`.
    pub alone: bool,
}

/// Names of the number of a rank, without what they belong to.
const RANKS: &[&str] = &["rank", "local_rank", "global_rank", "ddp_rank", "get_rank()", "RANK", "LOCAL_RANK"];

/// Names of the first rank.
const FIRST: &[&str] =
    &["is_main_process", "is_main_process()", "is_master", "master_process", "main_process"];

impl Branch {
    /// Whether it holds on the first rank only, alone or of each node.
    pub(crate) fn is_first_rank(&self) -> bool {
        let text: String = self.condition.chars().filter(|letter| !letter.is_whitespace()).collect();
        let text = text.trim_start_matches('(').trim_end_matches(':');
        let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
        match text.split_once("==") {
            Some((rank, "0")) | Some(("0", rank)) => RANKS.contains(&last(rank).as_str()),
            _ => FIRST.contains(&last(text).as_str()),
        }
    }

    /// Whether a call is in what it guards, and not in a function that is only defined there.
    pub(crate) fn guards(&self, call: &Call) -> bool {
        let within = self.body.start <= call.at.start && call.at.end <= self.body.end;
        let defined = self.body.start <= call.function.start && !call.function.is_empty();
        within && !defined
    }
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
