//! The constraints, one file each, and their list.

pub(crate) mod architecture;
pub(crate) mod base_cuda;
pub(crate) mod compiler;
mod cpu_build;
mod deepspeed_nvcc;
mod driver;
pub(crate) mod flash_attn;
mod glibc;
mod gpu_code;
mod gpu_compilable;
mod gpu_driver;
pub(crate) mod image_driver;
mod image_torch;
pub(crate) mod incompatible;
pub(crate) mod nvcc;
mod package_cuda;
mod package_gpu;
pub(crate) mod partners;
mod python_obtainable;
pub(crate) mod python_wheel;
pub(crate) mod requested;
pub(crate) mod requirement_wheels;
pub(crate) mod requirements;
#[cfg(test)]
pub(crate) mod testing;

use super::constraint::Constraint;

/// All constraints; the reasons of a refusal have this order.
pub(crate) const CONSTRAINTS: &[Constraint] = &[
    requested::BUILD,
    cpu_build::CONSTRAINT,
    architecture::GPU,
    gpu_driver::CONSTRAINT,
    gpu_code::CONSTRAINT,
    driver::CONSTRAINT,
    partners::CONSTRAINT,
    requested::PYTHON,
    python_wheel::CONSTRAINT,
    python_wheel::PARTNERS,
    architecture::TORCH,
    requested::BASE,
    base_cuda::CONSTRAINT,
    architecture::BASE,
    image_torch::CONSTRAINT,
    nvcc::CONSTRAINT,
    gpu_compilable::CONSTRAINT,
    compiler::CONSTRAINT,
    image_driver::CONSTRAINT,
    glibc::CONSTRAINT,
    python_obtainable::CONSTRAINT,
    requested::PACKAGE,
    python_wheel::PACKAGE,
    python_wheel::COMPILED,
    architecture::PACKAGE,
    requirement_wheels::CONSTRAINT,
    requirement_wheels::PYTHON,
    package_gpu::CONSTRAINT,
    package_cuda::CONSTRAINT,
    flash_attn::TORCH,
    flash_attn::PYTHON,
    glibc::PACKAGE,
    incompatible::TORCH,
    incompatible::PYTHON,
    deepspeed_nvcc::CONSTRAINT,
    requirements::TORCH,
    requirements::TORCH_ON_PYTHON,
    requirements::TRITON,
    requirements::PACKAGES,
    incompatible::PACKAGES,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn constraints_have_unique_ids_descriptions_and_sources() {
        let ids: BTreeSet<&str> = CONSTRAINTS.iter().map(|one| one.id).collect();
        assert_eq!(ids.len(), CONSTRAINTS.len());
        for one in CONSTRAINTS {
            assert!(one.id.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'-'), "{}", one.id);
            assert!(one.description.ends_with('.') && !one.sources.is_empty(), "{}", one.id);
        }
    }
}
