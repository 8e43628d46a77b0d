//! The options of launchers, as their own parsers take them: `-` and `_` alike, prefixes of names, the value
//! behind `=` or in the next word.

use super::dockerfile::command::Word;
use super::launcher::Launcher;

/// The options of a start of processes.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub given: Vec<Given>,
    /// Options that the launcher does not know.
    pub unknown: Vec<(String, usize)>,
    /// False where words that only the shell knows may hold more.
    pub complete: bool,
    /// The words behind the program: its own.
    pub behind: Vec<Word>,
}

/// One option.
#[derive(Debug, Clone)]
pub(crate) struct Given {
    /// Its name without dashes, with `_`.
    pub name: String,
    /// Its value, where it is known.
    pub value: Option<String>,
    /// Its value as written.
    pub written: Option<String>,
    pub line: usize,
}

impl Options {
    pub(crate) fn get(&self, name: &str) -> Option<&Given> {
        self.given.iter().rev().find(|one| one.name == name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.get(name)?.value.as_deref()
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.trim().parse().ok()
    }
}

/// Options of a launcher: with a value, and without.
struct Known {
    valued: &'static [&'static str],
    flags: &'static [&'static str],
    short: &'static [(&'static str, &'static str)],
}

/// torch/distributed/run.py, of the releases 1.9 to 2.9.
const TORCHRUN: Known = Known {
    valued: &[
        "nnodes",
        "nproc_per_node",
        "rdzv_backend",
        "rdzv_endpoint",
        "rdzv_id",
        "rdzv_conf",
        "max_restarts",
        "monitor_interval",
        "start_method",
        "event_log_handler",
        "role",
        "log_dir",
        "redirects",
        "tee",
        "local_ranks_filter",
        "node_rank",
        "master_addr",
        "master_port",
        "local_addr",
        "logs_specs",
        "numa_binding",
        "signals_to_handle",
        "duplicate_stdout_filters",
        "duplicate_stderr_filters",
    ],
    flags: &["standalone", "module", "no_python", "run_path", "use_env", "virtual_local_rank", "help"],
    short: &[("-m", "module"), ("-r", "redirects"), ("-t", "tee"), ("-h", "help")],
};

/// deepspeed/launcher/runner.py, to 0.19.6.
const DEEPSPEED: Known = Known {
    valued: &[
        "hostfile",
        "include",
        "exclude",
        "num_nodes",
        "min_elastic_nodes",
        "max_elastic_nodes",
        "num_gpus",
        "num_accelerators",
        "master_port",
        "master_addr",
        "node_rank",
        "launcher",
        "launcher_args",
        "enable_each_rank_log",
        "autotuning",
        "bind_core_list",
        "ssh_port",
        "venv_script",
        "log_level",
    ],
    flags: &[
        "module",
        "no_python",
        "no_local_rank",
        "no_ssh",
        "no_ssh_check",
        "force_multi",
        "save_pid",
        "elastic_training",
        "bind_cores_to_rank",
        "quiet",
        "help",
    ],
    short: &[("-H", "hostfile"), ("-i", "include"), ("-e", "exclude"), ("-q", "quiet"), ("-h", "help")],
};

/// Switches of accelerate/commands/launch.py; what is not here is taken to have a value.
const ACCELERATE: Known = Known {
    valued: &[],
    flags: &[
        "multi_gpu",
        "cpu",
        "tpu",
        "ipex",
        "use_deepspeed",
        "use_fsdp",
        "use_megatron_lm",
        "use_parallelism_config",
        "use_xpu",
        "quiet",
        "debug",
        "module",
        "no_python",
        "tpu_use_cluster",
        "no_tpu_use_cluster",
        "tpu_use_sudo",
        "no_tpu_cluster",
        "enable_cpu_affinity",
        "dynamo_use_fullgraph",
        "dynamo_use_dynamic",
        "dynamo_use_regional_compilation",
        "main_training_function_help",
        "help",
        "mixed_precision_help",
    ],
    short: &[("-m", "module"), ("-q", "quiet"), ("-h", "help")],
};

/// Reads the words behind a launcher's name up to the program that it starts.
pub(super) fn read(launcher: Launcher, words: &[Word], value: impl Fn(&Word) -> Option<String>) -> Options {
    let mut options = Options { complete: true, ..Options::default() };
    let Some(known) = Known::of(launcher) else { return options };
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if !word.text.starts_with('-') || word.text == "-" || word.text == "--" {
            options.complete &= word.known || !word.text.starts_with(['$', '`']);
            // An unknown word may be more options, or the program.
            if word.known || !word.text.starts_with('$') {
                // `--` may part the options of another program that starts the launcher.
                if !word.text.starts_with('-') {
                    options.behind = words[at..].to_vec();
                }
                break;
            }
            continue;
        }
        let (written, attached) = match word.text.split_once('=') {
            Some((name, rest)) => (name, Some(Word { text: rest.to_owned(), ..word.clone() })),
            None => (word.text.as_str(), None),
        };
        let Some((name, takes)) = known.find(written, words.get(at), launcher == Launcher::Accelerate) else {
            // Behind a word that only the shell knows it may be the script's own.
            if options.complete {
                options.unknown.push((written.to_owned(), word.line));
            }
            options.complete = false;
            break;
        };
        let next = words.get(at).filter(|_| takes && attached.is_none()).cloned();
        at += usize::from(next.is_some());
        let given = attached.or(next);
        let value = given.as_ref().and_then(&value);
        options.given.push(Given { name, value, written: given.map(|word| word.text), line: word.line });
    }
    options
}

impl Known {
    fn of(launcher: Launcher) -> Option<&'static Known> {
        match launcher {
            Launcher::Torchrun | Launcher::DistributedLaunch => Some(&TORCHRUN),
            Launcher::Deepspeed => Some(&DEEPSPEED),
            Launcher::Accelerate => Some(&ACCELERATE),
            Launcher::Mpirun => None,
        }
    }

    /// The name that an option stands for, and whether the next word is its value.
    fn find(&self, written: &str, next: Option<&Word>, open: bool) -> Option<(String, bool)> {
        if let Some((_, name)) = self.short.iter().find(|(short, _)| *short == written) {
            return Some(((*name).to_owned(), self.valued.contains(name)));
        }
        let name = written.trim_start_matches('-').replace('-', "_");
        if self.valued.contains(&name.as_str()) {
            return Some((name, true));
        }
        if self.flags.contains(&name.as_str()) {
            return Some((name, false));
        }
        if open {
            let valued = next.is_some_and(|word| !word.text.starts_with('-') && !word.text.ends_with(".py"));
            return Some((name, valued));
        }
        // argparse takes the beginning of a name where it is the only one.
        let mut longer = self.valued.iter().chain(self.flags).filter(|full| full.starts_with(&name));
        match (longer.next(), longer.next()) {
            (Some(full), None) if !name.is_empty() => Some(((*full).to_owned(), self.valued.contains(full))),
            _ => None,
        }
    }
}

/// Names that a launcher knows, for advice.
pub(crate) fn names(launcher: Launcher) -> Vec<&'static str> {
    match launcher {
        Launcher::Torchrun | Launcher::DistributedLaunch => [TORCHRUN.valued, TORCHRUN.flags].concat(),
        Launcher::Deepspeed => [DEEPSPEED.valued, DEEPSPEED.flags].concat(),
        Launcher::Accelerate | Launcher::Mpirun => Vec::new(),
    }
}
