//! A requirements file for `pip install -r` and `uv pip install -r`.
//!
//! A CUDA build of torch that is not PyPI's is on an index of its own, which also holds old copies of
//! numpy and others: as an extra index uv would prefer it to PyPI, and pip would treat both alike. So the
//! pages of torch and its partners alone are named.

use catalog::Catalog;
use std::fmt::Write;

use super::{Report, comments, flash_attn_apart};
use crate::install::{flash_attn_wheel, on_torch_index, other_packages, partners, torch_pin, unchecked};
use crate::outcome::Stack;

/// `requirements.txt` that pins the stack, with the index of the torch build.
pub fn file(catalog: &Catalog, report: &Report, stack: &Stack) -> String {
    let mut text = comments(report, stack);
    if let Some(url) = &stack.index_url {
        for name in on_torch_index(stack) {
            let _ = writeln!(text, "--find-links {url}/{name}/");
        }
    }
    let pins = [torch_pin(stack)]
        .into_iter()
        .chain(partners(stack))
        .chain(other_packages(stack))
        .chain(unchecked(stack));
    for pin in pins {
        let _ = writeln!(text, "{pin}");
    }
    if let Some(version) = stack.packages.get("flash-attn") {
        match flash_attn_wheel(catalog, stack, version) {
            Some(wheel) => {
                let _ = writeln!(text, "{wheel}");
            }
            None => text.push_str(&flash_attn_apart(version, "pip install")),
        }
    }
    text
}
