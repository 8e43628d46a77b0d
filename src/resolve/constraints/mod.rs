//! The constraints, one file each, and their list.

mod asked_for;
mod base_cuda;
mod glibc;
mod gpu_code;
mod python_wheel;
mod requirements;

use super::constraint::Constraint;

/// All constraints; the reasons of a refusal stand in this order.
pub const CONSTRAINTS: &[Constraint] = &[
    asked_for::BUILD,
    gpu_code::CONSTRAINT,
    asked_for::PYTHON,
    python_wheel::CONSTRAINT,
    asked_for::BASE,
    base_cuda::CONSTRAINT,
    glibc::CONSTRAINT,
    asked_for::PACKAGE,
    python_wheel::PACKAGE,
    requirements::TORCH,
    requirements::PACKAGES,
];
