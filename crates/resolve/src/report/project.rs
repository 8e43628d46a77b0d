//! A pyproject.toml for uv: `uv lock`, `uv sync`.

use catalog::Catalog;
use std::fmt::Write;

use super::{Report, comments, flash_attn_apart};
use crate::install::{flash_attn_wheel, on_torch_index, other_packages, partners, torch_pin, unchecked};
use crate::outcome::Stack;

/// `pyproject.toml` that pins the stack, with the index of the torch build.
pub fn file(catalog: &Catalog, report: &Report, stack: &Stack) -> String {
    let mut text = comments(report, stack);
    let flash_attn = stack.packages.get("flash-attn");
    let wheel = flash_attn.and_then(|version| flash_attn_wheel(catalog, stack, version));
    let pins = [torch_pin(stack)]
        .into_iter()
        .chain(partners(stack))
        .chain(other_packages(stack))
        .chain(unchecked(stack));
    let _ = writeln!(
        text,
        "[project]\nname = \"stack\"\nversion = \"0.1.0\"\nrequires-python = \"=={}.*\"\ndependencies = [",
        stack.python
    );
    for pin in pins.chain(wheel.clone()) {
        let _ = writeln!(text, "    {:?},", pin.to_string());
    }
    let _ = writeln!(
        text,
        "]\n\n[tool.uv]\nenvironments = [\"sys_platform == 'linux' and platform_machine == '{}'\"]",
        stack.architecture
    );
    if let Some(url) = &stack.index_url {
        let index = format!("pytorch-{}", stack.torch_build);
        let _ = writeln!(
            text,
            "\n[[tool.uv.index]]\nname = {index:?}\nurl = {url:?}\nexplicit = true\n\n[tool.uv.sources]"
        );
        for name in on_torch_index(stack) {
            let _ = writeln!(text, "{name} = {{ index = {index:?} }}");
        }
    }
    if let (Some(version), None) = (flash_attn, &wheel) {
        let _ = write!(text, "\n{}", flash_attn_apart(version, "uv pip install"));
    }
    text
}
