//! The servers that a container starts: on which ports and addresses they listen.

mod checkouts;
pub(crate) mod instance_groups;
mod of_service;
mod options;

use std::collections::BTreeMap;

use catalog::Catalog;
use catalog::model_servers::{ModelServer, ServerPort};

use crate::base::Base;
use crate::read::dockerfile::command::{Command, Word};

pub(crate) use of_service::{of_pod, of_service};
use options::Options;

/// A server that a command starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Server {
    /// `vLLM`.
    pub name: &'static str,
    /// The ports on which it listens, the one for clients first; `None` where something that is not visible
    /// decides.
    pub ports: Option<Vec<Port>>,
    /// Why only the container itself reaches it, where that is certain: `--host 127.0.0.1`.
    pub loopback: Option<String>,
    /// Whether it loads a large model before it answers.
    pub loads_model: bool,
}

/// A port, and what sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Port {
    pub number: u16,
    /// `--port 8000`, `the default`.
    pub set_by: String,
}

impl Server {
    /// The port for clients.
    pub(crate) fn port(&self) -> Option<&Port> {
        self.ports.as_ref()?.first()
    }

    /// Whether it listens on a port; `None` where that is not known.
    pub(crate) fn listens_on(&self, port: u16) -> Option<bool> {
        self.ports.as_ref().map(|ports| ports.iter().any(|one| one.number == port))
    }

    /// `vLLM listens on port 8000 (--port 8000)`.
    pub(crate) fn sentence(&self) -> String {
        match self.port() {
            Some(Port { number, set_by }) => format!("{} listens on port {number} ({set_by})", self.name),
            None => self.name.to_owned(),
        }
    }
}

/// Variables of a container by name; `None` for a value that is not known.
pub(crate) type Environment = BTreeMap<String, Option<String>>;

/// The image of a container.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Image<'i> {
    pub name: &'i str,
    /// Whether its entrypoint runs, with the commands as its arguments.
    pub enters: bool,
}

/// The only server that a container runs: of an image whose entrypoint is a server, or of its commands.
/// `None` where there is none, or where it is not clear what else runs.
pub(crate) fn server(
    catalog: &'static Catalog,
    image: Option<Image>,
    commands: &[Command],
    environment: &Environment,
) -> Option<Server> {
    let own = |known: &ModelServer| {
        let name = image?.name;
        known.images.iter().any(|one| is_image(name, one)).then_some(())
    };
    for command in commands {
        match known_by_words(catalog, &command.words) {
            // What is behind a server in the foreground waits for its end.
            Some((known, at)) if command.after != "&" => {
                let hidden = known.by_file && image.is_none_or(|one| Base::of(one.name).is_none());
                return Some(read(known, &command.words[at..], environment, own(known).is_some(), hidden));
            }
            None if command.after != "&" => {}
            // Another program runs next to one in the background, and may listen too.
            _ => return None,
        }
    }
    if !commands.iter().all(|command| is_options(&command.words)) {
        return None;
    }
    let mut servers = catalog.model_servers().all().iter();
    let known = servers.find(|known| own(known).is_some()).filter(|_| image.is_some_and(|one| one.enters))?;
    let words: Vec<Word> = commands.iter().flat_map(|command| command.words.clone()).collect();
    Some(read(known, &words, environment, true, false))
}

/// The variables that may set a port, an address or options of a server: a file of variables may set any.
fn variables(catalog: &Catalog) -> impl Iterator<Item = &String> {
    catalog.model_servers().all().iter().flat_map(|known| {
        let of_ports = known.ports.iter().flat_map(|port| &port.variables);
        of_ports.chain(&known.host_variables).chain(&known.hiding)
    })
}

/// Whether an image is one of a repository.
pub(crate) fn is_image(image: &str, repository: &str) -> bool {
    let bare = image.strip_prefix("docker.io/").unwrap_or(image);
    let rest = bare.strip_prefix(repository);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '@']))
}

/// Whether the words only add to the entrypoint of an image.
fn is_options(words: &[Word]) -> bool {
    words.first().is_none_or(|word| word.text.starts_with('-') || word.text.contains('/'))
}

/// The server whose program the words name, and where its own words begin.
fn known_by_words(catalog: &'static Catalog, words: &[Word]) -> Option<(&'static ModelServer, usize)> {
    let at = first_program(words)?;
    let base = |word: &Word| word.text.rsplit('/').next().unwrap_or_default().to_owned();
    let program = base(words.get(at)?);
    let module = program.starts_with("python").then(|| {
        let position = words[at..].iter().position(|word| word.text == "-m")? + at;
        let options = words[at + 1..position].iter().all(|word| word.text.starts_with('-'));
        options.then_some(position + 1)
    });
    catalog.model_servers().all().iter().find_map(|known| {
        let module = module.flatten();
        let is_module = |place: &usize| is_module(known, &words[*place..]);
        if let Some(place) = module.filter(is_module) {
            return Some((known, place + 1));
        }
        let row = known.programs.iter().find(|row| row.program == program)?;
        match row.commands.as_slice() {
            [] => Some((known, at + 1)),
            commands => Some((known, command_of(commands, words, at + 1)? + 1)),
        }
    })
}

/// Whether words begin with a module of a server, and with its command where it has several.
fn is_module(known: &ModelServer, words: &[Word]) -> bool {
    let text = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    known.modules.iter().any(|one| match one.split_once(' ') {
        Some((module, command)) => module == text(0) && command == text(1),
        None => one == text(0),
    })
}

/// The place of one of the commands of a program: its first word, or behind options (`flask --app a run`).
fn command_of(commands: &[String], words: &[Word], from: usize) -> Option<usize> {
    const OPTIONS_MAX: usize = 6;
    let is_one = |at: &usize| words.get(*at).is_some_and(|word| commands.contains(&word.text));
    let options = words.get(from)?.text.starts_with('-');
    (from..from + if options { OPTIONS_MAX } else { 1 }).find(is_one)
}

/// The place of the program behind others that only run it.
fn first_program(words: &[Word]) -> Option<usize> {
    let mut at = 0;
    loop {
        let word = words.get(at)?;
        let base = word.text.rsplit('/').next().unwrap_or_default();
        at += match base {
            "uv" | "poetry" | "pipenv" | "pdm" if words.get(at + 1)?.text == "run" => 2,
            "exec"
            | "tini"
            | "dumb-init"
            | "nohup"
            | "catchsegv"
            | "--"
            | "-g"
            | "ddtrace-run"
            | "opentelemetry-instrument" => 1,
            _ => return Some(at),
        };
    }
}

/// Reads the options of a server. `by_file`: whether a file that is not visible may set them.
fn read(
    known: &'static ModelServer,
    words: &[Word],
    environment: &Environment,
    in_own_image: bool,
    by_file: bool,
) -> Server {
    let options = Options { words };
    // A file or an argument that is not visible may set anything.
    let hidden = by_file
        || options.any_unknown()
        || known.files.iter().any(|name| options.has(name))
        || known.hiding.iter().any(|name| environment.contains_key(name));
    let bind = known.binds.iter().find_map(|name| options.value(name));
    let ports = match (hidden, &bind) {
        (true, _) => None,
        (false, Some((name, address))) => bound_port(name, address).map(|port| vec![port]),
        (false, None) => {
            known.ports.iter().map(|one| port(one, &options, environment, in_own_image)).collect()
        }
    };
    let address = known.hosts.iter().find_map(|name| options.value(name)).or(bind);
    let loopback = match address {
        Some((name, value)) => is_loopback(&value).then(|| format!("{name} {value}")),
        None if hidden || known.opens.iter().any(|name| options.has(name)) => None,
        None => default_address(known, environment, in_own_image),
    };
    Server { name: &known.name, ports, loopback, loads_model: known.loads_model }
}

fn default_address(known: &ModelServer, environment: &Environment, in_own_image: bool) -> Option<String> {
    for name in &known.host_variables {
        if let Some(value) = environment.get(name) {
            return value.as_ref().filter(|value| is_loopback(value)).map(|value| format!("{name}={value}"));
        }
    }
    // Images of a server let it listen on every interface.
    (known.loopback && !in_own_image).then(|| "the default address 127.0.0.1".to_owned())
}

/// One port of a server.
fn port(one: &ServerPort, options: &Options, environment: &Environment, in_own_image: bool) -> Option<Port> {
    if let Some((name, value)) = one.options.iter().find_map(|name| options.value(name)) {
        return Some(Port { number: value.parse().ok()?, set_by: format!("{name} {value}") });
    }
    for name in &one.variables {
        if let Some(value) = environment.get(name) {
            let value = value.as_ref()?;
            let number = value.rsplit(':').next()?.parse().ok()?;
            return Some(Port { number, set_by: format!("{name}={value}") });
        }
    }
    // Images often set a variable of this name; only that of the server's own image is known.
    if !in_own_image && one.variables.iter().any(|name| name == "PORT") {
        return None;
    }
    let number = one.in_image.filter(|_| in_own_image).or(one.default)?;
    let set_by = if in_own_image { "the default of its image" } else { "the default" };
    Some(Port { number, set_by: set_by.to_owned() })
}

/// The port of `0.0.0.0:8000`.
fn bound_port(name: &str, address: &str) -> Option<Port> {
    let (_, number) = address.rsplit_once(':')?;
    Some(Port { number: number.parse().ok()?, set_by: format!("{name} {address}") })
}

/// Whether the words or the variables of a container give its ranks a port at which they meet:
/// `--dist-init-addr=head:20000`, `--master_port 29500`, `MASTER_PORT=29500`, `tcp://10.0.0.1:23456`.
pub(crate) fn is_rendezvous(words: &[String], variables: &[(String, String)], port: u16) -> bool {
    const NAMES: &[&str] = &["master", "nccl", "rdzv", "rendezvous", "dist", "init", "ray"];
    let is_named = |name: &str| {
        let name = name.to_ascii_lowercase();
        let mut parts = name.split(|letter: char| !letter.is_ascii_alphanumeric());
        parts.any(|part| NAMES.contains(&part))
    };
    let number = port.to_string();
    let is_port = |value: &str| value.rsplit(':').next() == Some(number.as_str());
    let with_host = |value: &str| value.contains(':') && is_port(value) && !value.starts_with("http");
    let by_words = words.iter().enumerate().any(|(at, word)| {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, value),
            None => (at.checked_sub(1).map_or("", |before| words[before].as_str()), word.as_str()),
        };
        with_host(value) || name.starts_with('-') && is_named(name) && is_port(value)
    });
    by_words || variables.iter().any(|(name, value)| is_named(name) && is_port(value))
}

/// The ports of this machine that a text names: `http://localhost:8000/health`, `127.0.0.1:80`.
pub(crate) fn local_ports(text: &str) -> Vec<u16> {
    let mut found = Vec::new();
    for host in ["localhost", "127.0.0.1", "0.0.0.0"] {
        for (at, _) in text.match_indices(host) {
            let (before, rest) = (&text[..at], &text[at + host.len()..]);
            let digits: String = match rest.strip_prefix(':') {
                Some(port) => port.chars().take_while(char::is_ascii_digit).collect(),
                None if before.ends_with("http://") => "80".to_owned(),
                None if before.ends_with("https://") => "443".to_owned(),
                None => continue,
            };
            let ends = !before.ends_with(|letter: char| letter.is_alphanumeric() || ".-_".contains(letter))
                && !rest.starts_with(|letter: char| letter.is_alphanumeric() || ".-_".contains(letter));
            found.extend(digits.parse::<u16>().ok().filter(|_| ends));
        }
    }
    found
}

/// Whether an address, with a port or without, is the loopback one.
pub(crate) fn is_loopback(value: &str) -> bool {
    let value = value.trim_matches(['"', '\'']).trim_start_matches("http://");
    let host = value.strip_prefix("[::1]").map_or(value, |_| "::1");
    let host = if host == "::1" { host } else { host.split(':').next().unwrap_or_default() };
    matches!(host, "127.0.0.1" | "localhost" | "::1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::dockerfile::expand::Variables;
    use crate::read::dockerfile::shell;
    use crate::read::dockerfile::text::Text;

    fn of(image: &str, script: &str, environment: &[(&str, &str)]) -> Option<(Option<u16>, bool)> {
        let commands = shell::commands(&Text::in_line(script, 1), &Variables::default());
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), Some((*value).to_owned()));
        let environment = environment.iter().map(pair).collect();
        let image = (!image.is_empty()).then_some(Image { name: image, enters: true });
        let server = server(catalog::testing::catalog(), image, &commands, &environment)?;
        Some((server.port().map(|port| port.number), server.loopback.is_some()))
    }

    #[test]
    fn ports_and_addresses() {
        assert_eq!(of("vllm/vllm-openai:v0.8.5", "--model a/b", &[]), Some((Some(8000), false)));
        assert_eq!(
            of(
                "vllm/vllm-openai:v0.8.5",
                "--model a/b \
         --port=9000",
                &[]
            ),
            Some((Some(9000), false))
        );
        assert_eq!(of("", "vllm serve a/b --host 127.0.0.1", &[]), Some((Some(8000), true)));
        assert_eq!(of("", "vllm serve a/b --config x.yaml", &[]), Some((None, false)));
        assert_eq!(
            of("", "python3 -m vllm.entrypoints.openai.api_server --port 1", &[]),
            Some((Some(1), false))
        );
        assert_eq!(of("", "uvicorn a:b", &[]), Some((Some(8000), true)));
        assert_eq!(of("", "uvicorn a:b --host 0.0.0.0 --port $PORT", &[]), Some((None, false)));
        assert_eq!(of("", "gunicorn -b 0.0.0.0:80 a:b", &[]), Some((Some(80), false)));
        assert_eq!(of("", "gunicorn a:b", &[]), Some((None, false)));
        assert_eq!(of("", "gunicorn -b 127.0.0.1:80 a:b", &[]), Some((Some(80), true)));
        let tgi = "ghcr.io/huggingface/text-generation-inference:2.4.0";
        assert_eq!(of(tgi, "--model-id a/b", &[]), Some((Some(80), false)));
        assert_eq!(of(tgi, "--model-id a/b", &[("PORT", "8080")]), Some((Some(8080), false)));
        assert_eq!(of(tgi, "text-generation-launcher", &[]), Some((Some(80), false)));
        assert_eq!(of("", "text-generation-launcher", &[]), Some((None, false)));
        assert_eq!(of("", "python -m sglang.launch_server --model a", &[]), Some((Some(30000), true)));
        assert_eq!(of("", "vllm serve $MODEL --port 9000 --dtype=$D", &[]), Some((Some(9000), false)));
        assert_eq!(of("", "vllm serve a $ARGS", &[]), Some((None, false)));
        assert_eq!(of("", "uv run uvicorn a:b --host 0.0.0.0", &[]), Some((Some(8000), false)));
    }

    #[test]
    fn ports_of_this_machine() {
        assert_eq!(local_ports("curl -f http://localhost:8000/health || nc 127.0.0.1:1"), [8000, 1]);
        assert_eq!(local_ports("wget http://localhost/x https://127.0.0.1"), [80, 443]);
        assert_eq!(local_ports("localhost.example:1 mylocalhost:2 localhost:$PORT localhost"), [0; 0]);
    }

    #[test]
    fn what_else_may_listen() {
        assert_eq!(of("", "nginx & uvicorn a:b", &[]), None);
        assert_eq!(of("", "python app.py", &[]), None);
        assert_eq!(of("vllm/vllm-openai:v0.8.5", "bash -c x", &[]), None);
        assert_eq!(of("", "cd /app && alembic upgrade head && uvicorn a:b", &[]), Some((Some(8000), true)));
        assert_eq!(of("example/vllm-openai", "--port 1", &[]), None);
    }
}
