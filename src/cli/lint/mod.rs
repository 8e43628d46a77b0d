//! `envdoc lint`.

mod context;
mod here;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use clap::ValueEnum;

use crate::cli::format::Format;
use diagnostic::error::{Error, Kind as ErrorKind};
use diagnostic::layout::Layout;
use diagnostic::terminal;
use facts::{Expected, Facts, gather};
use host::file;
use host::snapshot::Snapshot;
use lint::World;
use lint::file::{COMPOSE_NAMES, OVERRIDE_NAMES, kind_of_name, kind_of_text, may_be_deepspeed};
use lint::report::{self, Counts, json, rules};
use lint::{self, File, Finding, Kind, Over, RULES, Rule, Stack};

/// Name what will fail in Dockerfiles, compose or stack files, and the settings of training, before anything is built or started.
///
/// Looks at the files alone, offline: nothing is built, run, pulled or asked (but with --here). Requirements files that a Dockerfile copies and installs,
/// and the env files of compose services, are read with it. What it cannot understand (variables that only the build or the running
/// shell knows, programs that are run) it is silent about. `# envdoc: ignore=RULE[,RULE]` in a file leaves a rule out: at its head for
/// the whole file, else for the instruction or line below or beside it.
///
/// Exit code 0: nothing at or above --fail-on; 1: findings; 2: a file cannot be read.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files, or directories in which Dockerfiles, Containerfiles, compose and stack files, env files, shell scripts, DeepSpeed's
    /// configurations and hostfiles, requirements files, daemon.json, sshd_config and Python
    /// scripts are looked for; `-` is standard input. The compose.yaml of a directory is merged with its compose.override.yaml, as docker compose does.
    #[arg(value_name = "FILE|DIR", required_unless_present_any = ["rules", "file", "here"])]
    paths: Vec<PathBuf>,

    /// Compose files that are merged in this order and judged as one, as `docker compose -f A -f B` does; several times.
    #[arg(long, short, value_name = "FILE")]
    file: Vec<PathBuf>,

    /// Also judge the running environment and what sets it on this machine: /etc/environment, /etc/profile, ~/.bashrc, nccl.conf,
    /// .deepspeed_env; everything against the facts of this machine; and the names of hostfiles against what this machine resolves.
    #[arg(long)]
    here: bool,

    /// Judge against the facts of a recorded machine (made with `envdoc snapshot`): its interfaces, adapters, GPUs and versions.
    #[arg(long, value_name = "FILE", conflicts_with = "here")]
    from: Option<PathBuf>,

    /// How many ranks the run has, for the batch sizes of DeepSpeed; without it the slots of a hostfile beside the configuration tell.
    #[arg(long, value_name = "RANKS", value_parser = clap::value_parser!(u64).range(1..))]
    world_size: Option<u64>,

    /// List the rules.
    #[arg(long)]
    rules: bool,

    /// Run only these rules.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    only: Vec<String>,

    /// Leave these rules out.
    #[arg(long, value_name = "RULE", value_delimiter = ',', env = "ENVDOC_LINT_IGNORE")]
    ignore: Vec<String>,

    /// What kind of file it is, where neither its name nor its text tells.
    #[arg(long = "as", value_name = "KIND", value_parser = kind)]
    kind: Option<Kind>,

    /// The build context of Dockerfiles, whose requirements files are read. Without it the nearest folder, from the Dockerfile's own
    /// upwards, in which everything lies that it copies.
    #[arg(long, value_name = "DIR")]
    context: Option<PathBuf>,

    /// Compose files are meant for `docker stack deploy`; without it their names and keys tell.
    #[arg(long)]
    stack: bool,

    /// The least severe finding that makes the exit code 1.
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,

    /// How the report is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How long --here may look at the machine.
const HERE: Duration = Duration::from_secs(2);

fn kind(text: &str) -> Result<Kind, String> {
    let found = Kind::ALL.iter().find(|kind| kind.id() == text);
    let all = || Kind::ALL.iter().map(|kind| kind.id()).collect::<Vec<_>>().join(", ");
    found.copied().ok_or_else(|| format!("known are {}", all()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Errors only.
    Error,
    /// Errors and warnings.
    Warning,
    /// Anything.
    Note,
    /// Always exit with 0 when the files could be read.
    Never,
}

impl Args {
    /// Reads, judges, reports.
    pub fn run(self) -> Result<u8, Error> {
        if self.rules {
            return terminal::print(&rules::list(terminal::width())).map(|()| 0);
        }
        let chosen = choose(&self.only, &self.ignore)?;
        let mut files = Vec::new();
        for path in &self.paths {
            self.read(path, &mut files)?;
        }
        self.merged(&mut files)?;
        context::env_files(&mut files);
        let facts = self.facts(&mut files)?.map(Rc::new);
        for file in &mut files {
            file.facts.clone_from(&facts);
            file.world =
                self.world_size.map(|size| World { size, from: "--world-size".to_owned(), said: true });
        }
        let findings: Vec<Finding> = files.iter().flat_map(|file| lint::lint(&chosen, file)).collect();
        terminal::print(&self.report(&findings, &files)?)?;
        Ok(self.exit_code(Counts::of(&findings)))
    }

    /// The facts to judge against; with --here the files of this machine too.
    fn facts(&self, files: &mut Vec<File>) -> Result<Option<Facts>, Error> {
        if let Some(path) = &self.from {
            return Ok(Some(gather::recorded(&Snapshot::open(path)?.host(), Expected::default())));
        }
        if !self.here {
            return Ok(None);
        }
        let (_, facts) = super::look(None, HERE, Expected::default())?;
        here::add(&facts, files)?;
        here::names(files);
        Ok(Some(facts))
    }

    /// Reads a file, or what a directory has.
    fn read(&self, path: &Path, files: &mut Vec<File>) -> Result<(), Error> {
        let name = path.display().to_string();
        if name == "-" {
            return self.named(name, terminal::input()?, files);
        }
        if let Some(names) = file::below(path)? {
            let before = files.len();
            for inner in names {
                let shown = inner.strip_prefix(".").unwrap_or(&inner).display().to_string();
                let named = kind_of_name(&shown);
                if named.is_none() && !may_be_deepspeed(&shown) {
                    continue;
                }
                let Some(text) = file::read(&inner)? else { continue };
                if let Some(kind) = named.or_else(|| kind_of_text(&text)) {
                    files.push(self.file(shown, text, kind));
                }
            }
            let found = files.split_off(before);
            files.extend(overridden(found));
            return match files.len() == before {
                true => Err(Error::new(ErrorKind::File, format!("{name} has nothing to lint"))
                    .hint("looked for: Dockerfile*, *.Dockerfile, Containerfile, *compose*.yml, stack*.yml, *.env, .deepspeed_env, *.sh, ds_config*.json, hostfile, requirements*.txt, *.py")),
                false => Ok(()),
            };
        }
        match file::read(path)? {
            Some(text) => self.named(name, text, files),
            None => Err(Error::new(ErrorKind::File, format!("there is no file {name}"))),
        }
    }

    /// The compose files of --file as one.
    fn merged(&self, files: &mut Vec<File>) -> Result<(), Error> {
        let mut whole: Option<File> = None;
        for path in &self.file {
            let name = path.display().to_string();
            let text = file::read(path)?;
            let text = text.ok_or_else(|| Error::new(ErrorKind::File, format!("there is no file {name}")))?;
            match &mut whole {
                Some(whole) => whole.over.push(Over { name, text }),
                None => whole = Some(self.file(name, text, Kind::Compose)),
            }
        }
        files.extend(whole);
        Ok(())
    }

    /// A file that was named: what kind it is must be told from something.
    fn named(&self, name: String, text: String, files: &mut Vec<File>) -> Result<(), Error> {
        let Some(kind) = self.kind.or_else(|| kind_of_name(&name)).or_else(|| kind_of_text(&text)) else {
            let error = Error::new(ErrorKind::Usage, format!("{name}: what kind of file is this?"));
            let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.id()).collect();
            return Err(error.hint(format!("say it with --as: {}", kinds.join(", "))));
        };
        files.push(self.file(name, text, kind));
        Ok(())
    }

    fn file(&self, name: String, text: String, kind: Kind) -> File {
        let mut file = File::new(name, text, kind);
        if self.stack {
            file.stack = Stack::Yes;
        }
        context::fill(&mut file, self.context.as_deref());
        file
    }

    fn report(&self, findings: &[Finding], files: &[File]) -> Result<String, Error> {
        let json = || {
            let names = files.iter().flat_map(|file| {
                std::iter::once(&file.name).chain(file.over.iter().map(|over| &over.name)).cloned()
            });
            let names: Vec<String> = names.collect();
            diagnostic::render::json::text(&json::report(findings, &names))
        };
        let text = || report::text(findings, files.len(), Layout::of_screen(false));
        self.format.write(|| report::report(findings), text, json)
    }

    fn exit_code(&self, counts: Counts) -> u8 {
        let findings = match self.fail_on {
            FailOn::Error => counts.error,
            FailOn::Warning => counts.error + counts.warning,
            FailOn::Note => counts.error + counts.warning + counts.note,
            FailOn::Never => 0,
        };
        u8::from(findings > 0)
    }
}

/// Files of which those that docker compose merges over others are with these.
fn overridden(files: Vec<File>) -> Vec<File> {
    let place = |name: &str| {
        name.rsplit_once('/')
            .map_or((String::new(), name.to_owned()), |(folder, base)| (folder.to_owned(), base.to_owned()))
    };
    let first = |folder: &str, names: &[&str]| {
        let here = |name: &&str| {
            files.iter().position(|file| place(&file.name) == (folder.to_owned(), (*name).to_owned()))
        };
        names.iter().find_map(here)
    };
    let folders: BTreeSet<String> = files.iter().map(|file| place(&file.name).0).collect();
    let pairs = folders
        .iter()
        .filter_map(|folder| Some((first(folder, COMPOSE_NAMES)?, first(folder, OVERRIDE_NAMES)?)));
    let pairs: Vec<(usize, usize)> = pairs.collect();
    let over = |place: usize| {
        let file = &files[place];
        Over { name: file.name.clone(), text: file.text.clone() }
    };
    let mut merged = files.clone();
    for (base, other) in &pairs {
        merged[*base].over.push(over(*other));
    }
    let gone = |place: usize| pairs.iter().any(|(_, other)| *other == place);
    merged.into_iter().enumerate().filter(|(place, _)| !gone(*place)).map(|(_, file)| file).collect()
}

fn choose(only: &[String], ignore: &[String]) -> Result<Vec<&'static Rule>, Error> {
    for (option, name) in only.iter().map(|n| ("--only", n)).chain(ignore.iter().map(|n| ("--ignore", n))) {
        if !name.is_empty() && !RULES.iter().any(|rule| rule.id == name) {
            let error = Error::new(ErrorKind::Usage, format!("{option}: there is no rule {name:?}"));
            let error = match diagnostic::suggest::nearest(name, RULES.iter().map(|rule| rule.id)) {
                Some(near) => error.hint(format!("did you mean {near}?")),
                None => error,
            };
            return Err(error.hint("`envdoc lint --rules` lists them all"));
        }
    }
    let wanted = |rule: &&&'static Rule| {
        let named = |list: &[String]| list.iter().any(|name| name == rule.id);
        (only.iter().all(String::is_empty) || named(only)) && !named(ignore)
    };
    Ok(RULES.iter().filter(wanted).copied().collect())
}
