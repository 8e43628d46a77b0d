//! Rules for Dockerfiles: one file a rule, named after the fault.

pub mod base_image_missing;
pub mod broken_shell_words;
pub mod externally_managed_python;
pub mod python_not_in_archive;
pub mod torch_index_missing;
pub mod torch_partners_mismatch;
pub mod torch_python_mismatch;
pub mod torch_release_missing;
