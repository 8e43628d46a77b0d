//! The reason of each choice, in a sentence or two.

use std::cmp::Reverse;

use super::Explainer;
use super::entry::{entry, requested_text};
use super::merge::{Refused, ranges};
use crate::assemble;
use crate::constraints::{python_wheel, requested, requirements};
use crate::message::{Short, Subject};
use crate::outcome::{Decision, PythonFrom};
use crate::request::{self, Prefer};
use crate::universe::{Build, Release, Universe};
use crate::verdict::Partner;
use diagnostic::words;

impl<'u> Explainer<'u, '_> {
    /// The releases of torch that are newer than the chosen one, newest first, and why none of their builds
    /// is in the answer. Ends before the first of which that is unknown.
    pub(super) fn refused_releases(&self, universe: &'u Universe) -> Vec<Refused> {
        let chosen = &self.choice.environment.build.version;
        let mut newer: Vec<&'u Build> =
            universe.candidates(&self.criteria).iter().filter(|build| build.version > *chosen).collect();
        newer.sort_by_key(|build| Reverse(&build.version));
        let of_release = newer.chunk_by(|one, other| one.version == other.version);
        of_release.map_while(|builds| self.release(universe, builds)).collect()
    }

    /// The reasons, in the order of the choices.
    pub(super) fn decisions(&self, universe: &'u Universe, refused: &[Refused]) -> Vec<Decision> {
        let mut all = vec![self.torch(universe, refused), self.python_choice(), self.base_image(universe)];
        let installed = assemble::installs(&self.criteria, self.choice);
        all.extend(installed.map(|release| self.package_choice(universe, release)));
        all
    }

    fn torch(&self, universe: &'u Universe, refused: &[Refused]) -> Decision {
        let build = self.choice.environment.build;
        let image_named =
            self.criteria.bases.iter().any(|requirement| matches!(requirement, request::Base::Image(_)));
        let image_torch = self.choice.environment.base.image.and_then(|image| image.torch.as_ref());
        let newest = match (refused, requested_text(&self.criteria.torch)) {
            ([], None) if build.image.is_some() => "the torch of the image".to_owned(),
            _ if image_named && (build.image.is_some() || image_torch == Some(&build.release.version)) => {
                "the release in the image".to_owned()
            }
            (_, Some(requirement)) if refused.iter().all(|one| one.is_request) => {
                format!("{requirement} was requested")
            }
            _ if self.installed("torch", &build.version) => "installed already".to_owned(),
            ([], _) if self.criteria.prefer == Prefer::Stable => {
                "the newest that is not the first release of its series".into()
            }
            ([], _) if universe.candidates(&self.criteria).iter().all(|one| one.version <= build.version) => {
                "the newest release".to_owned()
            }
            ([], _) => "the newest release with complete data".to_owned(),
            _ => format!(
                "the newest compatible release. {}",
                ranges(&refused.iter().collect::<Vec<_>>()).join("; ")
            ),
        };
        let less_known = self.less_known(universe, refused).map_or(String::new(), |text| format!(" {text}"));
        let reason = format!("{newest}.{less_known} {}", self.build_choice(universe));
        let partners = [(Partner::Torchvision, &build.torchvision), (Partner::Torchaudio, &build.torchaudio)];
        let partners: Vec<String> = partners
            .iter()
            .filter(|(name, _)| {
                !python_wheel::left_out(&self.criteria, build, self.choice.environment.python, *name)
            })
            .filter_map(|(name, version)| Some(format!("{name} {}", version.as_ref()?)))
            .collect();
        let mut constraints: Vec<&str> = Vec::new();
        for id in refused.iter().flat_map(|one| &one.constraints) {
            if !constraints.contains(id) {
                constraints.push(id);
            }
        }
        let sources = [&build.release.source].into_iter().chain(&build.build.source);
        let chosen = format!("{} ({})", build.release.version, build.build.build);
        let mut torch = entry("torch", chosen, reason, constraints, sources);
        if !partners.is_empty() {
            torch.message = format!("{} With {}.", torch.reason, words::and(&partners));
        }
        torch
    }

    /// Why this build of the release.
    fn build_choice(&self, universe: &'u Universe) -> String {
        let build = self.choice.environment.build;
        let name = &build.build.build;
        if let Some(image) = build.image {
            let release: Vec<String> = build.version.release().iter().map(u64::to_string).collect();
            return format!(
                "NVIDIA's own build in {}: no package index has it, and as a pre-release it does not meet a \
                    requirement such as \
                 torch>={}.",
                image.reference(),
                release.join(".")
            );
        }
        if let Some(requirement) = self.criteria.torch.iter().find(|requirement| requirement.build.is_some())
        {
            return format!("{name}: {} was requested.", requirement.text);
        }
        if self.criteria.cpu {
            return format!("{name}: a CPU build was requested.");
        }
        if let Some(requirement) = requested_text(&self.criteria.cuda) {
            return format!("{name}: CUDA {requirement} was requested.");
        }
        let architecture = self.criteria.architecture();
        if build.on_pypi(architecture) {
            return format!("{name} is the build that PyPI serves.");
        }
        let pypi = universe
            .candidates(&self.criteria)
            .iter()
            .find(|other| other.on_pypi(architecture) && other.version == build.version);
        if pypi.is_none() && build.release.aarch64_build.is_some() && architecture == "aarch64" {
            return format!("{name}: PyPI's aarch64 wheels of this release are CPU builds.");
        }
        match (pypi.and_then(|pypi| self.refused_build(universe, pypi)), self.criteria.oldest_driver()) {
            (Some(message), _) => format!("{name}: PyPI's {message}."),
            (None, Some(driver)) => format!("{name}: driver {driver} knows its CUDA in full."),
            (None, None) => format!("{name}."),
        }
    }

    /// Why another build is not in the answer.
    fn refused_build(&self, universe: &'u Universe, build: &'u Build) -> Option<String> {
        let reasons = self.whole_build(universe, build);
        Some(reasons.first()?.short(Subject::Build).of(&build.build.build))
    }

    fn installed(&self, part: &str, version: &pep440_rs::Version) -> bool {
        let here = self.criteria.installed.get(part);
        self.criteria.prefer == Prefer::Installed
            && here.is_some_and(|one| one.release() == version.release())
    }

    fn python_choice(&self) -> Decision {
        let (python, base, build) =
            (self.choice.environment.python, self.choice.environment.base, self.choice.environment.build);
        let own = base.system.and_then(|system| Some((system, system.python.as_deref()?)));
        let ended = |text: &str| {
            let row = self.criteria.catalog.systems().python(text)?;
            row.end_of_life.as_deref().filter(|day| *day < self.criteria.today)
        };
        let from = assemble::python_from(&self.criteria, self.choice);
        let mut constraints = Vec::new();
        let why = if let Some(requirement) = requested_text(&self.criteria.python) {
            constraints.push(requested::PYTHON.id);
            format!("{requirement} was requested")
        } else if from == PythonFrom::Machine && self.criteria.is_installed(python) {
            "the machine's own, installed already".to_owned()
        } else if base.provides_python(self.criteria.catalog, python) {
            match own.filter(|(_, text)| *text == python.text) {
                Some((system, _)) => format!("the Python of {}", system.name),
                None => "the Python of the image".to_owned(),
            }
        } else if let Some((system, text, day)) =
            own.and_then(|(system, text)| Some((system, text, ended(text)?)))
        {
            format!(
                "the newest compatible version; {}'s own {text} has been past its end of life since {day}",
                system.name
            )
        } else {
            "the newest compatible version".to_owned()
        };
        let companions = base.image.is_some_and(|image| image.torch.is_some() && image.python.is_none());
        let comes = match (from, own) {
            (PythonFrom::Uv, _) if companions => {
                " The Python of the image is unknown, so it comes from uv, with its own torch.".to_owned()
            }
            (PythonFrom::Image | PythonFrom::Machine | PythonFrom::Apt | PythonFrom::Dnf, _) => String::new(),
            (_, Some((system, text))) => format!(" {} ships {text}, so it comes from {from}.", system.name),
            (_, None) => format!(" It comes from {from}."),
        };
        let pythons = match self.criteria.architecture() {
            // PyPI's x86_64 wheels are CUDA builds.
            _ if build.is_cpu() => build.pythons_for(self.criteria.architecture()),
            "x86_64" => build.release.pythons.as_ref(),
            _ => build.release.aarch64_pythons.as_ref(),
        };
        let wheels = pythons.map_or(String::new(), |list| {
            let plain: Vec<&String> = list.iter().filter(|one| !one.ends_with('t')).collect();
            format!(" torch {} has wheels for {}.", build.release.version, words::span(&plain))
        });
        constraints.push(python_wheel::CONSTRAINT.id);
        let source = base
            .system
            .and_then(|system| self.criteria.catalog.systems().python_source(&system.id, &python.text));
        let sources = [&build.release.source].into_iter().chain(source.map(|row| &row.source));
        entry("python", python.text.clone(), format!("{why}.{comes}{wheels}"), constraints, sources)
    }

    fn package_choice(&self, universe: &'u Universe, release: &Release) -> Decision {
        let refused: Vec<Refused> = self.newer_packages(universe, release).collect();
        let newest = universe.package(release.package).and_then(|package| package.releases.first());
        let is_newest = newest.is_some_and(|first| first.version == release.version);
        let requested = requested_text(self.criteria.package(release.package));
        let mut message = match &requested {
            Some(requirement) => format!("{} {requirement} was requested", release.package),
            None if self.installed(release.package, &release.version) => "installed already".to_owned(),
            None if is_newest => "the newest release".to_owned(),
            None => "the newest compatible release".to_owned(),
        };
        let others: Vec<&Refused> =
            refused.iter().filter(|one| !one.constraints.contains(&requested::PACKAGE.id)).collect();
        if !others.is_empty() {
            message = format!("{message}. {}", ranges(&others).join("; "));
        }
        let markers = self.criteria.markers(self.choice.environment.python);
        let required_by: Vec<String> = self
            .choice
            .packages
            .iter()
            .filter(|other| other.requires(release.package, markers).is_some())
            .map(|other| other.package.to_owned())
            .collect();
        if self.criteria.packages.contains_key(release.package) {
            message.push('.');
        } else if !required_by.is_empty() {
            message = format!("{message}. Required by {}.", words::and(&required_by));
        } else if release.package == "numpy" {
            message.push_str(". torch uses it.");
        } else {
            message.push('.');
        }
        let mut constraints: Vec<&str> =
            others.iter().flat_map(|one| one.constraints.iter().copied()).collect();
        if requested.is_some() {
            constraints.push(requested::PACKAGE.id);
        }
        constraints.sort_unstable();
        constraints.dedup();
        let row = self
            .criteria
            .catalog
            .deepspeed()
            .release(&release.text)
            .filter(|_| release.package == "deepspeed");
        let source = row.map_or(release.source, |row| &row.source);
        entry(release.package, release.text.clone(), message, constraints, [source])
    }

    /// The releases of a package that rank before the chosen one, newest first, and why each is incompatible
    /// with the others.
    pub(super) fn newer_packages<'s>(
        &'s self,
        universe: &'u Universe,
        release: &'s Release,
    ) -> impl Iterator<Item = Refused> + 's {
        let newer = universe
            .package(release.package)
            .into_iter()
            .flat_map(|package| &package.releases)
            .take_while(|other| other.version > release.version);
        let why = move |other: &'u Release| {
            let reasons = self.package(other);
            let (message, constraint) = match reasons.first() {
                Some(reason) => (reason.short(Subject::Release), reason.constraint),
                // Alone it would be compatible: then its own requirements are not.
                None => (
                    Short::sentence("its own requirements cannot be met here".to_owned()),
                    requirements::PACKAGES.id,
                ),
            };
            Refused {
                version: other.text.clone(),
                message,
                constraints: vec![constraint],
                is_request: false,
                builds_incomplete: false,
            }
        };
        newer.map(why)
    }
}
