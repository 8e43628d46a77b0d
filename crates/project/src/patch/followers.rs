//! Pins of packages whose version the build of torch decides: `triton==3.0.0`, `nvidia-nccl-cu12==2.21.5`.

use catalog::torch::CudaBuild;
use pep440_rs::VersionSpecifiers;
use resolve::torch_layer::comes_with_torch;

use super::NewBuild;
use super::writer::Writer;

/// Takes their versions away: those of the new build come with it.
pub(super) fn change(writer: &mut Writer<'_>, build: &NewBuild) {
    let project = writer.project;
    let mut names: Vec<&str> = Vec::new();
    for (index, one) in project.dependencies.iter().enumerate() {
        let name = one.value.name.as_str();
        if !comes_with_torch(name) || one.value.versions.is_empty() {
            continue;
        }
        if writer.has_hashes(one, &format!("torch=={}", build.torch)) {
            continue;
        }
        if is_of_other_cuda(name, &build.name) {
            writer.hand(format!("remove {}: torch {} requires other packages", one.origin, build.torch));
        } else if writer.specifier(&one.origin, name, |_| Some(String::new())) {
            writer.expected.dependencies[index].value.versions = VersionSpecifiers::empty();
            names.push(name);
        }
    }
    if !names.is_empty() {
        let names = names.join(", ");
        writer.notes.push(format!("torch {} decides the versions of {names}.", build.torch));
    }
}

/// Whether a package (`nvidia-cublas-cu12`) is for another major release of CUDA than a build (`cu118`).
fn is_of_other_cuda(name: &str, build: &str) -> bool {
    let major = |name: &str| CudaBuild::parse(name).map(|build| build.major);
    match name.rfind("-cu").and_then(|at| major(&name[at + 1..])) {
        Some(of_package) => major(build) != Some(of_package),
        None => false,
    }
}
