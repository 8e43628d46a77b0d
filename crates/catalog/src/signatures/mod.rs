//! Signatures: the wordings by which failures are recognised in logs, what each means, and what distinguishes
//! its causes.
//!
//! One file each, `catalog/signatures/<component>/<id>.yaml`. `build/` packs them into bytes from which the
//! texts are borrowed: reading all of them takes 4.6 million instructions, when a [`Catalog`](super::Catalog)
//! is first asked for them. They are those that the program was built with: the table by which `diagnose`
//! finds their literals is made at build time too, so a directory of newer files has none.

mod rows;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::expression::Expression;

pub use rows::{
    Cause, Component, CountsIf, Derived, MachineFault, Report, Role, Signal, Signature, Unfinished, Verified,
};

/// Every signature, and the expressions that were needed so far.
#[derive(Debug)]
pub struct Signatures {
    rows: Vec<Signature>,
    /// By index of the row.
    expressions: Vec<OnceLock<Option<Expression>>>,
}

impl Signatures {
    pub(crate) fn embedded() -> Signatures {
        let rows: Vec<Signature> =
            postcard::from_bytes(include_bytes!(concat!(env!("OUT_DIR"), "/signatures.bin")))
                .expect("the build script packed these rows");
        let expressions = rows.iter().map(|_| OnceLock::new()).collect();
        Signatures { rows, expressions }
    }

    /// All signatures, by component's folder and id.
    #[inline]
    pub fn all(&self) -> &[Signature] {
        &self.rows
    }

    /// By id; `None`: there is no such signature.
    pub fn signature(&self, id: &str) -> Option<&Signature> {
        self.rows.iter().find(|one| one.id == id)
    }

    /// The row whose texts a derivation takes.
    pub fn derived(&self, derived: Derived) -> Option<&Signature> {
        self.rows.iter().find(|one| one.derived == Some(derived))
    }

    /// Ids of everything that follows from a signature, in one step or several.
    pub fn consequences(&self, id: &str) -> BTreeSet<&'static str> {
        let of = |id: &str| self.signature(id).map_or(&[][..], |one| &one.leads_to);
        let (mut reached, mut open) = (BTreeSet::new(), of(id).to_vec());
        while let Some(next) = open.pop() {
            if next != id && reached.insert(next) {
                open.extend_from_slice(of(next));
            }
        }
        reached
    }

    /// The signature that a launcher's exit code means.
    pub fn of_exit_code(&self, code: i32) -> Option<&Signature> {
        self.rows.iter().find(|one| one.exit_codes.contains(&code))
    }

    /// The expression of the signature at an index, compiled when first asked for; `None` only if it is
    /// wrong, which a test rules out.
    #[inline]
    pub fn expression(&self, index: usize) -> Option<&Expression> {
        self.expressions[index].get_or_init(|| Expression::compiled(self.rows[index].pattern).ok()).as_ref()
    }
}
