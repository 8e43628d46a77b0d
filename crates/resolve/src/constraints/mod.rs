//! The constraints, one file each, and their list.

mod architecture;
pub(crate) mod asked_for;
mod base_cuda;
pub mod compiler;
mod deepspeed_nvcc;
mod driver;
mod flash_attn;
mod glibc;
mod gpu_code;
mod gpu_compilable;
mod gpu_driver;
pub mod image_driver;
mod image_torch;
mod incompatible;
mod nvcc;
pub mod partners;
mod python_obtainable;
pub mod python_wheel;
mod requirements;
#[cfg(test)]
mod testing;

use super::constraint::Constraint;

/// All constraints; the reasons of a refusal have this order.
pub const CONSTRAINTS: &[Constraint] = &[
    asked_for::BUILD,
    gpu_driver::CONSTRAINT,
    gpu_code::CONSTRAINT,
    driver::CONSTRAINT,
    partners::CONSTRAINT,
    asked_for::PYTHON,
    python_wheel::CONSTRAINT,
    python_wheel::PARTNERS,
    architecture::TORCH,
    asked_for::BASE,
    base_cuda::CONSTRAINT,
    architecture::BASE,
    image_torch::CONSTRAINT,
    nvcc::CONSTRAINT,
    gpu_compilable::CONSTRAINT,
    compiler::CONSTRAINT,
    image_driver::CONSTRAINT,
    glibc::CONSTRAINT,
    python_obtainable::CONSTRAINT,
    asked_for::PACKAGE,
    python_wheel::PACKAGE,
    architecture::PACKAGE,
    flash_attn::TORCH,
    flash_attn::PYTHON,
    glibc::PACKAGE,
    incompatible::TORCH,
    incompatible::PYTHON,
    deepspeed_nvcc::CONSTRAINT,
    requirements::TORCH,
    requirements::PACKAGES,
    incompatible::PACKAGES,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_constraint_is_whole() {
        let ids: BTreeSet<&str> = CONSTRAINTS.iter().map(|one| one.id).collect();
        assert_eq!(ids.len(), CONSTRAINTS.len());
        for one in CONSTRAINTS {
            assert!(one.id.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'-'), "{}", one.id);
            assert!(one.says.ends_with('.') && !one.source.is_empty(), "{}", one.id);
        }
    }
}
