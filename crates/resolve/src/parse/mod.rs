//! Parses options into requirements. Pure: everything else that it needs comes from the catalog.

mod driver;
pub(crate) mod gpu;
mod platform;
mod preset;
mod versions;
mod with;

pub use gpu::{capability, of_capability, of_model};
pub use platform::{architecture_named, system, system_of_release};
pub use with::{
    is_package, is_requirement, package_name, package_names, split_requirements, unchecked_warning,
};

use pep440_rs::Version;

use super::outcome::Warning;
use super::parameter::{Naming, Parameter, Source};
use super::request::{Requirement, RequirementKind, start};
use super::universe::Universe;

/// The options that describe a stack, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackOptions {
    /// `--cuda`: a version or range, or `cpu`.
    pub cuda: Option<String>,
    /// `--python`.
    pub python: Option<String>,
    /// `--torch`.
    pub torch: Option<String>,
    /// `--deepspeed`; an empty text: any version.
    pub deepspeed: Option<String>,
    /// `--with`, each with one package or several.
    pub with: Vec<String>,
    /// `--preset`.
    pub preset: Vec<String>,
    /// `--gpu`.
    pub gpu: Vec<String>,
    /// `--driver`.
    pub driver: Option<String>,
    /// `--os`.
    pub os: Option<String>,
    /// `--arch`.
    pub arch: Option<String>,
    /// `--base`.
    pub base: Option<String>,
    /// `--compile`.
    pub compile: bool,
}

/// What is wrong with an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterError {
    /// The option or key with the wrong value.
    pub parameter: Parameter,
    /// Its value, where the message begins with it.
    pub value: Option<String>,
    /// What is wrong, without the parameter.
    pub problem: String,
    /// What was typed and the byte in it at which it goes wrong, where that helps.
    pub position: Option<(String, usize)>,
    /// Suggested fixes, the best first.
    pub hints: Vec<String>,
}

impl ParameterError {
    fn new(parameter: Parameter, problem: impl Into<String>) -> ParameterError {
        ParameterError { parameter, value: None, problem: problem.into(), position: None, hints: Vec::new() }
    }

    fn of_value(parameter: Parameter, value: &str, problem: impl Into<String>) -> ParameterError {
        ParameterError { value: Some(value.to_owned()), ..ParameterError::new(parameter, problem) }
    }

    fn hint(mut self, hint: impl Into<String>) -> ParameterError {
        self.hints.push(hint.into());
        self
    }

    /// An error at a byte offset of the value.
    fn at(parameter: Parameter, typed: &str, position: usize, problem: impl Into<String>) -> ParameterError {
        ParameterError {
            position: Some((typed.to_owned(), position)),
            ..ParameterError::new(parameter, problem)
        }
    }

    /// The message: one sentence, and two lines that mark the position if there is one.
    pub fn message(&self, naming: Naming) -> String {
        let name = self.parameter.name(naming);
        let value = self.value.as_ref().map_or(String::new(), |value| format!(" {value}"));
        let mut message = format!("{name}{value}: {}", self.problem);
        if let Some((typed, position)) = &self.position {
            let before = typed.get(..*position).unwrap_or(typed).chars().count();
            let blank = " ".repeat(name.len() + 1 + before);
            message += &format!("\n  {name} {typed}\n  {blank}^");
        }
        message
    }

    /// "did you mean", where something is near.
    fn near(self, near: Option<&str>) -> ParameterError {
        match near {
            Some(near) => self.hint(format!("did you mean {near}?")),
            None => self,
        }
    }
}

/// What [`requirements`] returns.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The requirements, in the order of the options.
    pub requirements: Vec<Requirement>,
    /// Which reading was chosen of an ambiguous value.
    pub warnings: Vec<Warning>,
}

impl Parsed {
    fn add(&mut self, parameter: Parameter, value: &str, kind: RequirementKind) {
        self.requirements.push(Requirement { source: Source::option(parameter, value.trim()), kind });
    }
}

/// The longest value of an option, in bytes; no name or version is nearly as long.
const VALUE_LIMIT_BYTES: usize = 256;
/// The same for options that take a list in one value.
const LIST_LIMIT_BYTES: usize = 64 << 10;
/// The most entries of an option or key that is a list; each GPU is compared with each other one.
const LIST_LIMIT: usize = 1000;

impl StackOptions {
    /// Refuses values that are too long to be one, before anything parses or shows them.
    fn lengths(&self) -> Result<(), ParameterError> {
        let one = |parameter, value: &Option<String>| (parameter, value.clone().into_iter().collect());
        let values: [(Parameter, Vec<String>); 10] = [
            one(Parameter::Cuda, &self.cuda),
            one(Parameter::Python, &self.python),
            one(Parameter::Torch, &self.torch),
            one(Parameter::DeepSpeed, &self.deepspeed),
            (Parameter::With, self.with.clone()),
            (Parameter::Preset, self.preset.clone()),
            (Parameter::Gpu, self.gpu.clone()),
            one(Parameter::Driver, &self.driver),
            one(Parameter::Os, &self.os),
            one(Parameter::Arch, &self.arch),
        ];
        let values: Vec<(Parameter, Vec<String>)> =
            values.into_iter().chain([one(Parameter::Base, &self.base)]).collect();
        for (parameter, texts) in &values {
            let count: usize = texts.iter().map(|text| text.split(',').count()).sum();
            // A specifier has commas of its own: numpy>=1.20,<2.
            let limit = if *parameter == Parameter::With { 4 * LIST_LIMIT } else { LIST_LIMIT };
            if count > limit {
                let problem = format!("has {count} entries; a list has at most {limit}");
                return Err(ParameterError::new(*parameter, problem));
            }
        }
        for (parameter, text) in values
            .into_iter()
            .flat_map(|(parameter, texts)| texts.into_iter().map(move |one| (parameter, one)))
        {
            let list = matches!(parameter, Parameter::With | Parameter::Preset | Parameter::Gpu);
            let limit = if list { LIST_LIMIT_BYTES } else { VALUE_LIMIT_BYTES };
            let longest = text.split(',').map(str::len).max().unwrap_or(0);
            if text.len() > limit || longest > VALUE_LIMIT_BYTES {
                let count = text.chars().count();
                let problem = format!(
                    "{:?} has {count} characters; a value has at most {VALUE_LIMIT_BYTES}",
                    start(&text)
                );
                return Err(ParameterError::new(parameter, problem));
            }
        }
        Ok(())
    }
}

/// The requirements in some options.
pub fn requirements(universe: &Universe, options: &StackOptions) -> Result<Parsed, ParameterError> {
    options.lengths()?;
    let mut parsed = Parsed::default();
    let cpu = options.cuda.as_ref().filter(|text| versions::is_cpu(text));
    if let Some(text) = cpu {
        parsed.add(Parameter::Cuda, text, RequirementKind::Cpu);
    }
    let cuda = options.cuda.clone().filter(|_| cpu.is_none());
    for (parameter, text, kind, known) in [
        (Parameter::Cuda, &cuda, RequirementKind::Cuda as fn(_) -> _, cudas as fn(&Universe) -> Vec<Version>),
        (Parameter::Python, &options.python, RequirementKind::Python, pythons),
        (Parameter::Torch, &options.torch, RequirementKind::Torch, torches),
    ] {
        if let Some(text) = text {
            let versions = versions::versions(parameter, text, &|| known(universe))?;
            parsed.add(parameter, text, kind(versions));
        }
    }
    if let Some(text) = &options.deepspeed {
        let versions =
            versions::versions(Parameter::DeepSpeed, text, &|| with::releases(universe, "deepspeed"))?;
        parsed.add(Parameter::DeepSpeed, text, RequirementKind::Package("deepspeed".into(), versions));
    }
    for text in &options.with {
        parsed.requirements.extend(with::requirements(universe, text)?);
    }
    for name in &options.preset {
        parsed.requirements.extend(preset::requirements(universe, name)?);
    }
    for text in &options.gpu {
        for (name, gpu) in gpu::gpus(universe.catalog, text)? {
            parsed.add(Parameter::Gpu, name, RequirementKind::Gpu(gpu));
        }
    }
    if let Some(text) = &options.driver {
        let (driver, warning) = driver::driver(universe.catalog, text)?;
        parsed.add(Parameter::Driver, text, RequirementKind::Driver(driver));
        parsed.warnings.extend(warning);
    }
    if let Some(text) = &options.os {
        parsed.add(
            Parameter::Os,
            text,
            RequirementKind::System(platform::required_system(universe.catalog, text)?),
        );
    }
    if let Some(text) = &options.arch {
        parsed.add(Parameter::Arch, text, RequirementKind::Architecture(platform::architecture(text)?));
    }
    if let Some(text) = &options.base {
        parsed.add(Parameter::Base, text, RequirementKind::Base(platform::base(universe.catalog, text)?));
    }
    if options.compile {
        parsed.add(Parameter::Compile, "", RequirementKind::Compile);
    }
    Ok(parsed)
}

fn cudas(universe: &Universe) -> Vec<Version> {
    universe.builds.iter().filter_map(|build| build.cuda_version().cloned()).collect()
}

fn pythons(universe: &Universe) -> Vec<Version> {
    universe.pythons.iter().map(|python| python.version.clone()).collect()
}

fn torches(universe: &Universe) -> Vec<Version> {
    universe.builds.iter().map(|build| build.version.clone()).collect()
}

impl From<ParameterError> for diagnostic::error::Error {
    fn from(error: ParameterError) -> diagnostic::error::Error {
        diagnostic::error::Error {
            kind: diagnostic::error::Kind::Usage,
            message: error.message(Naming::Options),
            hints: error.hints,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::universe;

    #[test]
    fn requirements_keep_the_original_option_text() {
        let typed = StackOptions {
            cuda: Some("12.1".into()),
            torch: Some("2.6.0+cu121".into()),
            deepspeed: Some(String::new()),
            with: vec!["trl>=0.9,<1.0,numpy<2".into()],
            gpu: vec!["h100,sm_86".into()],
            driver: Some("550.54.14".into()),
            os: Some("Ubuntu 22.04".into()),
            arch: Some("arm64".into()),
            compile: true,
            ..StackOptions::default()
        };
        let requirements = requirements(universe(), &StackOptions { with: vec!["numpy<2".into()], ..typed })
            .unwrap()
            .requirements;
        let sources: Vec<String> =
            requirements.iter().map(|requirement| requirement.source.to_string()).collect();
        assert_eq!(
            sources,
            [
                "--cuda 12.1",
                "--torch 2.6.0+cu121",
                "--deepspeed",
                "--with numpy<2",
                "--gpu h100",
                "--gpu sm_86",
                "--driver 550.54.14",
                "--os Ubuntu 22.04",
                "--arch arm64",
                "--compile"
            ]
        );
        let RequirementKind::Torch(torch) = &requirements[1].kind else { panic!("{requirements:?}") };
        assert_eq!(torch.build.as_deref(), Some("cu121"));
        assert!(matches!(&requirements[7].kind, RequirementKind::System(system) if system == "ubuntu22.04"));
        assert!(matches!(&requirements[8].kind, RequirementKind::Architecture(name) if name == "aarch64"));
    }

    #[test]
    fn oversized_values_are_rejected_and_truncated_in_the_error() {
        let long = format!("2.{}", "9".repeat(100_000));
        let message = |options: &StackOptions| {
            let error = requirements(universe(), options).unwrap_err();
            error.message(Naming::Options)
        };
        let expected =
            format!("--torch: \"{}…\" has 100002 characters; a value has at most 256", &long[..40]);
        assert_eq!(message(&StackOptions { torch: Some(long.clone()), ..StackOptions::default() }), expected);
        let with = StackOptions { with: vec![format!("numpy<2,trl=={long}")], ..StackOptions::default() };
        assert!(message(&with).len() < 200, "{}", message(&with));
        let many = vec!["numpy<2"; 1000].join(",");
        assert!(
            requirements(universe(), &StackOptions { with: vec![many], ..StackOptions::default() }).is_ok()
        );
    }

    #[test]
    fn no_option_is_no_requirement() {
        assert!(requirements(universe(), &StackOptions::default()).unwrap().requirements.is_empty());
    }
}
