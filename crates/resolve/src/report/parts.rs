//! Parts that the texts of a stack and of a conflict have in common.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use crate::outcome::Stack;

pub(super) const WARNING: AnsiColor = AnsiColor::Yellow;

pub(super) fn heading(text: &mut String, words: &str) {
    let bold = Style::new().bold();
    let _ = writeln!(text, "\n{bold}{words}{bold:#}");
}

/// The choices that matter most, in one line.
pub fn headline(stack: &Stack) -> String {
    let mut parts = vec![format!("torch {}+{}", stack.torch, stack.torch_build)];
    parts.push(format!("Python {}", stack.python));
    parts.push(stack.target());
    parts.extend(stack.deepspeed.as_ref().map(|version| format!("DeepSpeed {version}")));
    parts.join(" · ")
}
