//! Why none of the torch builds that the wishes leave will do.

use pep440_rs::Version;

use super::super::answer::Reason;
use super::super::constraint::{Constraint, Judge, Judgement};
use super::super::constraints::CONSTRAINTS;
use super::super::constraints::asked_for::cuda_within;
use super::super::constraints::partners;
use super::super::request::{Request, Versions, Want, Wish};
use super::super::wanted::Wanted;
use super::super::world::{Build, World};
use super::ranges::{ranges, verb};
use super::reasons::{Refusal, Stage, essential, grouped};
use catalog::{cuda, torch};
use diagnostic::words::{self, and};

/// No build is of the wished torch and the wished CUDA.
pub(super) fn none_left(world: &World, wanted: &Wanted) -> Reason {
    let of_torch: Vec<&Build> = world
        .candidates(wanted)
        .iter()
        .filter(|build| {
            wanted.torch.iter().all(|wish| {
                wish.contain(&build.version)
                    && wish.build.as_deref().is_none_or(|name| name == build.build.build)
            })
        })
        .collect();
    let of_cuda: Vec<&Build> = world
        .candidates(wanted)
        .iter()
        .filter(|build| wanted.cuda.iter().all(|wish| cuda_within(wish, build)))
        .collect();
    let says = if world.candidates(wanted).iter().any(|build| build.image.is_some()) {
        no_image(world, wanted, of_torch.is_empty())
    } else if of_torch.is_empty() {
        format!("no torch is {}", both(&wanted.torch))
    } else if of_cuda.is_empty() {
        format!("no torch build is for a CUDA that is {}", both(&wanted.cuda))
    } else {
        let named = match &wanted.torch[..] {
            [one] if one.build.is_some() => names(&of_torch),
            _ => releases(&of_torch),
        };
        let count = distinct(of_torch.iter().map(|build| build.release.version.as_str())).len();
        let known = if of_torch.iter().all(|build| build.release.builds_complete) {
            ""
        } else {
            ", as far as is known"
        };
        format!(
            "{named} {} built for CUDA {}{known}; builds for CUDA {} exist for {}",
            verb(count, "was", "were"),
            and(&cudas(&of_torch)),
            and(&distinct(wanted.cuda.iter().map(|wish| wish.text.as_str()))),
            releases(&of_cuda),
        )
    };
    Reason { constraint: "torch-asked-for".into(), says }
}

/// None of NVIDIA's images has the wished torch and the wished CUDA.
fn no_image(world: &World, wanted: &Wanted, no_torch: bool) -> String {
    let all: Vec<&Build> = world.candidates(wanted).iter().collect();
    let cuda = wanted.cuda.iter().map(|wish| format!("CUDA {}", wish.text));
    let torch = wanted.torch.iter().map(|wish| format!("torch {}", wish.text));
    let wishes: Vec<String> = torch.chain(cuda).collect();
    let has = match no_torch {
        true => format!("torch {}", and(&distinct(all.iter().map(|build| build.release.version.as_str())))),
        false => format!("CUDA {}", and(&cudas(&all))),
    };
    format!(
        "of NVIDIA's images of which it is known what is in them none has {}; they have {has}",
        words::and(&wishes)
    )
}

fn both(wishes: &[&Versions]) -> String {
    let texts = distinct(wishes.iter().map(|wish| wish.text.as_str()));
    let word = if texts.len() == 2 { "both " } else { "" };
    format!("{word}{}", and(&texts))
}

/// What the constraints say of the builds that they refuse.
pub(super) fn reasons(world: &World, wanted: &Wanted, stage: &Stage<&Build>) -> Vec<Reason> {
    let refused = essential(&stage.refused);
    let of = |constraint: &Constraint| {
        let refused: Vec<Refusal> =
            refused.iter().filter(|refusal| refusal.constraint == constraint.id).cloned().collect();
        let Judge::Build(judge) = constraint.judge else { return Vec::new() };
        if constraint.id == partners::CONSTRAINT.id {
            return of_partners(world, wanted, &refused);
        }
        let key = |refusal: &Refusal| pattern(&refusal.says, refusal.build);
        let groups = grouped(&refused, key).into_iter();
        let sentence = |(says, refusals): (String, Vec<&Refusal>)| {
            let builds: Vec<&Build> = refusals.iter().map(|refusal| refusal.build).collect();
            let says = match constraint.id {
                "gpu-has-code" => code(world, wanted, stage, judge, &says, &builds),
                "driver-new-enough" => {
                    driver(world, wanted, stage, judge, &(says + &compat(&refusals)), &builds)
                }
                _ => filled(&says, wanted, &builds),
            };
            Reason { constraint: constraint.id.to_owned(), says }
        };
        groups.map(sentence).collect()
    };
    CONSTRAINTS.iter().flat_map(of).collect()
}

/// What is said of torchvision and the other partners: `torch 1.13.0 to 2.14.0 go with torchvision 0.14.0 to 0.29.0; torchvision
/// >=0.29.1 goes with torch 2.14.1 and 2.15.0`.
fn of_partners(world: &World, wanted: &Wanted, refused: &[Refusal]) -> Vec<Reason> {
    const GOES: &str = " goes with ";
    // `torchvision 0.14.0`, and the rest of the sentence, which names the wish.
    let own = |refusal: &Refusal| -> Option<(String, String, String)> {
        let (_, rest) = refusal.says.split_once(GOES)?;
        let (own, wish) = rest.split_once("; ")?;
        let (name, version) = own.split_once(' ')?;
        Some((name.to_owned(), version.to_owned(), wish.to_owned()))
    };
    let key = |refusal: &Refusal| match own(refusal) {
        Some((name, _, wish)) => format!("{name} {wish}"),
        None => pattern(&refusal.says, refusal.build),
    };
    let sentence = |(says, refusals): (String, Vec<&Refusal>)| {
        let mut builds: Vec<&Build> = refusals.iter().map(|refusal| refusal.build).collect();
        builds.sort_by(|one, other| one.version.cmp(&other.version));
        let several = distinct(builds.iter().map(|build| build.release.version.as_str())).len();
        let says = match refusals.first().and_then(|first| own(first)) {
            Some((name, _, wish)) if several > 1 => {
                let mut versions: Vec<Version> =
                    refusals.iter().filter_map(|refusal| own(refusal)?.1.parse().ok()).collect();
                versions.sort();
                versions.dedup();
                let versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
                let having: Vec<&Build> = world
                    .candidates(wanted)
                    .iter()
                    .filter(|build| partners::of(&name, wanted, build) == Judgement::Holds)
                    .collect();
                let has = match &having[..] {
                    [] => wish,
                    having => {
                        let wish = wish.trim_end_matches(" was asked for");
                        format!("{wish} goes with {}", releases(having))
                    }
                };
                format!("{} go with {name} {}; {has}", releases(&builds), words::span(&versions))
            }
            Some(_) => refusals
                .first()
                .map_or(String::new(), |one| one.says.replace(&one.build.name(), &releases(&builds))),
            None => filled(&says, wanted, &builds),
        };
        Reason { constraint: partners::CONSTRAINT.id.to_owned(), says }
    };
    grouped(refused, key).into_iter().map(sentence).collect()
}

/// Stands for the candidate in a sentence.
const MARK: &str = "\u{1}";

/// Stands for its CUDA.
const CUDA: &str = "\u{2}";

/// A sentence without what differs from build to build: their names, their CUDA, and the list of what they have code for.
fn pattern(says: &str, build: &Build) -> String {
    let text = says.split(", only for ").next().unwrap_or(says);
    let text = text.split(COMPAT).next().unwrap_or(text);
    let text = text.replace(&build.name(), MARK).replace(&format!("torch {}", build.release.version), MARK);
    let text = text.replace(&format!("CUDA {} ", build.cuda), &format!("CUDA {CUDA} "));
    match text.strip_prefix("it ") {
        Some(rest) => format!("{MARK} {rest}"),
        None => text,
    }
}

/// The pattern with the builds in it.
fn filled(pattern: &str, wanted: &Wanted, builds: &[&Build]) -> String {
    let subject = if wanted.cuda.is_empty() { releases(builds) } else { names(builds) };
    let several = distinct(builds.iter().map(|build| build.release.version.as_str())).len();
    let cudas = cudas(builds);
    let mut text = pattern.to_owned();
    for (one, more) in [("has", "have"), ("needs", "need"), ("was", "were"), ("runs", "run"), ("does", "do")]
    {
        text = text.replace(&format!("{MARK} {one} "), &format!("{MARK} {} ", verb(several, one, more)));
        text = text.replace(&format!("{CUDA} {one} "), &format!("{CUDA} {} ", verb(cudas.len(), one, more)));
    }
    text.replacen(MARK, &subject, 1).replace(MARK, "it").replace(CUDA, &and(&cudas))
}

/// What a sentence says of the package of one CUDA.
const COMPAT: &str = "; its cuda-compat package";

/// What the sentences say of cuda-compat packages, where they do.
fn compat(refusals: &[&Refusal]) -> String {
    let clauses = refusals.iter().filter_map(|refusal| Some(&refusal.says[refusal.says.find(COMPAT)?..]));
    match distinct(clauses)[..] {
        [] => String::new(),
        [one] => one.to_owned(),
        _ => "; their cuda-compat packages are not for this driver".to_owned(),
    }
}

type JudgeBuild = fn(&Wanted, &Build) -> Judgement;

/// `torch 2.5.0 and 2.5.1 have no code for the B200 (sm_100); the first torch that has it is 2.7.0 (cu128)`.
fn code(
    world: &World,
    wanted: &Wanted,
    stage: &Stage<&Build>,
    judge: JudgeBuild,
    says: &str,
    builds: &[&Build],
) -> String {
    // The GPU that the sentence names, alone.
    let gpu = wanted.gpus.iter().find(|gpu| says.contains(&format!("for the {} ", gpu.name)));
    let wish = gpu.map(|gpu| Wish { says: String::new(), want: Want::Gpu((*gpu).clone()) });
    let alone = Request { wishes: wish.into_iter().collect(), ..Request::default() };
    let alone = Wanted::of(&alone);
    let having: Vec<&Build> =
        world.candidates(wanted).iter().filter(|build| judge(&alone, build) == Judgement::Holds).collect();
    if wanted.torch.is_empty() && wanted.cuda.is_empty() && !having.is_empty() {
        let code = says.trim_start_matches(MARK).trim_start_matches(" has no ");
        return format!("only builds of {} for CUDA {} have {code}", releases(&having), and(&cudas(&having)));
    }
    let instead = alternatives(stage, &having, ("have it", "has it"));
    let none = if having.is_empty() { "; no build in the catalog is known to have it" } else { "" };
    format!("{}{instead}{none}", filled(says, wanted, builds))
}

/// `torch 2.15.0 was built for CUDA 13.2; CUDA 13.2 needs driver 580 …; the last torch that runs on it is 2.7.1 (cu118)`.
fn driver(
    world: &World,
    wanted: &Wanted,
    stage: &Stage<&Build>,
    judge: JudgeBuild,
    says: &str,
    builds: &[&Build],
) -> String {
    let built = match wanted.torch.is_empty() {
        true => String::new(),
        false => {
            let several = distinct(builds.iter().map(|build| build.release.version.as_str())).len();
            let (releases, was) = (releases(builds), verb(several, "was", "were"));
            format!("{releases} {was} built for CUDA {}; ", and(&cudas(builds)))
        }
    };
    let running: Vec<&Build> =
        world.candidates(wanted).iter().filter(|build| judge(wanted, build) == Judgement::Holds).collect();
    let named = !wanted.torch.is_empty() || !wanted.cuda.is_empty();
    let instead = match named {
        true => alternatives(stage, &running, ("run with this driver", "runs with this driver")),
        false => String::new(),
    };
    let says = filled(says, wanted, builds).replace(NONE_NAMED, forward(wanted, builds));
    format!("{built}{says}{instead}")
}

/// What the constraint says where no GPU was named.
const NONE_NAMED: &str = "forward compatibility is for data-centre GPUs, and none was named";

/// Whether naming a GPU would help.
fn forward(wanted: &Wanted, builds: &[&Build]) -> &'static str {
    let for_driver = |build: &&Build| {
        let row = cuda::forward(&build.cuda_text())?;
        Some(wanted.drivers.iter().all(|driver| row.driver_branches.contains(&driver.branch)))
    };
    let known: Vec<Option<bool>> = builds.iter().map(for_driver).collect();
    if known.iter().all(|one| *one == Some(false)) {
        verb(
            cudas(builds).len(),
            "its cuda-compat package is not for this driver",
            "their cuda-compat packages are not for this driver",
        )
    } else if known.contains(&Some(true)) {
        "on data-centre GPUs forward compatibility would do: name yours with --gpu"
    } else {
        NONE_NAMED
    }
}

/// What does instead: other builds of the same releases, or the first or last release that does.
fn alternatives(stage: &Stage<&Build>, all: &[&Build], (do_so, does_so): (&str, &str)) -> String {
    let left = |build: &&&Build| stage.left.iter().any(|one| one.version == build.version);
    let same: Vec<&Build> = all.iter().filter(left).copied().collect();
    if !same.is_empty() {
        return format!("; the builds for CUDA {} {do_so}", and(&cudas(&same)));
    }
    let newest_left = stage.left.iter().map(|build| &build.version).max();
    let oldest_left = stage.left.iter().map(|build| &build.version).min();
    let later = all.iter().filter(|build| newest_left.is_some_and(|newest| build.version > *newest));
    let earlier = all.iter().filter(|build| oldest_left.is_some_and(|oldest| build.version < *oldest));
    let builds_of = |one: &Build| {
        let builds = all.iter().filter(|build| build.version == one.version);
        and(&builds.map(|build| build.build.build.as_str()).collect::<Vec<_>>())
    };
    if let Some(first) = later.min_by_key(|build| &build.version) {
        return format!(
            "; the first torch that {does_so} is {} ({})",
            first.release.version,
            builds_of(first)
        );
    }
    if let Some(last) = earlier.max_by_key(|build| &build.version) {
        return format!("; the last torch that {does_so} is {} ({})", last.release.version, builds_of(last));
    }
    String::new()
}

/// `torch 2.5.0 and 2.5.1`.
pub(super) fn releases(builds: &[&Build]) -> String {
    let tags: Vec<&str> =
        builds.iter().filter_map(|build| build.image).map(|image| image.tag.as_str()).collect();
    if !tags.is_empty() {
        return format!("the torch of {}", and(&distinct(tags.into_iter())));
    }
    let all: Vec<&str> = torch::all().iter().map(|row| row.version.as_str()).collect();
    format!("torch {}", ranges(&all, |one| builds.iter().any(|build| build.release.version == one)))
}

/// `torch 2.5.0 and 2.5.1 for CUDA 12.4`.
fn names(builds: &[&Build]) -> String {
    format!("{} for CUDA {}", releases(builds), and(&cudas(builds)))
}

/// The CUDA releases of builds, oldest first.
pub(super) fn cudas(builds: &[&Build]) -> Vec<String> {
    let mut all: Vec<_> = builds.iter().map(|build| &build.cuda).collect();
    all.sort();
    all.dedup();
    all.iter().map(ToString::to_string).collect()
}

/// Each text once, in the order of the first.
pub(super) fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}
