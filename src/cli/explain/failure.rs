//! Explanations of signatures, error codes and lines of a log.

use catalog::Catalog;
use diagnose::code::{Code, code, numbered};
use diagnose::report::signature;
use diagnose::scan::{Hit, Scanner};
use diagnostic::error::{Error, Kind};
use diagnostic::words;

/// The page of a signature, by its id.
pub(in crate::cli) fn signature_page(catalog: &'static Catalog, id: &str, width: usize) -> Option<String> {
    catalog.signatures().signature(id).map(|one| signature::signature(one, width))
}

/// The explanation of a signature id, an error code or a log line; `None` if it is none of them.
pub(super) fn failure(
    catalog: &'static Catalog,
    text: &str,
    id: &str,
    width: usize,
) -> Option<Result<String, Error>> {
    if let Some(page) = signature_page(catalog, id, width) {
        return Some(Ok(page));
    }
    if let Some(known) = code(catalog, text) {
        return Some(of_code(catalog, known, width));
    }
    match &numbered(catalog, text)[..] {
        [] => {}
        [only] => return Some(of_code(catalog, *only, width)),
        all => return Some(Err(several(text, all))),
    }
    let mut hits = found(catalog, text);
    if hits.is_empty() && is_missing_command(text) {
        // People type the message without the name of the shell, which signatures require.
        hits = found(catalog, &format!("bash: {text}"));
    }
    (!hits.is_empty()).then(|| Ok(signature::hits(catalog, &hits, width)))
}

fn of_code(catalog: &'static Catalog, code: Code, width: usize) -> Result<String, Error> {
    match code {
        Code::Xid(row) => Ok(signature::of_xid(row, width)),
        Code::Sxid(row) => Ok(signature::of_sxid(row, width)),
        Code::Cuda(row) => {
            let lines = format!("CUDA error: {}\n{}", row.text, row.name);
            Ok(signature::of_cuda(catalog, row, &found(catalog, &lines), width))
        }
        Code::Unknown(kind, number) => {
            let error = Error::new(Kind::Usage, format!("the catalog has no {kind} {number}"));
            Err(match kind {
                "CUDA error" => {
                    error.hint("it has the codes of CUDA 12 and 13; older releases may use other numbers")
                }
                _ => error,
            })
        }
    }
}

/// The error about a number that stands for several failures.
fn several(number: &str, all: &[Code]) -> Error {
    let names: Vec<String> = all.iter().map(Code::to_string).collect();
    Error::new(Kind::Usage, format!("{} may be {}", number.trim(), words::or(&names)))
        .hint(format!("for example: envdoc explain {}", names[0]))
}

/// Whether a text is `PROGRAM: command not found`, as shells print it behind their name.
fn is_missing_command(text: &str) -> bool {
    let program = text.strip_suffix(": command not found").or_else(|| text.strip_suffix(": not found"));
    program.is_some_and(|name| !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == ':'))
}

/// The matching signatures, each once, root causes first.
fn found(catalog: &'static Catalog, lines: &str) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    for hit in lines.lines().flat_map(|line| Scanner::new(catalog).scan(line)) {
        if !hits.iter().any(|known| known.signature.id == hit.signature.id) {
            hits.push(hit);
        }
    }
    hits.sort_by_key(|hit| hit.signature.role);
    hits
}

pub(super) fn unmatched(catalog: &Catalog) -> Error {
    let count = catalog.signatures().all().len();
    Error::new(Kind::Usage, "no signature matches this line; its meaning is unknown").hint(format!(
        "{count} failure messages are known (docs/signatures.md); try the first error of the log"
    ))
}
