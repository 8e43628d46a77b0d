//! Why it is this base image.

use super::Explainer;
use super::entry::entry;
use crate::constraints::{base_cuda, requested};
use crate::outcome::Decision;
use crate::rank;
use crate::request;
use crate::universe::{Base, Cuda, Universe, series};
use catalog::images::Image;
use catalog::systems::System;
use diagnostic::words;

impl<'u> Explainer<'u, '_> {
    pub(super) fn base_image(&self, universe: &'u Universe) -> Decision {
        let base = self.choice.environment.base;
        let Some(image) = base.image else {
            let message = "no image was requested: the stack goes into an environment on the machine itself.";
            return entry("base_image", "none".into(), message.into(), vec![requested::BASE.id], &[]);
        };
        let mut constraints = vec![base_cuda::CONSTRAINT.id];
        let what = if self.criteria.bases.is_empty() {
            let with = if base.has_nvcc() == Some(true) { " that has nvcc, to compile with" } else { "" };
            match &base.cuda {
                Some(cuda) => format!("the leanest {} image with CUDA {cuda}{with}", image.repository),
                None if self.choice.environment.build.is_cpu() => {
                    "the leanest image without CUDA: a CPU build of torch needs none".to_owned()
                }
                None => {
                    format!("{}; torch's wheels contain the CUDA libraries", self.no_cuda_image(universe))
                }
            }
        } else {
            constraints.push(requested::BASE.id);
            self.newest_image().unwrap_or_else(|| "as requested".to_owned())
        };
        let newer = self.newer_systems(universe, base);
        let what = match self.criteria.gpu_with_processor() {
            Some((gpu, processor)) => format!("{what}, for {processor}: the {} comes with it", gpu.name),
            None => what,
        };
        let message = if newer.is_empty() { format!("{what}.") } else { format!("{what}. {newer}") };
        entry("base_image", image.reference(), message, constraints, [&image.source])
    }

    /// The newest compatible image of NVIDIA's, and the newer ones whose contents are unknown.
    fn newest_image(&self) -> Option<String> {
        let chosen = self.choice.environment.build.image?;
        if self.criteria.bases.iter().any(|requirement| matches!(requirement, request::Base::Image(_))) {
            return None;
        }
        let unknown = |image: &&Image| image.tag > chosen.tag && !image.lacks().is_empty();
        let newer: Vec<&str> = self
            .criteria
            .catalog
            .images()
            .of(chosen.repository)
            .iter()
            .filter(unknown)
            .map(|image| image.tag.as_str())
            .collect();
        Some(match newer.is_empty() {
            true => "the newest compatible image of NVIDIA's".to_owned(),
            false => {
                let newer = words::and(&newer);
                format!("the newest compatible image of NVIDIA's; too little is known about {newer}")
            }
        })
    }

    /// Why it is an image without CUDA.
    fn no_cuda_image(&self, universe: &'u Universe) -> String {
        let environment = &self.choice.environment;
        let first = rank::bases(universe, &self.criteria, environment.build, rank::Tier::First);
        let reasons = first.iter().map(|base| self.base(environment.build, environment.python, base));
        let cuda = environment.build.cuda().map_or_else(String::new, Cuda::text);
        match reasons.flatten().next() {
            None if first.is_empty() => format!("the catalog knows no nvidia/cuda image with CUDA {cuda}"),
            None => format!("no nvidia/cuda image with CUDA {cuda} is compatible"),
            Some(reason) => {
                format!("no nvidia/cuda image with CUDA {cuda} is compatible: {}", reason.sentence())
            }
        }
    }

    /// Why it is not the next newer system of the same family.
    fn newer_systems(&self, universe: &'u Universe, base: &Base) -> String {
        let (Some(system), Some(image)) = (base.system, base.image) else { return String::new() };
        if !self.criteria.systems.is_empty() || !self.criteria.bases.is_empty() {
            return String::new();
        }
        let family = system.id.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let is_newer = |other: &&System| other.id.starts_with(family) && other.released > system.released;
        let newer = self.criteria.catalog.systems().all().iter().find(is_newer);
        let Some(other) = newer else { return String::new() };
        let of_system =
            |one: &&Base| one.system.is_some_and(|system| system.id == other.id) && one.cuda.is_some();
        let there: Vec<&Base> = universe.bases(image.repository).iter().filter(of_system).collect();
        let minor = |base: &Base| base.cuda.as_ref().map(series);
        let first = there.iter().filter_map(|one| one.cuda.as_ref()).min();
        let Some(first) = first else { return String::new() };
        let same_cuda: Vec<&&Base> = there.iter().filter(|one| minor(one) == minor(base)).collect();
        let Some(one) = same_cuda.iter().find(|one| one.flavour == base.flavour) else {
            if !same_cuda.is_empty() {
                return String::new();
            }
            return format!(
                "There is none for {}, where {} begins with CUDA {first}.",
                other.name, image.repository
            );
        };
        let environment = &self.choice.environment;
        match self.base(environment.build, environment.python, one).first() {
            Some(reason) => format!("Not {}: {}.", other.name, reason.sentence()),
            None if base.provides_python(self.criteria.catalog, environment.python)
                && !one.provides_python(self.criteria.catalog, environment.python) =>
            {
                format!("{} has Python {}, {} does not.", system.name, environment.python.text, other.name)
            }
            None => String::new(),
        }
    }
}
