//! The images that differ least from one that was asked for.

use super::super::images::{Flavour, Image};
use super::super::version::Version;
use diagnostic::suggest;

/// Up to three of these images that differ least from a tag.
pub(super) fn nearest<'c>(images: &'c [Image], tag: &str) -> Vec<&'c Image> {
    let wish = Words::read(tag);
    let images: Vec<(Words, &Image)> = images.iter().map(|image| (Words::read(&image.tag), image)).collect();
    let versions = Ladder::of(images.iter().filter_map(|(words, _)| words.version.as_ref()));
    let torches = Ladder::of(images.iter().filter_map(|(words, _)| words.torch.as_ref()));
    let mut found: Vec<(Difference, &Image)> =
        images.iter().map(|(words, image)| (wish.difference(words, &versions, &torches), *image)).collect();
    // Later rows are newer: among equals the newest comes first.
    found.reverse();
    found.sort_by_key(|(difference, image)| (image.tag != tag, difference.total(), difference.numbers));
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

/// What a tag says, word by word; the version is of CUDA, of Python or of the system, as the repository has
/// it.
struct Words {
    torch: Option<Version>,
    version: Option<Version>,
    cudnn: Option<String>,
    flavour: Option<Flavour>,
    slim: bool,
    system: Option<String>,
}

impl Words {
    fn read(tag: &str) -> Words {
        let mut words =
            Words { torch: None, version: None, cudnn: None, flavour: None, slim: false, system: None };
        for word in tag.split('-') {
            match word {
                "base" => words.flavour = Some(Flavour::Base),
                "runtime" => words.flavour = Some(Flavour::Runtime),
                "devel" => words.flavour = Some(Flavour::Devel),
                "slim" => words.slim = true,
                _ if word.starts_with("cudnn") => words.cudnn = Some(word.to_owned()),
                _ if word.starts_with("cuda") => {
                    words.torch = words.version.take();
                    words.version = Version::parse(&word["cuda".len()..]);
                }
                _ => match Version::parse(word) {
                    Some(version) => words.version = Some(version),
                    None => words.system = Some(word.to_owned()),
                },
            }
        }
        words
    }

    fn difference(&self, has: &Words, versions: &Ladder, torches: &Ladder) -> Difference {
        let version = |wish: &Option<Version>, has: &Option<Version>, ladder: &Ladder| match (wish, has) {
            (Some(wish), Some(has)) => ladder.distance(wish, has),
            (Some(_), None) => 6,
            _ => 0,
        };
        let system = match (&self.system, &has.system) {
            (Some(wish), Some(has)) => system_distance(wish, has),
            (Some(_), None) => 4,
            (None, Some(has)) => u32::from(!has.starts_with("ubuntu")),
            (None, None) => 0,
        };
        let flavour = self.flavour.is_none() || self.flavour == has.flavour;
        let parts = [
            version(&self.torch, &has.torch, torches),
            version(&self.version, &has.version, versions),
            system,
            if flavour { 0 } else { 5 },
            self.cudnn_distance(has),
            if self.slim == has.slim { 0 } else { 3 },
        ];
        let numbers = |words: &Words| words.version.as_ref().map(|version| version.numbers().len());
        Difference { parts, numbers: self.version.is_some() && numbers(self) != numbers(has) }
    }

    fn cudnn_distance(&self, has: &Words) -> u32 {
        match (&self.cudnn, &has.cudnn) {
            (Some(wish), Some(name)) if wish == name => 0,
            (Some(_), Some(_)) => 2,
            (None, None) => 0,
            _ => 4,
        }
    }
}

/// How far apart in torch, version, system, flavour, cuDNN and size; zero is the same.
#[derive(Clone, Copy)]
struct Difference {
    parts: [u32; 6],
    /// Whether the version is written with more or fewer numbers (3.12.14 for 3.12): that is none, but comes
    /// later.
    numbers: bool,
}

impl Difference {
    fn total(&self) -> u32 {
        self.parts.iter().sum()
    }

    fn kinds(&self) -> usize {
        self.parts.iter().filter(|part| **part > 0).count()
    }

    /// True where everything that differs in the other differs here too.
    fn includes(&self, other: &Difference) -> bool {
        self.parts.iter().zip(other.parts).all(|(mine, theirs)| *mine > 0 || theirs == 0)
    }
}

/// The minors that exist, in order: two that follow each other are near, whatever their numbers.
struct Ladder(Vec<(u64, u64)>);

impl Ladder {
    fn of<'a>(versions: impl Iterator<Item = &'a Version>) -> Ladder {
        let mut minors: Vec<(u64, u64)> = versions.map(Version::minor).collect();
        minors.sort_unstable();
        minors.dedup();
        Ladder(minors)
    }

    fn distance(&self, wish: &Version, has: &Version) -> u32 {
        if has.numbers().starts_with(wish.numbers()) {
            return 0;
        }
        if has.minor() == wish.minor() {
            return 1;
        }
        let position = |minor: (u64, u64)| self.0.partition_point(|step| *step < minor);
        let mut steps = position(has.minor()).abs_diff(position(wish.minor()));
        // A minor that does not exist lies between two steps.
        if !self.0.contains(&wish.minor()) && has.minor() > wish.minor() {
            steps += 1;
        }
        let major = if has.number(0) == wish.number(0) { 0 } else { 3 };
        u32::try_from(2 + steps).unwrap_or(u32::MAX / 8).saturating_add(major)
    }
}

/// Releases of one family are near, families are far; a letter or two of difference is a typo.
fn system_distance(wish: &str, has: &str) -> u32 {
    if wish == has {
        return 0;
    }
    let parts = |text: &str| {
        let digits = text.find(|letter: char| letter.is_ascii_digit()).unwrap_or(text.len());
        (text[..digits].to_owned(), text[digits..].parse::<f64>().unwrap_or_default())
    };
    let ((family, release), (other, number)) = (parts(wish), parts(has));
    let letters = u32::try_from(suggest::edits(&family, &other).min(20)).unwrap_or(20);
    // Two years lie between two releases of Ubuntu, one number between those of the others.
    let apart = (release - number).abs().ceil() / if family.starts_with("ubuntu") { 2.0 } else { 1.0 };
    match letters {
        0 => 2 * (apart.clamp(1.0, 10.0).round() as u32),
        1 | 2 => letters + 2 * (apart.clamp(0.0, 10.0).round() as u32),
        _ => 6 + letters,
    }
}
