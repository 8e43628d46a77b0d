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
use super::request::{Versions, Want, Wish};
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
    /// What, in a sentence; where the place matters, with two more lines that show it.
    pub says: String,
    /// What to do.
    pub hints: Vec<String>,
}

impl Mistake {
    fn new(says: impl Into<String>) -> Mistake {
        Mistake { says: says.into(), hints: Vec::new() }
    }

    fn hint(mut self, hint: impl Into<String>) -> Mistake {
        self.hints.push(hint.into());
        self
    }

    /// A mistake at a place of what was typed, counted in bytes.
    fn at(option: &str, typed: &str, place: usize, says: &str) -> Mistake {
        let before = typed.get(..place).unwrap_or(typed).chars().count();
        let blank = " ".repeat(option.len() + 1 + before);
        Mistake::new(format!("{option}: {says}\n  {option} {typed}\n  {blank}^"))
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
    let mut add = |says: String, want: Want| wishes.push(Wish { says, want });
    for (option, text, want, known) in [
        ("--cuda", &typed.cuda, Want::Cuda as fn(Versions) -> Want, cudas as fn(&World) -> Vec<Version>),
        ("--python", &typed.python, Want::Python, pythons),
        ("--torch", &typed.torch, Want::Torch, torches),
    ] {
        if let Some(text) = text {
            let versions = versions::versions(option, text, &|| known(world))?;
            add(format!("{option} {}", text.trim()), want(versions));
        }
    }
    if let Some(text) = &typed.deepspeed {
        let versions = versions::versions("--deepspeed", text, &|| with::releases(world, "deepspeed"))?;
        add(format!("--deepspeed {text}").trim().into(), Want::Package("deepspeed".into(), versions));
    }
    for text in &typed.with {
        for wish in with::wishes(world, text)? {
            add(wish.says, wish.want);
        }
    }
    for name in &typed.preset {
        for wish in preset::wishes(world, name)? {
            add(wish.says, wish.want);
        }
    }
    for text in typed.gpu.iter().flat_map(|text| text.split(',')).filter(|text| !text.trim().is_empty()) {
        add(format!("--gpu {}", text.trim()), Want::Gpu(gpu::gpu(world.catalog, text)?));
    }
    if let Some(text) = &typed.driver {
        let (driver, warning) = driver::driver(world.catalog, text)?;
        add(format!("--driver {}", text.trim()), Want::Driver(driver));
        understood.warnings.extend(warning);
    }
    if let Some(text) = &typed.os {
        add(format!("--os {}", text.trim()), Want::System(place::system_asked(world.catalog, text)?));
    }
    if let Some(text) = &typed.arch {
        add(format!("--arch {}", text.trim()), Want::Architecture(place::architecture(text)?));
    }
    if let Some(text) = &typed.base {
        add(format!("--base {}", text.trim()), Want::Base(place::base(world.catalog, text)?));
    }
    if typed.compile {
        add("--compile".into(), Want::Compile);
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
            message: mistake.says,
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
        let says: Vec<&str> = wishes.iter().map(|wish| wish.says.as_str()).collect();
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
