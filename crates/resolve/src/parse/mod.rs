//! From options as they are typed to a request. Pure: what is known of the world comes from the catalog.

mod driver;
mod gpu;
mod place;
mod preset;
mod versions;
mod with;

pub use gpu::{capability, of_model};
pub use place::{system, system_of_release};
pub use with::{package_name, package_names, requirements};

use pep440_rs::Version;

use super::answer::Warning;
use super::parameter::{Naming, Parameter, Source};
use super::request::{Want, Wish};
use super::world::World;

/// The options, as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Typed {
    /// `--cuda`.
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
pub struct Mistake {
    /// The option or key.
    pub parameter: Parameter,
    /// Its value, where the message begins with it.
    pub value: Option<String>,
    /// What is wrong, without the parameter.
    pub problem: String,
    /// What was typed and the byte in it at which it goes wrong, where that helps.
    pub place: Option<(String, usize)>,
    /// What to do.
    pub hints: Vec<String>,
}

impl Mistake {
    fn new(parameter: Parameter, problem: impl Into<String>) -> Mistake {
        Mistake { parameter, value: None, problem: problem.into(), place: None, hints: Vec::new() }
    }

    fn of_value(parameter: Parameter, value: &str, problem: impl Into<String>) -> Mistake {
        Mistake { value: Some(value.to_owned()), ..Mistake::new(parameter, problem) }
    }

    fn hint(mut self, hint: impl Into<String>) -> Mistake {
        self.hints.push(hint.into());
        self
    }

    /// A mistake at a place of what was typed, counted in bytes.
    fn at(parameter: Parameter, typed: &str, place: usize, problem: impl Into<String>) -> Mistake {
        Mistake { place: Some((typed.to_owned(), place)), ..Mistake::new(parameter, problem) }
    }

    /// The message: one sentence, and two lines that show the place where there is one.
    pub fn message(&self, naming: Naming) -> String {
        let name = self.parameter.name(naming);
        let value = self.value.as_ref().map_or(String::new(), |value| format!(" {value}"));
        let mut message = format!("{name}{value}: {}", self.problem);
        if let Some((typed, place)) = &self.place {
            let before = typed.get(..*place).unwrap_or(typed).chars().count();
            let blank = " ".repeat(name.len() + 1 + before);
            message += &format!("\n  {name} {typed}\n  {blank}^");
        }
        message
    }

    /// "did you mean", where something is near.
    fn near(self, near: Option<&str>) -> Mistake {
        match near {
            Some(near) => self.hint(format!("did you mean {near}?")),
            None => self,
        }
    }
}

/// What the options say.
#[derive(Debug, Default)]
pub struct Understood {
    /// The wishes, in the order of the options.
    pub wishes: Vec<Wish>,
    /// How something was read that can be read in two ways.
    pub warnings: Vec<Warning>,
}

/// The wishes in some options.
pub fn wishes(world: &World, typed: &Typed) -> Result<Understood, Mistake> {
    let mut understood = Understood::default();
    let wishes = &mut understood.wishes;
    let mut add = |parameter, value: &str, want: Want| {
        wishes.push(Wish { source: Source::option(parameter, value.trim()), want });
    };
    for (parameter, text, want, known) in [
        (Parameter::Cuda, &typed.cuda, Want::Cuda as fn(_) -> _, cudas as fn(&World) -> Vec<Version>),
        (Parameter::Python, &typed.python, Want::Python, pythons),
        (Parameter::Torch, &typed.torch, Want::Torch, torches),
    ] {
        if let Some(text) = text {
            let versions = versions::versions(parameter, text, &|| known(world))?;
            add(parameter, text, want(versions));
        }
    }
    if let Some(text) = &typed.deepspeed {
        let versions =
            versions::versions(Parameter::DeepSpeed, text, &|| with::releases(world, "deepspeed"))?;
        add(Parameter::DeepSpeed, text, Want::Package("deepspeed".into(), versions));
    }
    for text in &typed.with {
        wishes.extend(with::wishes(world, text)?);
    }
    for name in &typed.preset {
        wishes.extend(preset::wishes(world, name)?);
    }
    let mut add = |parameter, value: &str, want: Want| {
        wishes.push(Wish { source: Source::option(parameter, value.trim()), want });
    };
    for text in typed.gpu.iter().flat_map(|text| text.split(',')).filter(|text| !text.trim().is_empty()) {
        add(Parameter::Gpu, text, Want::Gpu(gpu::gpu(world.catalog, text)?));
    }
    if let Some(text) = &typed.driver {
        let (driver, warning) = driver::driver(world.catalog, text)?;
        add(Parameter::Driver, text, Want::Driver(driver));
        understood.warnings.extend(warning);
    }
    if let Some(text) = &typed.os {
        add(Parameter::Os, text, Want::System(place::system_asked(world.catalog, text)?));
    }
    if let Some(text) = &typed.arch {
        add(Parameter::Arch, text, Want::Architecture(place::architecture(text)?));
    }
    if let Some(text) = &typed.base {
        add(Parameter::Base, text, Want::Base(place::base(world.catalog, text)?));
    }
    if typed.compile {
        add(Parameter::Compile, "", Want::Compile);
    }
    Ok(understood)
}

fn cudas(world: &World) -> Vec<Version> {
    world.builds.iter().map(|build| build.cuda.clone()).collect()
}

fn pythons(world: &World) -> Vec<Version> {
    world.pythons.iter().map(|python| python.version.clone()).collect()
}

fn torches(world: &World) -> Vec<Version> {
    world.builds.iter().map(|build| build.version.clone()).collect()
}

impl From<Mistake> for diagnostic::error::Error {
    fn from(mistake: Mistake) -> diagnostic::error::Error {
        diagnostic::error::Error {
            kind: diagnostic::error::Kind::Usage,
            message: mistake.message(Naming::Options),
            hints: mistake.hints,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::world;

    #[test]
    fn wishes_keep_the_users_words() {
        let typed = Typed {
            cuda: Some("12.1".into()),
            torch: Some("2.6.0+cu121".into()),
            deepspeed: Some(String::new()),
            with: vec!["trl>=0.9,<1.0,numpy<2".into()],
            gpu: vec!["h100,sm_86".into()],
            driver: Some("550.54.14".into()),
            os: Some("Ubuntu 22.04".into()),
            arch: Some("arm64".into()),
            compile: true,
            ..Typed::default()
        };
        let wishes = wishes(world(), &Typed { with: vec!["numpy<2".into()], ..typed }).unwrap().wishes;
        let says: Vec<String> = wishes.iter().map(|wish| wish.source.to_string()).collect();
        assert_eq!(
            says,
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
        assert!(
            matches!(&wishes[1].want, Want::Torch(versions) if versions.build.as_deref() == Some("cu121"))
        );
        assert!(matches!(&wishes[7].want, Want::System(system) if system == "ubuntu22.04"));
        assert!(matches!(&wishes[8].want, Want::Architecture(name) if name == "aarch64"));
    }

    #[test]
    fn nothing_typed_is_no_wish() {
        assert!(wishes(world(), &Typed::default()).unwrap().wishes.is_empty());
    }
}
