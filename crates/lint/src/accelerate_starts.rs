//! How programs of Accelerate are started, and with which configuration.

use crate::file::Over;
use crate::read::launch::{Launch, Launches};
use crate::read::launcher::Launcher;
use crate::read::python::Program;
use crate::read::script::Script;
use crate::recognize::base_name;

/// The starts of a program with `accelerate launch`, in the scripts next to it.
fn starts(program: &Program) -> Vec<Launch> {
    let own = base_name(&program.name);
    let scripts = program.scripts.iter().filter(|script| script.text.contains("accelerate"));
    let launches = scripts.flat_map(|script| {
        let read = Script::read(program.catalog, &script.text);
        Launches::of_script(&read).launches
    });
    let of_program = |launch: &Launch| {
        launch.launcher == Launcher::Accelerate
            && launch.words.iter().any(|word| base_name(&word.text) == own)
    };
    launches.filter(of_program).collect()
}

/// The configurations that the starts of a program name; all of its directory where none is named.
pub(crate) fn configs(program: &Program) -> Vec<&Over> {
    let starts = starts(program);
    let files = starts.iter().filter_map(|launch| launch.options.get("config_file"));
    let names = files.filter_map(|one| one.value.as_deref().or(one.written.as_deref()));
    let named: Vec<String> = names.map(base_name).collect();
    program.configs.iter().filter(|one| named.is_empty() || named.contains(&base_name(&one.name))).collect()
}

/// The value of a key at the top of a configuration, if it is a number.
pub(crate) fn number_of(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':')?.trim().parse().ok())
}

/// Whether Accelerate splits the model of a program over the ranks: by a plugin of the program, by the
/// options of its start, or by the configuration that its start names or that is the only one next to it.
pub(crate) fn is_sharded(program: &Program) -> bool {
    let plugins = ["FullyShardedDataParallelPlugin", "DeepSpeedPlugin"];
    let by_plugin = program.calls.iter().any(|call| plugins.iter().any(|name| call.name.ends_with(name)));
    let by_option =
        || starts(program).iter().any(|one| one.options.has("use_fsdp") || one.options.has("use_deepspeed"));
    let by_config = || {
        let configs = configs(program);
        !configs.is_empty() && configs.iter().all(|one| splits(&one.text))
    };
    by_plugin || by_option() || by_config()
}

/// Whether a configuration of Accelerate splits models.
fn splits(text: &str) -> bool {
    let mut kinds = text.lines().filter_map(|line| line.strip_prefix("distributed_type:"));
    kinds.any(|kind| matches!(kind.trim().trim_matches(['"', '\'']), "FSDP" | "DEEPSPEED"))
}
