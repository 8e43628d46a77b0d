//! The CUDA builds that index lines name.

use catalog::torch::is_cuda_build;

use crate::declare::build_of_page;
use crate::declared::{Declared, Index};
use crate::project::Project;

/// The indexes of one CUDA build, and the build.
pub(super) fn of_builds(project: &Project) -> impl Iterator<Item = (usize, &Declared<Index>, &str)> {
    project.indexes.iter().enumerate().filter_map(|(position, one)| {
        let build = build_of_page(&one.value.url).filter(|build| is_cuda_build(build))?;
        Some((position, one, build))
    })
}
