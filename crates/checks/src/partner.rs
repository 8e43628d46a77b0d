//! A package that is released with PyTorch and must match it: torchvision, torchaudio, triton.

use catalog::Catalog;
use catalog::torch::Release;
use catalog::version::Version;
use diagnostic::Diagnostic;
use facts::python::{PythonEnvironment, Torch};

use crate::{Fix, Severity, Subject, Verdict};

pub(crate) struct Partner<'a> {
    name: &'static str,
    /// With its build: `0.20.1+cu124`.
    pub(crate) installed: &'a str,
    environment: &'a PythonEnvironment,
    torch: &'a Torch,
    catalog: &'static Catalog,
}

impl<'a> Partner<'a> {
    pub(crate) fn find(
        name: &'static str,
        environment: &'a PythonEnvironment,
        torch: &'a Torch,
        catalog: &'static Catalog,
    ) -> Result<Partner<'a>, Verdict> {
        let installed = environment.package(name);
        let installed = *installed.require(&format!("{name} is not installed"))?;
        Ok(Partner { name, installed, environment, torch, catalog })
    }

    /// Without its build: `0.20.1`.
    pub(crate) fn version(&self) -> &'a str {
        self.installed.split('+').next().unwrap_or(self.installed)
    }

    /// `cu124`, where its version names one.
    pub(crate) fn build(&self) -> Option<&'a str> {
        self.installed.split_once('+').map(|(_, build)| build)
    }

    /// The catalog's row for this torch.
    pub(crate) fn release(&self) -> Result<&'static Release, Verdict> {
        self.catalog.torch().release(&self.torch.version).ok_or_else(|| self.unknown())
    }

    pub(crate) fn unknown(&self) -> Verdict {
        let (name, torch) = (self.name, &self.torch.version);
        Verdict::unknown(format!("could not determine which {name} matches torch {torch}"))
    }

    /// Whether it is of the series of `wanted`: 0.20.1 is of 0.20.0's.
    pub(crate) fn is_in_series_of(&self, wanted: &str) -> Result<bool, Verdict> {
        let found = Version::parse(self.version());
        let unreleased = || format!("{} {} is not a released version", self.name, self.installed);
        let found = found.ok_or_else(|| Verdict::unknown(unreleased()))?;
        Ok(Version::parse(wanted).is_some_and(|wanted| wanted.minor() == found.minor()))
    }

    /// Installs `wanted` from the index of torch's own build.
    pub(crate) fn install(&self, wanted: &str) -> Fix {
        let index = match self.torch.build.known() {
            Some(build) => format!(" --index-url https://download.pytorch.org/whl/{build}"),
            None => String::new(),
        };
        let (name, install) = (self.name, self.environment.pip("install"));
        let command = format!("{install} --force-reinstall --no-deps {name}=={wanted}{index}");
        Fix::safe(format!("Install the matching {name}:"), &[&command])
    }

    pub(crate) fn finding(&self, severity: Severity, message: String, fix: Fix) -> Verdict {
        let (name, installed, prefix) = (self.name, self.installed, &self.environment.prefix);
        let evidence = format!("torch {} and {name} {installed} in {prefix}", self.torch.full());
        Diagnostic::new(severity, message).subject(Subject::name(name)).evidence(evidence).fix(fix).into()
    }
}
