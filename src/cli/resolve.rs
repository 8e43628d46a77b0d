//! `envdoc resolve`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;

use crate::error::{Error, Kind};
use crate::facts::{Expected, gather};
use crate::host::snapshot::Snapshot;
use crate::report::resolve::Report;
use crate::report::{self, explain, file, json, screen};
use crate::resolve::answer::{Answer, Warning};
use crate::resolve::lock::{Lock, LockError};
use crate::resolve::machine::{self, Machine, Questions};
use crate::resolve::parse::{self, Mistake, Typed};
use crate::resolve::request::{Base, Prefer, Request, Want, Wish};
use crate::resolve::world::World;
use crate::resolve::{self, exists};

/// Find versions of driver, CUDA, Python, torch and the packages around it that go together, and say why.
///
/// Versions are the beginning of a version (12.1) or a range ('>=2.4,<2.7'). What is not named is chosen. Nothing is asked of the
/// network. Exit code 0: there is a stack; 1: there is none, the conflict and what comes nearest are shown; 2: envdoc could not do
/// its work.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// CUDA of the torch build and of the image: 12.1.
    #[arg(long, value_name = "V")]
    cuda: Option<String>,

    /// Python: 3.12.
    #[arg(long, value_name = "V")]
    python: Option<String>,

    /// torch: 2.5, '>=2.4,<2.7', 2.6.0+cu124.
    #[arg(long, value_name = "V")]
    torch: Option<String>,

    /// DeepSpeed, in any version unless one is named.
    #[arg(long, value_name = "V", num_args = 0..=1, default_missing_value = "")]
    deepspeed: Option<String>,

    /// More packages, with specifiers where the version matters: 'trl>=0.9,<1.0,numpy<2'.
    #[arg(long, value_name = "NAME[SPEC],…")]
    with: Vec<String>,

    /// Packages that are often wanted together: torch, train, finetune, pretrain, rl, serve.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    preset: Vec<String>,

    /// GPUs that it must run on: h100, 'RTX 4090', sm_86, 8.6; several with commas.
    #[arg(long, value_name = "GPU,…")]
    gpu: Vec<String>,

    /// The driver that it must run on: 550.54.14. A branch alone (550) is read as its oldest release.
    #[arg(long, value_name = "V")]
    driver: Option<String>,

    /// Recorded machines (made with `envdoc snapshot`) that it must run on: their oldest driver and all their GPUs count.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<PathBuf>,

    /// This machine is one that it must run on.
    #[arg(long)]
    here: bool,

    /// Seconds that looking at this machine may take in all.
    #[arg(long, value_name = "SECONDS", default_value = "2", requires = "here", value_parser = super::seconds)]
    timeout: Duration,

    /// System of the image: ubuntu22.04, 'Ubuntu 22.04', jammy, debian12.
    #[arg(long, value_name = "SYSTEM")]
    os: Option<String>,

    /// Processor: x86_64 (amd64) or aarch64 (arm64); x86_64 unless a machine says otherwise.
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,

    /// Base image: a repository (nvidia/cuda, python, pytorch, ngc), a whole reference, or none.
    #[arg(long, value_name = "IMAGE")]
    base: Option<String>,

    /// CUDA code will be compiled in the image: it needs nvcc and a compiler that nvcc accepts.
    #[arg(long)]
    compile: bool,

    /// What comes first among the stacks that meet all wishes.
    #[arg(long, value_enum, default_value_t = Preference::Newest)]
    prefer: Preference,

    /// How the answer is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Keep the stack in FILE. Where FILE holds one already, that stack is asked for, exactly, beside the options: it is given
    /// again as long as it holds (exit code 0, FILE is left as it is); else what no longer holds is said (exit code 1).
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,

    /// With --lock: resolve anew and replace FILE, whatever it holds.
    #[arg(long, requires = "lock")]
    force: bool,

    /// Say whether a thing exists and what does instead, and whether it goes together with the other options: torch==2.6.0.
    #[arg(long, value_name = "NAME[==V]", conflicts_with_all = ["lock", "format"])]
    why: Option<String>,

    /// Show every alternative that was not taken, all reasons and their sources.
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Preference {
    /// The newest torch.
    Newest,
    /// The newest torch that is not the first release of the newest series.
    Stable,
    /// What is installed on the machine already, as far as it may stay.
    Installed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For machines; stable keys, schema in docs/schemas/resolve.json.
    Json,
    /// A requirements file, for `pip install -r` and `uv pip install -r`.
    Requirements,
    /// A pyproject.toml with the index of the torch build, for `uv lock` and `uv sync`.
    Toml,
}

impl From<Mistake> for Error {
    fn from(mistake: Mistake) -> Error {
        Error { kind: Kind::Usage, message: mistake.says, hints: mistake.hints }
    }
}

impl Args {
    /// Resolves and reports.
    pub fn run(self) -> Result<u8, Error> {
        let world = World::get();
        let Asked { request, warnings, mut notes } = self.asked(world)?;
        if let Some(thing) = &self.why {
            return why(world, &request, thing);
        }
        let kept = self.kept()?;
        let mut whole = request.clone();
        if let Some((lock, name)) = &kept {
            let error = |error: LockError| Error::new(Kind::File, format!("{name}: {error}"));
            whole.wishes.extend(lock.wishes(name).map_err(error)?);
        }
        let answer = resolve::resolve(world, &whole);
        if let (Some((lock, name)), Answer::Found(resolution)) = (&kept, &answer) {
            notes.push(format!("the stack of {name} holds"));
            let differences = lock.differences(&resolution.stack);
            notes.extend(differences.iter().map(|difference| format!("{name}: {difference}")));
        }
        let report = Report { wishes: &whole.wishes, answer: &answer, warnings: &warnings, notes: &notes };
        let Answer::Found(resolution) = &answer else {
            match self.format {
                Format::Text | Format::Json => screen::print(&self.report(&report)?)?,
                // A file that others read gets no sentence.
                Format::Requirements | Format::Toml => screen::note(self.text(&report).trim_end()),
            }
            return Ok(1);
        };
        if let (Some(path), None) = (&self.lock, &kept) {
            let text = json::text(&Lock::of(&resolution.stack, &request.wishes))?;
            file::write(path, &text, self.force)?;
            screen::note(&format!("the stack was written to {}", path.display()));
        }
        screen::print(&self.report(&report)?)?;
        Ok(0)
    }

    /// The request in the options, of the machines that they name too.
    fn asked(&self, world: &World) -> Result<Asked, Error> {
        let understood = parse::wishes(world, &self.typed())?;
        let machines = self.machines(&understood.wishes)?;
        let mut asked = Asked {
            request: Request {
                wishes: understood.wishes,
                prefer: match self.prefer {
                    Preference::Newest => Prefer::Newest,
                    Preference::Stable => Prefer::Stable,
                    Preference::Installed => Prefer::Installed,
                },
                today: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
                ..Request::default()
            },
            warnings: understood.warnings,
            notes: Vec::new(),
        };
        for machine in machines {
            asked.request.wishes.extend(machine.wishes);
            asked.warnings.extend(machine.warnings);
            asked.notes.extend(machine.notes);
            for (name, version) in machine.installed {
                asked.request.installed.entry(name).or_insert(version);
            }
        }
        Ok(asked)
    }

    /// The lock that is there already, and how it is called.
    fn kept(&self) -> Result<Option<(Lock, String)>, Error> {
        let Some(path) = self.lock.as_ref().filter(|_| !self.force) else { return Ok(None) };
        let name = path.display().to_string();
        let Some(text) = file::read(path)? else { return Ok(None) };
        let lock = Lock::parse(&text).map_err(|error| {
            Error::new(Kind::File, format!("{name}: {error}"))
                .hint("use --force to replace it, or another name")
        })?;
        Ok(Some((lock, name)))
    }

    /// What the machines ask for that were named.
    fn machines(&self, wishes: &[Wish]) -> Result<Vec<Machine>, Error> {
        let questions = Questions {
            bare: wishes.iter().any(|wish| matches!(wish.want, Want::Base(Base::None))),
            installed: self.prefer == Preference::Installed,
        };
        if questions.installed && self.from.is_empty() && !self.here {
            return Err(Error::new(Kind::Usage, "--prefer installed: on which machine?")
                .hint("add --here, or --from with a snapshot of the machine"));
        }
        let mut machines = Vec::new();
        for file in &self.from {
            let facts = gather::recorded(&Snapshot::open(file)?.host(), Expected::default());
            machines.push(machine::of(&self.name(file), &facts, questions));
        }
        if self.here {
            let (_, facts) = super::look(None, self.timeout, Expected::default())?;
            machines.push(machine::of("this machine", &facts, questions));
        }
        Ok(machines)
    }

    /// The file's name, with its path where two have one name.
    fn name(&self, file: &Path) -> String {
        let name = |file: &Path| file.file_name().map(|name| name.to_string_lossy().into_owned());
        let alone = self.from.iter().filter(|other| name(other) == name(file)).count() == 1;
        name(file).filter(|_| alone).unwrap_or_else(|| file.display().to_string())
    }

    fn typed(&self) -> Typed {
        Typed {
            cuda: self.cuda.clone(),
            python: self.python.clone(),
            torch: self.torch.clone(),
            deepspeed: self.deepspeed.clone(),
            with: self.with.clone(),
            preset: self.preset.clone(),
            gpu: self.gpu.clone(),
            driver: self.driver.clone(),
            os: self.os.clone(),
            arch: self.arch.clone(),
            base: self.base.clone(),
            compile: self.compile,
        }
    }

    fn report(&self, report: &Report) -> Result<String, Error> {
        match self.format {
            Format::Text => Ok(self.text(report)),
            Format::Json => json::text(&report::resolve::json::report(report)),
            Format::Requirements | Format::Toml => Ok(match (report.answer, self.format) {
                (Answer::None(_), _) => String::new(),
                (Answer::Found(found), Format::Toml) => report::resolve::project::file(report, &found.stack),
                (Answer::Found(found), _) => report::resolve::requirements::file(report, &found.stack),
            }),
        }
    }

    fn text(&self, report: &Report) -> String {
        let layout = report::text::Layout {
            width: screen::width(),
            unicode: screen::unicode(),
            verbose: self.verbose,
            root: false,
        };
        report::resolve::text::report(report, layout)
    }
}

/// What the options and the machines ask for.
struct Asked {
    request: Request,
    warnings: Vec<Warning>,
    notes: Vec<String>,
}

/// Whether a thing exists, and whether it goes together with the other wishes.
fn why(world: &World, request: &Request, thing: &str) -> Result<u8, Error> {
    // `torch=2.6.0` is conda's way to write it.
    let thing = match thing.split_once('=') {
        Some((name, version)) => format!("{name}=={}", version.trim_start_matches('=')),
        None => thing.to_owned(),
    };
    let Some(explanation) = exists::thing(world, &thing) else {
        let error = Error::new(Kind::Usage, format!("--why: nothing is known of {thing:?}"));
        return Err(match super::nearest(&thing, exists::names(world)) {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => error,
        });
    };
    screen::print(&explain::thing(&explanation, screen::width()))?;
    let (name, version) = thing.split_once("==").map_or((thing.as_str(), ""), |parts| parts);
    let own = match name {
        "cuda" => Typed { cuda: Some(version.into()), ..Typed::default() },
        "python" => Typed { python: Some(version.into()), ..Typed::default() },
        "torch" => Typed { torch: Some(version.into()), ..Typed::default() },
        _ => Typed { with: vec![thing.clone()], ..Typed::default() },
    };
    let Ok(own) = parse::wishes(world, &own) else { return Ok(0) };
    if request.wishes.is_empty() {
        return Ok(0);
    }
    let says: Vec<String> = request.wishes.iter().map(|wish| wish.says.clone()).collect();
    let mut whole = request.clone();
    whole.wishes.extend(own.wishes.into_iter().map(|wish| Wish { says: thing.clone(), ..wish }));
    let answer = resolve::resolve(world, &whole);
    let words = match &answer {
        Answer::Found(found) => {
            let place = exists::why(world, request, &thing)
                .map_or(String::new(), |place| format!(". {}", place.says));
            format!("yes, as {}{place}", report::resolve::text::headline(&found.stack))
        }
        Answer::None(conflict) => format!("no: {}", conflict.says),
    };
    let text = format!("Together with {}: {words}", says.join(", "));
    screen::print(&format!("\n{}\n", textwrap::fill(&text, screen::width())))?;
    Ok(u8::from(matches!(answer, Answer::None(_))))
}
