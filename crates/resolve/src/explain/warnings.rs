//! Warnings about a stack.

use pep440_rs::Version;

use super::Explainer;
use crate::assemble;
use crate::host_driver::HostDriver;
use crate::install::BREAK_SYSTEM_PACKAGES;
use crate::message::Remark;
use crate::outcome::{PythonFrom, Warning};
use crate::parse;
use crate::request::Gpu;
use crate::search::{self, Judged};
use crate::universe::series;
use catalog::images::Image;
use catalog::version::at_least;

impl Explainer<'_, '_> {
    /// The warnings, each once.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        let mut all = self.judged();
        all.extend(self.ends_of_life());
        all.extend(self.minor_version());
        all.extend(self.drivers_apart());
        all.extend(self.nccl());
        all.extend(self.compilation());
        all.extend(self.sampled());
        all.extend(self.cautions());
        all.extend(self.unchecked());
        all.extend(self.externally_managed());
        let mut each: Vec<Warning> = Vec::new();
        for warning in all {
            if !each.contains(&warning) {
                each.push(warning);
            }
        }
        each
    }

    /// Costs, and facts that the catalog does not have.
    fn judged(&self) -> Vec<Warning> {
        let warning = |judged: Judged| {
            let constraint = judged.constraint;
            Some(match judged.judgement.remark(&judged.candidate)? {
                Remark::Known(text) => Warning { id: constraint.to_owned(), message: sentence(&text) },
                Remark::Unknown(question) => Warning {
                    id: format!("unknown-{constraint}"),
                    message: format!("Unknown: {question}. Verify this before you rely on the stack."),
                },
            })
        };
        search::judge(self.criteria.catalog, self.request, self.choice)
            .into_iter()
            .filter_map(warning)
            .collect()
    }

    fn ends_of_life(&self) -> Vec<Warning> {
        let over = |day: Option<&str>| day.filter(|day| *day < self.criteria.today).map(str::to_owned);
        let (python, base) = (self.choice.environment.python, self.choice.environment.base);
        let mut all = Vec::new();
        if let Some(day) = over(python.end_of_life.as_deref()) {
            let message = format!("Python {} has had no security fixes since {day}.", python.text);
            all.push(Warning { id: "python-end-of-life".into(), message });
        }
        if let Some((system, day)) =
            base.system.and_then(|one| Some((one, over(one.end_of_life.as_deref())?)))
        {
            let message = format!("Standard support of {} ended on {day}.", system.name);
            all.push(Warning { id: "system-end-of-life".into(), message });
        }
        all
    }

    /// A driver older than the build's CUDA: compiled code runs, PTX of that CUDA does not.
    fn minor_version(&self) -> Option<Warning> {
        let cuda = self.choice.environment.build.cuda()?;
        let driver = self.criteria.drivers.iter().min()?;
        let known = self
            .criteria
            .catalog
            .drivers()
            .branch(driver.branch)
            .and_then(|row| row.cuda.as_deref()?.parse::<Version>().ok())?;
        let runs =
            at_least(&driver.to_string(), self.criteria.catalog.cuda().major_driver_min(cuda.major())?)?;
        if series(&known) >= series(&cuda.version) || !runs {
            return None;
        }
        let message = format!(
            "Driver {driver} is older than CUDA {}: it runs by minor-version compatibility, so machine code \
                does, and PTX made by \
             CUDA {0} (kernels compiled at run time by its nvrtc or nvcc) does not.",
            cuda.version
        );
        Some(Warning { id: "minor-version-compatibility".into(), message })
    }

    /// GPUs that no driver supports together: they are on different nodes.
    fn drivers_apart(&self) -> Option<Warning> {
        let driver = HostDriver::of(&self.criteria, self.choice.environment.build);
        let [(newer, first), (older, last)] = driver.apart?;
        let message = format!(
            "No driver supports both the {newer} (branch {first} or newer) and the {older} (branch {last} or \
             older): they need separate nodes."
        );
        Some(Warning { id: "no-common-driver".into(), message })
    }

    fn nccl(&self) -> Option<Warning> {
        let version = self.choice.environment.build.build.nccl.as_deref()?;
        let row = self.criteria.catalog.nccl().release(version)?;
        let fault = row.known_bad.as_deref().filter(|_| !row.known_bad_speed_only)?;
        let own = self.choice.environment.build.cuda()?.major();
        let other_cuda = row.known_bad_cuda_major.is_some_and(|major| major != own);
        let concerns = |capability: &String| {
            let has = |gpu: &&Gpu| format!("{}.{}", gpu.capability.0, gpu.capability.1) == *capability;
            self.criteria.gpus.is_empty() || self.criteria.gpus.iter().any(has)
        };
        if other_cuda || !row.known_bad_capability.as_ref().is_none_or(concerns) {
            return None;
        }
        let fixed = row.fixed_in.as_ref().map_or(String::new(), |one| format!("; fixed in {one}"));
        let message = format!(
            "The NCCL {version} of this build has a known fault: {}{fixed}.",
            fault.trim_end_matches('.')
        );
        Some(Warning { id: "nccl-known-bad".into(), message })
    }

    /// DeepSpeed compiles its operators when they are first used.
    fn compilation(&self) -> Option<Warning> {
        self.choice.package("deepspeed")?;
        let base = self.choice.environment.base;
        if base.has_nvcc() != Some(false) || self.choice.environment.build.is_cpu() {
            return None;
        }
        let message = "DeepSpeed compiles its operators (fused Adam, CPU Adam, …) when they are first used, \
            with nvcc, which this \
                    image does not have: take a devel image (`--compile`) where they are used.";
        Some(Warning { id: "deepspeed-without-nvcc".into(), message: message.into() })
    }

    fn sampled(&self) -> Option<Warning> {
        let sampled = |name: &&str| self.criteria.catalog.package(name).is_some_and(|package| package.sample);
        let names: Vec<&str> =
            self.choice.packages.iter().map(|release| release.package).filter(sampled).collect();
        if names.is_empty() {
            return None;
        }
        let message = format!(
            "The catalog has a sample of the releases of {}: a newer compatible release may exist.",
            names.join(", ")
        );
        Some(Warning { id: "packages-sampled".into(), message })
    }

    /// What else a package needs, which no requirement says.
    fn cautions(&self) -> Vec<Warning> {
        let caution = |name: &str| self.criteria.catalog.package(name)?.caution.as_deref().map(sentence);
        let warning = |message| Warning { id: "package-caution".into(), message };
        // One that another package pins was chosen with the rest of the stack.
        self.criteria.packages.keys().filter_map(|name| caution(name)).map(warning).collect()
    }

    /// What pip takes that the catalog does not have.
    fn unchecked(&self) -> Option<Warning> {
        (!self.criteria.unchecked.is_empty()).then(|| parse::unchecked_warning(&self.criteria.unchecked))
    }

    /// pip refuses to install into a Python that the system manages.
    fn externally_managed(&self) -> Option<Warning> {
        let from = assemble::python_from(&self.criteria, self.choice);
        let base = self.choice.environment.base;
        if let Some(image) = base.image.filter(|_| from == PythonFrom::Image) {
            return externally_managed_image(image);
        }
        let system = base.system?;
        if system.externally_managed != Some(true) || !matches!(from, PythonFrom::Apt | PythonFrom::Dnf) {
            return None;
        }
        let message = format!(
            "pip refuses to install into the Python of {} (PEP 668): make a virtual environment first, \
                `python3 -m venv`.",
            system.name
        );
        Some(Warning { id: Warning::EXTERNALLY_MANAGED.into(), message })
    }
}

/// The same for the Python of an image, where the install commands override it.
fn externally_managed_image(image: &Image) -> Option<Warning> {
    let message = format!(
        "pip refuses to install into the Python of {} (PEP 668): the commands override that with \
         {BREAK_SYSTEM_PACKAGES}. \
            A virtual environment \
         that sees the image's packages does not need it: `python3 -m venv --system-site-packages`.",
        image.reference()
    );
    let managed = image.externally_managed == Some(true);
    managed.then(|| Warning { id: Warning::EXTERNALLY_MANAGED.into(), message })
}

/// With a capital in front and a full stop behind.
fn sentence(text: &str) -> String {
    format!("{}.", diagnostic::words::capital(text.trim_end_matches('.')))
}
