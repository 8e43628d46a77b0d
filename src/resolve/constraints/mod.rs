//! The constraints, one file each, and their list.

mod architecture;
mod asked_for;
mod base_cuda;
mod compiler;
mod driver;
mod glibc;
mod gpu_code;
mod gpu_compilable;
mod gpu_driver;
mod image_driver;
mod image_torch;
mod nvcc;
mod partners;
mod python_obtainable;
mod python_wheel;
mod requirements;
#[cfg(test)]
mod testing;

use super::constraint::Constraint;

/// All constraints; the reasons of a refusal stand in this order.
pub const CONSTRAINTS: &[Constraint] = &[
    asked_for::BUILD,
    gpu_driver::CONSTRAINT,
    gpu_code::CONSTRAINT,
    driver::CONSTRAINT,
    partners::CONSTRAINT,
    asked_for::PYTHON,
    python_wheel::CONSTRAINT,
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
    requirements::TORCH,
    requirements::PACKAGES,
];
