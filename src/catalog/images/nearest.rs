//! The images that differ least from one that was asked for.

use super::existence::split;
use super::image::{Flavour, Image};
use crate::catalog::version::Version;

/// Up to three images of the same repository that differ least from a reference: first one for each way to differ
/// (another patch, another system, another CUDA, …), then whatever is near. Empty for a repository that is not in the catalog.
pub fn nearest(reference: &str) -> Vec<&'static Image> {
    let (repository, tag) = split(reference.trim());
    let images = super::of(repository);
    let wish = Wish::read(tag);
    let versions = Ladder::of(images.iter().filter_map(|image| image.cuda.as_deref()));
    let torches = Ladder::of(images.iter().filter_map(|image| image.torch.as_deref()));
    let mut found: Vec<(Difference, &Image)> =
        images.iter().map(|image| (wish.difference(image, &versions, &torches), image)).collect();
    // Later rows are newer: among equals the newest comes first.
    found.reverse();
    found.sort_by_key(|(difference, image)| (image.tag != tag, difference.total()));
    let mut chosen: Vec<(Difference, &Image)> = Vec::new();
    for (difference, image) in &found {
        if chosen.len() < 3 && !chosen.iter().any(|(earlier, _)| difference.includes(earlier)) {
            chosen.push((*difference, image));
        }
    }
    let mut rest: Vec<&(Difference, &Image)> = found
        .iter()
        .filter(|(_, image)| !chosen.iter().any(|(_, earlier)| std::ptr::eq(*earlier, *image)))
        .collect();
    rest.sort_by_key(|(difference, _)| (difference.kinds(), difference.total()));
    let room = 3 - chosen.len();
    let mut chosen: Vec<&Image> = chosen.into_iter().map(|(_, image)| image).collect();
    chosen.extend(rest.into_iter().take(room).map(|(_, image)| *image));
    chosen
}

/// What a tag asks for, as far as its words tell.
struct Wish {
    torch: Option<Version>,
    cuda: Option<Version>,
    cudnn: Option<String>,
    flavour: Option<Flavour>,
    system: Option<String>,
}

impl Wish {
    fn read(tag: &str) -> Wish {
        let mut wish = Wish { torch: None, cuda: None, cudnn: None, flavour: None, system: None };
        for word in tag.split('-') {
            match word {
                "base" => wish.flavour = Some(Flavour::Base),
                "runtime" => wish.flavour = Some(Flavour::Runtime),
                "devel" => wish.flavour = Some(Flavour::Devel),
                _ if word.starts_with("cudnn") => wish.cudnn = Some(word.to_owned()),
                _ if word.starts_with("cuda") => {
                    wish.torch = wish.cuda.take();
                    wish.cuda = Version::parse(&word["cuda".len()..]);
                }
                _ => match Version::parse(word) {
                    Some(version) => wish.cuda = Some(version),
                    None => wish.system = Some(word.to_owned()),
                },
            }
        }
        wish
    }

    fn difference(&self, image: &Image, versions: &Ladder, torches: &Ladder) -> Difference {
        let version = |wish: &Option<Version>, has: &Option<String>, ladder: &Ladder| match (wish, has) {
            (Some(wish), Some(has)) => ladder.distance(wish, has),
            _ => 0,
        };
        Difference([
            version(&self.torch, &image.torch, torches),
            version(&self.cuda, &image.cuda, versions),
            self.system.as_deref().map_or(u32::from(!image.tag.contains("ubuntu")), |system| {
                image.system.as_deref().map_or(0, |has| system_distance(system, has))
            }),
            if self.flavour.is_none_or(|flavour| flavour == image.flavour) { 0 } else { 5 },
            self.cudnn_distance(image),
        ])
    }

    fn cudnn_distance(&self, image: &Image) -> u32 {
        let name = image.tag.split('-').find(|word| word.starts_with("cudnn"));
        match (self.cudnn.as_deref(), name) {
            (Some(wish), Some(name)) if wish == name => 0,
            (Some(_), Some(_)) => 2,
            (None, None) => 0,
            _ => 4,
        }
    }
}

/// How far apart in torch, CUDA, system, flavour and cuDNN; zero is the same.
#[derive(Clone, Copy)]
struct Difference([u32; 5]);

impl Difference {
    fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    fn kinds(&self) -> usize {
        self.0.iter().filter(|part| **part > 0).count()
    }

    /// True where everything that differs in the other differs here too.
    fn includes(&self, other: &Difference) -> bool {
        self.0.iter().zip(other.0).all(|(mine, theirs)| *mine > 0 || theirs == 0)
    }
}

/// The minors that exist, in order: two that follow each other are near, whatever their numbers.
struct Ladder(Vec<(u64, u64)>);

impl Ladder {
    fn of<'a>(versions: impl Iterator<Item = &'a str>) -> Ladder {
        let mut minors: Vec<(u64, u64)> =
            versions.filter_map(Version::parse).map(|version| version.minor()).collect();
        minors.sort_unstable();
        minors.dedup();
        Ladder(minors)
    }

    fn distance(&self, wish: &Version, has: &str) -> u32 {
        let Some(has) = Version::parse(has) else { return 20 };
        if has.numbers().starts_with(wish.numbers()) {
            return 0;
        }
        if has.minor() == wish.minor() {
            return 1;
        }
        let place = |minor: (u64, u64)| self.0.partition_point(|step| *step < minor);
        let mut steps = place(has.minor()).abs_diff(place(wish.minor()));
        // A minor that does not exist lies between two steps.
        if !self.0.contains(&wish.minor()) && has.minor() > wish.minor() {
            steps += 1;
        }
        let major = if has.number(0) == wish.number(0) { 0 } else { 3 };
        u32::try_from(2 + steps).unwrap_or(u32::MAX / 8).saturating_add(major)
    }
}

/// Releases of one family are near, families are far; a word that is no system is a typo of one.
fn system_distance(wish: &str, has: &str) -> u32 {
    if wish == has {
        return 0;
    }
    let parts = |text: &str| {
        let digits = text.find(|letter: char| letter.is_ascii_digit()).unwrap_or(text.len());
        (text[..digits].to_owned(), text[digits..].parse::<f64>().unwrap_or_default())
    };
    let ((family, release), (other, number)) = (parts(wish), parts(has));
    // Two years lie between two releases of Ubuntu, one number between those of the others.
    let years = (release - number).abs().ceil();
    let apart = if family.starts_with("ubuntu") { years / 2.0 } else { years };
    match family == other {
        true => 2 * (apart.clamp(1.0, 10.0).round() as u32),
        false => 6 + u32::try_from(strsim::levenshtein(&family, &other).min(20)).unwrap_or(20),
    }
}
