//! Signatures: the wordings by which failures are recognised in logs, what each means, and what distinguishes
//! its causes apart.
//!
//! One file each, `catalog/signatures/<component>/<id>.yaml`. `build/` packs them into bytes from which the
//! texts are borrowed: reading all of them takes 4.6 million instructions, at the first use. See [`diagnose`]
//! for how lines are matched.

mod rows;

use std::sync::LazyLock;

pub use rows::{
    Cause, Component, CountsIf, Derived, MachineFault, Report, Role, Signal, Signature, Unfinished, Verified,
};

/// All signatures, by component's folder and id.
pub fn all() -> &'static [Signature] {
    // A signature is known again by where it stands.
    static ALL: LazyLock<Vec<Signature>> = LazyLock::new(|| {
        postcard::from_bytes(include_bytes!(concat!(env!("OUT_DIR"), "/signatures.bin")))
            .expect("the build script packed these rows")
    });
    &ALL
}

/// By id; `None`: there is no such signature.
pub fn signature(id: &str) -> Option<&'static Signature> {
    all().iter().find(|one| one.id == id)
}

/// The row whose texts a derivation takes.
pub fn derived(derived: Derived) -> Option<&'static Signature> {
    all().iter().find(|one| one.derived == Some(derived))
}
