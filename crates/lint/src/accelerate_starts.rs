//! How programs of Accelerate are started, and with which configuration.

use serde_yaml::Value;

use crate::file::Over;
use crate::read::launch::{Launch, Launches};
use crate::read::launcher::Launcher;
use crate::read::python::Program;
use crate::recognize::base_name;

/// The starts of a program with `accelerate launch`, in the scripts next to it.
fn starts(program: &Program) -> Vec<Launch> {
    let own = base_name(&program.name);
    let scripts = program.scripts.iter().filter(|script| script.text.contains("accelerate"));
    let launches = scripts.flat_map(|script| Launches::of_script(script.script(program.catalog)).launches);
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

/// How many ranks a program has: one number for each start with `--num_processes`, `None` where only the
/// shell knows it; and one for each configuration, where a start leaves it to that or none is known.
pub(crate) fn ranks(program: &Program) -> Vec<Option<u64>> {
    let starts = starts(program);
    let (given, left): (Vec<&Launch>, Vec<&Launch>) =
        starts.iter().partition(|one| one.options.has("num_processes"));
    let mut ranks: Vec<Option<u64>> = given.iter().map(|one| one.options.number("num_processes")).collect();
    if given.is_empty() || !left.is_empty() {
        let configured = configs(program).into_iter();
        ranks.extend(configured.filter_map(|one| Some(value_of(&one.text, "num_processes")?.as_u64())));
    }
    ranks
}

/// The value of a key at the top of a configuration.
fn value_of(text: &str, key: &str) -> Option<Value> {
    let root: Value = serde_yaml::from_str(text).ok()?;
    root.get(key).cloned()
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
    let kind = value_of(text, "distributed_type");
    kind.is_some_and(|kind| matches!(kind.as_str(), Some("FSDP" | "DEEPSPEED")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::File;
    use crate::kind::Kind;
    use catalog::testing::catalog;

    fn program(text: &str, near: &[(&str, &str)]) -> Program {
        let mut file = File::new(catalog(), "train.py", text, Kind::Python);
        file.over = near.iter().map(|(name, text)| Over::new(*name, *text)).collect();
        Program::of(&file)
    }

    #[test]
    fn ranks_of_starts_and_configurations() {
        let of = |script: &str, config: &str| {
            ranks(&program("import accelerate\n", &[("run.sh", script), ("acc.yaml", config)]))
        };
        assert_eq!(of("accelerate launch train.py --num_processes 1\n", ""), []);
        let config = "num_processes: 4  # one for each GPU\n";
        assert_eq!(of("accelerate launch --multi_gpu train.py\n", config), [Some(4)]);
        let start = "accelerate launch \\\n  --num_processes 1 \\\n  train.py";
        assert_eq!(of(start, config), [Some(1)]);
        assert_eq!(of("accelerate launch --num-processes=\"$N\" train.py\n", config), [None]);
        assert_eq!(of("accelerate launch --num_processes 1 other.py\n", config), [Some(4)]);
    }

    #[test]
    fn configurations_with_comments_split_models() {
        for config in ["distributed_type: FSDP # 8 GPUs\n", "'distributed_type': \"DEEPSPEED\"\n"] {
            assert!(is_sharded(&program("import accelerate\n", &[("acc.yaml", config)])), "{config}");
        }
        let other = "distributed_type: MULTI_GPU # FSDP\n";
        assert!(!is_sharded(&program("import accelerate\n", &[("acc.yaml", other)])));
    }
}
