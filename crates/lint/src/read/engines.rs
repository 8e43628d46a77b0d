//! Which programs give a configuration of DeepSpeed to `deepspeed.initialize`.

use super::config::Config;
use super::dockerfile::command::Command;
use super::dockerfile::expand::Variables;
use super::dockerfile::shell;
use super::dockerfile::text::Text;
use super::python::{Call, Program};

/// A call of `deepspeed.initialize` that certainly gets the configuration.
#[derive(Debug)]
pub(crate) struct Engine<'c> {
    pub program: &'c Program,
    pub call: &'c Call,
}

/// The calls that get a configuration: by its path, by an option of the program, by `--deepspeed_config`.
pub(crate) fn engines(config: &Config) -> Vec<Engine<'_>> {
    let programs = config.programs().iter();
    programs.flat_map(|program| of_program(config, program)).collect()
}

fn of_program<'c>(config: &'c Config, program: &'c Program) -> Vec<Engine<'c>> {
    if changes_what_it_loads(program) {
        return Vec::new();
    }
    let given = |option: &str| of_scripts(config, &program.name, option);
    let calls = program.calls.iter().filter(|call| call.name == "deepspeed.initialize");
    let calls = calls.filter(|call| {
        let own = ["config", "config_params"].iter().find_map(|key| call.keyword(key));
        let path = match own {
            Some(own) => program.path(&own.at, &call.function, &given),
            None if call.argument(0, "args").is_some() => of_arguments(program, &given),
            None => None,
        };
        path.is_some_and(|path| is_same(&path, &program.name, &config.name))
    });
    calls.map(|call| Engine { program, call }).collect()
}

/// Whether a program sets keys of a configuration that it loaded: `config["bf16"] = …`.
fn changes_what_it_loads(program: &Program) -> bool {
    let loaded = program.assignments.iter().filter(|one| one.text.contains("json.load"));
    let mut names = loaded.map(|one| one.name.as_str());
    names.any(|name| {
        let item = format!("{name}[");
        let methods = ["update", "pop", "setdefault"].map(|method| format!("{name}.{method}"));
        program.assignments.iter().any(|one| one.name.starts_with(&item))
            || program.calls.iter().any(|call| methods.contains(&call.name))
    })
}

/// The configuration that `args=args` brings: the attribute `deepspeed_config`.
fn of_arguments(program: &Program, given: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    const OPTION: &str = "deepspeed_config";
    let adds = program.calls.iter().any(|call| call.name.ends_with("add_config_arguments"));
    let own = program.option(&format!("args.{OPTION}"));
    (adds || own.is_some()).then(|| given(OPTION).or_else(|| own?.1.map(str::to_owned)))?
}

/// What the scripts that start a program give for one of its options, where they agree.
fn of_scripts(config: &Config, program: &str, option: &str) -> Option<String> {
    let base = program.rsplit('/').next().unwrap_or_default();
    let scripts = config.nearby.iter().filter(|one| !one.name.ends_with(".py") && one.text.contains(base));
    let mut values = scripts.flat_map(|script| {
        let commands = shell::commands(&Text::lines(&script.text, 1), &Variables::default());
        let starts = commands
            .iter()
            .filter(|one| one.words.iter().any(|word| word.text.rsplit('/').next() == Some(base)));
        starts.filter_map(|one| value(one, option, &commands)).collect::<Vec<_>>()
    });
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

/// The value of an option in a command, with the variables of its script.
fn value(command: &Command, option: &str, all: &[Command]) -> Option<String> {
    let plain = |text: &str| text.trim_start_matches('-').replace('-', "_");
    let wanted = option.replace('-', "_");
    let words = &command.words;
    let found = words.iter().enumerate().find_map(|(at, word)| {
        let (name, value) = match word.text.split_once('=') {
            Some((name, value)) => (name, value),
            None => (word.text.as_str(), words.get(at + 1).map_or("", |next| next.text.as_str())),
        };
        (name.starts_with("--") && plain(name) == wanted).then(|| value.to_owned())
    })?;
    let Some(rest) = found.strip_prefix('$') else { return Some(found).filter(|text| !text.contains('$')) };
    let name = rest.trim_start_matches('{').trim_end_matches('}');
    let mut sets = all.iter().flat_map(|one| &one.sets).filter(|(set, _)| set == name);
    let (_, word) = sets.next().filter(|_| sets.next().is_none())?;
    Some(word.text.clone()).filter(|text| !text.contains('$'))
}

/// Whether a path that a program names is a file: by all folders that both show.
fn is_same(path: &str, program: &str, file: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        let parts = text.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
        parts.map(str::to_owned).collect()
    };
    let (named, own) = (parts(path), parts(file));
    let folder = |text: &str| text.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    match named.len() {
        0 => false,
        1 => named.last() == own.last() && folder(program) == folder(file),
        count => {
            let count = count.min(own.len());
            named[named.len() - count..] == own[own.len() - count..]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn paths_that_are_one_file() {
        for (path, program, file) in [
            ("ds.json", "train.py", "ds.json"),
            ("./ds.json", "job/train.py", "job/ds.json"),
            ("configs/ds.json", "job/train.py", "job/configs/ds.json"),
            ("/app/configs/ds.json", "train.py", "configs/ds.json"),
        ] {
            assert!(is_same(path, program, file), "{path}");
        }
        for (path, program, file) in [
            ("ds.json", "train.py", "configs/ds.json"),
            ("a/ds.json", "train.py", "b/ds.json"),
            ("", "train.py", "ds.json"),
        ] {
            assert!(!is_same(path, program, file), "{path}");
        }
    }
}
