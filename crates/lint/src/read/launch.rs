//! The commands that start the processes of a job: torchrun, deepspeed, accelerate launch, mpirun.

use rpds::RedBlackTreeMap;

use super::dockerfile::Dockerfile;
use super::dockerfile::command::{Command, Word};
use super::dockerfile::expand::{Value, Variables, expand};
use super::dockerfile::shell;
use super::dockerfile::start::started;
use super::dockerfile::text::Text;
use super::handed;
use super::launch_options::{self, Options};
use super::launcher::Launcher;
use super::script::{Script, used};
use super::script_values;
use crate::file::Over;

/// One start of processes.
#[derive(Debug)]
pub(crate) struct Launch {
    pub launcher: Launcher,
    pub line: usize,
    pub options: Options,
    /// The command that it is part of.
    pub words: Vec<Word>,
    /// What starts it on each node: `srun`; empty where nothing does.
    pub by: String,
    /// Variables with values that the file shows.
    pub variables: Variables,
    /// What the file gives to variables whose value only the shell knows: `$(hostname)`.
    pub written: Written,
    /// Inside of `bash -c`, which another program starts.
    pub nested: bool,
    /// Inside of a text for another machine: who replaces what is in it.
    pub remote: Option<Replaced>,
    /// Whether a loop starts it.
    pub looped: bool,
    pub certain: bool,
}

impl Launch {
    /// How many ranks it starts; `None` where the file does not show it.
    pub(crate) fn ranks(&self) -> Option<u64> {
        let (nodes, each) = match self.launcher {
            Launcher::Torchrun | Launcher::DistributedLaunch => ("nnodes", "nproc_per_node"),
            Launcher::Deepspeed => ("num_nodes", "num_gpus"),
            Launcher::Accelerate => return self.options.number("num_processes"),
            Launcher::Mpirun => return None,
        };
        let filtered = ["include", "exclude", "hostfile"].iter().any(|name| self.options.has(name));
        let nodes = if self.options.has(nodes) { self.options.number(nodes)? } else { 1 };
        let each = self.options.number(each)?;
        (!filtered && self.options.complete).then(|| nodes.saturating_mul(each))
    }

    /// Whether the nodes of torchrun get their ranks from `--node_rank`: no other rendezvous is given, as an
    /// option or in the environment.
    pub(crate) fn has_static_rendezvous(&self) -> bool {
        let name = "rdzv_backend";
        let elsewhere = self.options.get(name).is_some_and(|one| one.value.is_none())
            || self.variables.has("PET_RDZV_BACKEND")
            || self.options.has("standalone");
        self.options.value(name).is_none_or(|backend| backend == "static") && !elsewhere
    }

    /// What an option has for its value, as written and with the texts of its variables.
    pub(crate) fn written_value(&self, name: &str) -> Option<WrittenValue> {
        let option = self.options.get(name)?.written.clone()?;
        let variables: Vec<&str> =
            used(&option).iter().filter_map(|name| self.written.get(name)).map(String::as_str).collect();
        let variables = Some(variables.join(" ")).filter(|text| !text.is_empty());
        Some(WrittenValue { option, variables })
    }
}

/// A value of an option as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenValue {
    /// `$ID`.
    pub option: String,
    /// What the variables in it are set to: `$(date +%s)`.
    pub variables: Option<String>,
}

impl WrittenValue {
    /// The texts, that of the option first.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.option.as_str()).chain(self.variables.as_deref())
    }
}

/// Whose shell replaces the variables of a text for another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// The script's, before it is sent.
    Here,
    /// That of each machine.
    There,
}

/// The starts of processes in a file.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    pub launches: Vec<Launch>,
    /// The programs in Python that the script names, as far as they are known.
    pub programs: Vec<Over>,
    /// The script as it is written, with the names of variables.
    pub text: String,
    /// Whether it is a job of Slurm.
    pub slurm: bool,
    /// Whether a scheduler starts it, which gives it its hosts: Slurm or PBS.
    pub scheduled: bool,
}

impl Launches {
    pub(crate) fn of_script(script: &Script) -> Launches {
        let mut reader = Reader::default();
        script_values::commands(script).iter().for_each(|command| reader.command(command, false));
        let directive = |mark: &str| script.text.lines().any(|line| line.starts_with(mark));
        let slurm = directive("#SBATCH");
        Launches {
            launches: reader.launches,
            programs: script.programs.clone(),
            text: script.text.clone(),
            slurm,
            scheduled: slurm || directive("#PBS"),
        }
    }

    /// The comments of the script, for what people say of the machines.
    pub(crate) fn comments(&self) -> impl Iterator<Item = &str> {
        self.text.lines().map(str::trim).filter(|line| line.starts_with('#'))
    }

    pub(crate) fn of_dockerfile(file: &Dockerfile) -> Launches {
        let mut reader = Reader::default();
        let variables = file.stages.last().map(|stage| &stage.end.variables);
        for name in variables.into_iter().flat_map(Variables::names) {
            let value = variables.and_then(|all| all.get(name)).and_then(|value| value.text.clone());
            if value.is_some() {
                reader.variables.set(name, Value { text: value, default: false });
            }
        }
        started(file).iter().for_each(|command| reader.command(command, false));
        Launches { launches: reader.launches, ..Launches::default() }
    }
}

#[derive(Default)]
struct Reader {
    launches: Vec<Launch>,
    variables: Variables,
    written: Written,
}

/// Texts by name. A copy shares what is the same.
type Written = RedBlackTreeMap<String, String>;

/// Programs that start the one behind their own options.
const WRAPPERS: &[&str] = &[
    "srun",
    "mpirun",
    "mpiexec",
    "singularity",
    "apptainer",
    "numactl",
    "nsys",
    "uv",
    "poetry",
    "pipenv",
    "conda",
    "micromamba",
    "setsid",
    "stdbuf",
    "taskset",
];

impl Reader {
    fn command(&mut self, command: &Command, nested: bool) {
        if command.words.is_empty() {
            return self.assigned(command);
        }
        if let Some(inner) = inner(command) {
            let (variables, written) = (self.variables.clone(), self.written.clone());
            let by_other = nested || WRAPPERS.contains(&command.program());
            // What the script set has the same value in each of these shells.
            if by_other {
                self.written = Written::default();
            }
            shell::commands(&inner, &Variables::default()).iter().for_each(|one| self.command(one, by_other));
            (self.variables, self.written) = (variables, written);
            return;
        }
        let mut handed = handed::of_command(command).into_iter();
        if let Some(text) = handed.find(|text| text.reader == handed::Reader::Remote) {
            let (variables, written) = (self.variables.clone(), self.written.clone());
            let from = self.launches.len();
            if text.literal {
                (self.variables, self.written) = Default::default();
            }
            // A shell on the other machine has none of the script's variables; in double quotes the script's
            // own shell has replaced them.
            text.commands().iter().for_each(|one| self.command(one, text.literal));
            for launch in &mut self.launches[from..] {
                launch.remote = Some(if text.literal { Replaced::There } else { Replaced::Here });
                launch.looped = command.loops > 0;
                launch.by = command.program().to_owned();
                launch.certain &= command.certain || command.loops > 0;
            }
            (self.variables, self.written) = (variables, written);
            return;
        }
        let Some((launcher, at)) = launcher(command) else { return };
        let mut variables = self.variables.clone();
        for (name, word) in command.sets.iter().filter(|(_, word)| word.known) {
            variables.set(name, Value { text: Some(word.text.clone()), default: false });
        }
        let value = |word: &Word| match word.known {
            true => Some(word.text.clone()),
            false => Some(expand(&word.text, &variables)).filter(|text| text.known).map(|text| text.text),
        };
        let options = launch_options::read(launcher, &command.words[at..], value);
        let by = if at > 0 && WRAPPERS.contains(&command.program()) { command.program() } else { "" };
        self.launches.push(Launch {
            launcher,
            line: command.line,
            options,
            words: command.words.clone(),
            by: by.to_owned(),
            variables,
            written: self.written.clone(),
            nested,
            remote: None,
            looped: command.loops > 0,
            certain: command.certain,
        });
    }

    fn assigned(&mut self, command: &Command) {
        for (name, word) in &command.sets {
            let text = expand(&word.text, &self.variables);
            self.written.insert_mut(name.clone(), word.text.clone());
            match command.certain && (word.known || text.known) {
                true => self.variables.set(name, Value { text: Some(text.text), default: false }),
                false => self.variables.remove(name),
            }
        }
    }
}

/// The script of `bash -c '…'`, also behind another program.
fn inner(command: &Command) -> Option<Text> {
    let is_shell = |word: &Word| matches!(word.text.rsplit('/').next(), Some("bash" | "sh"));
    let at = command.words.iter().position(is_shell)?;
    let option =
        command.words.get(at + 1).filter(|word| word.text.starts_with('-') && word.text.ends_with('c'))?;
    let script = command.words.get(at + 2).filter(|_| !option.text.starts_with("--"))?;
    (at == 0 || WRAPPERS.contains(&command.program())).then(|| Text::lines(&script.text, script.line))
}

/// The launcher of a command, and the place behind its name.
fn launcher(command: &Command) -> Option<(Launcher, usize)> {
    let starts = |at: usize| {
        let base = command.words.get(at).filter(|word| word.known)?.text.rsplit('/').next()?;
        match base {
            "torchrun" => Some((Launcher::Torchrun, at + 1)),
            "deepspeed" => Some((Launcher::Deepspeed, at + 1)),
            "accelerate" | "accelerate-launch"
                if base == "accelerate-launch" || command.word(at + 1) == "launch" =>
            {
                Some((Launcher::Accelerate, at + 1 + usize::from(base == "accelerate")))
            }
            _ if base.starts_with("python") => {
                let module = command.words[at..].iter().position(|word| word.text == "-m")? + at;
                // `python train.py -m …` is another program's option.
                let options = command.words[at + 1..module].iter().all(|word| word.text.starts_with('-'));
                match command.word(module + 1) {
                    "torch.distributed.run" if options => Some((Launcher::Torchrun, module + 2)),
                    "torch.distributed.launch" if options => Some((Launcher::DistributedLaunch, module + 2)),
                    "accelerate.commands.launch" if options => Some((Launcher::Accelerate, module + 2)),
                    _ => None,
                }
            }
            _ => None,
        }
    };
    if let Some(found) = starts(0) {
        return Some(found);
    }
    if !WRAPPERS.contains(&command.program()) {
        return None;
    }
    let wrapped = (1..command.words.len()).find_map(starts);
    let mpi = matches!(command.program(), "mpirun" | "mpiexec");
    wrapped.or_else(|| mpi.then_some((Launcher::Mpirun, 1)))
}
