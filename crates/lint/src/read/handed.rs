//! Texts that a script hands to other shells: of another machine, of a container, of a step, its own.

use super::dockerfile::command::{Command, Word};
use super::dockerfile::expand::Variables;
use super::dockerfile::shell;
use super::dockerfile::text::Text;
use super::script::Script;

/// Who reads a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A shell on another machine, which has none of the script's variables.
    Remote,
    /// A shell in a container, which has those that are handed to it.
    Container,
    /// A shell that the script starts, which has its exported variables.
    Child,
}

/// A text for another shell.
#[derive(Debug)]
pub(crate) struct Handed<'c> {
    /// The command that hands it on.
    pub by: &'c Command,
    pub reader: Reader,
    pub text: Text,
    /// Whether the script's own shell replaces nothing in it: single quotes, or a quoted end word.
    pub literal: bool,
}

impl Handed<'_> {
    /// Its commands.
    pub(crate) fn commands(&self) -> Vec<Command> {
        shell::commands(&self.text, &Variables::default())
    }
}

/// Programs that run a text on other machines.
const REMOTE: &[&str] =
    &["ssh", "pdsh", "clush", "pssh", "parallel-ssh", "prsh", "dsh", "autossh", "sshpass", "gcloud"];
/// Programs that run one in a container.
const CONTAINER: &[&str] = &["docker", "podman", "nerdctl", "kubectl", "oc", "enroot"];
/// Options of ssh with a value: ssh(1).
const SSH_VALUED: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// The texts that the commands of a script hand on.
pub(crate) fn of_script(script: &Script) -> Vec<Handed<'_>> {
    let mut found: Vec<Handed> = script.commands.iter().flat_map(of_command).collect();
    for document in &script.documents {
        let by = script.commands.iter().rev().find(|one| one.heredoc.is_some() && one.line <= document.by);
        let Some((by, reader)) = by.and_then(|by| Some((by, reads_input(by)?))) else { continue };
        let mut text = Text::default();
        for (line, words) in &document.lines {
            text.push(*line, &format!("{words}\n"));
        }
        found.push(Handed { by, reader, text, literal: document.quoted });
    }
    found
}

/// The texts that a command hands on.
pub(crate) fn of_command(command: &Command) -> Vec<Handed<'_>> {
    let remote = REMOTE.contains(&command.program());
    let words = if remote { remote_words(command) } else { shell_words(command) };
    let Some(first) = words.first() else { return Vec::new() };
    let reader = match command.program() {
        _ if remote => Reader::Remote,
        program if CONTAINER.contains(&program) => Reader::Container,
        _ => Reader::Child,
    };
    let literal = words.iter().all(|word| word.known);
    let mut text = Text::lines(&first.text, first.line);
    for word in &words[1..] {
        text.push(word.line, &format!(" {}", word.text));
    }
    vec![Handed { by: command, reader, text, literal }]
}

/// What a program on other machines gets: the words behind the host.
fn remote_words(command: &Command) -> &[Word] {
    if command.program() == "ssh" {
        return command.words.get(host_of_ssh(command).map_or(usize::MAX, |at| at + 1)..).unwrap_or_default();
    }
    let text = command.words.iter().position(|word| word.text.trim().contains(char::is_whitespace));
    text.map_or(&[], |at| &command.words[at..])
}

/// The place of the host in a command of ssh.
pub(crate) fn host_of_ssh(command: &Command) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = command.words.get(at) {
        let Some(letters) = word.text.strip_prefix('-') else {
            // A variable before the host may hold options.
            let list = !word.quoted || word.text.contains("[@]");
            let named =
                ["opt", "arg", "ssh"].iter().any(|part| word.text.to_ascii_lowercase().contains(part));
            let options = word.text.starts_with('$') && list && named;
            if !options {
                return Some(at);
            }
            at += 1;
            continue;
        };
        let valued = letters.char_indices().find(|(_, letter)| SSH_VALUED.contains(*letter));
        at += match valued {
            Some((place, letter)) if place + letter.len_utf8() == letters.len() => 2,
            _ => 1,
        };
    }
    None
}

/// The text behind `bash -c`, also behind other programs.
fn shell_words(command: &Command) -> &[Word] {
    let is_shell = |word: &Word| matches!(word.text.rsplit('/').next(), Some("bash" | "sh" | "zsh" | "dash"));
    let Some(at) = command.words.iter().position(is_shell) else { return &[] };
    let option =
        |word: &Word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.ends_with('c');
    let options = command.words[at + 1..].iter().take_while(|word| word.text.starts_with('-'));
    let Some(given) = options.enumerate().find(|(_, word)| option(word)).map(|(index, _)| index) else {
        return &[];
    };
    let place = at + given + 2;
    command.words.get(place..place + 1).unwrap_or_default()
}

/// Who reads the input of a command as a script.
fn reads_input(command: &Command) -> Option<Reader> {
    let is_shell = |word: &Word| matches!(word.text.rsplit('/').next(), Some("bash" | "sh" | "zsh" | "dash"));
    match command.program() {
        "ssh" => {
            let rest = &command.words[host_of_ssh(command)? + 1..];
            let shell = rest.iter().find(|word| !word.text.contains('='));
            shell
                .is_none_or(|word| is_shell(word) || word.text.starts_with("bash "))
                .then_some(Reader::Remote)
        }
        "bash" | "sh" | "zsh" | "dash" => {
            let script = command.words[1..].iter().find(|word| !word.text.starts_with('-'));
            let from_input = command.has("-s") || script.is_none();
            from_input.then_some(Reader::Child)
        }
        program if CONTAINER.contains(&program) => {
            command.words.last().filter(|word| is_shell(word)).map(|_| Reader::Container)
        }
        _ => None,
    }
}

/// Every command of a script, with those in the texts that it hands on.
pub(crate) fn all_commands(script: &Script) -> Vec<Command> {
    let mut found = script.commands.clone();
    let mut level: Vec<Command> = of_script(script).iter().flat_map(Handed::commands).collect();
    for _ in 0..DEPTH_LIMIT {
        let next = level.iter().flat_map(of_command).flat_map(|one| one.commands()).collect();
        found.append(&mut level);
        level = next;
    }
    found
}

/// How many shells deep texts are read.
const DEPTH_LIMIT: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;

    fn read(text: &str) -> Vec<(Reader, String, bool)> {
        let script = Script::read(catalog(), text);
        of_script(&script).into_iter().map(|one| (one.reader, one.text.text, one.literal)).collect()
    }

    #[test]
    fn texts_for_other_shells() {
        let of = |reader, text: &str, literal| vec![(reader, text.to_owned(), literal)];
        assert_eq!(read("ssh -n -p 22 $h 'a $i'\n"), of(Reader::Remote, "a $i", true));
        assert_eq!(read("ssh -oPort=22 \"$h\" a \"$i\"\n"), of(Reader::Remote, "a $i", false));
        assert_eq!(read("ssh $SSH_OPTS $h a\n"), of(Reader::Remote, "a", true));
        assert_eq!(
            read("pdsh -R ssh -w \"$H\" 'bash -lc \"b\"'\n"),
            of(Reader::Remote, "bash -lc \"b\"", true)
        );
        assert_eq!(read("srun -N1 bash -lc 'a'\n"), of(Reader::Child, "a", true));
        assert_eq!(read("docker run --rm x bash -c \"a $b\"\n"), of(Reader::Container, "a $b", false));
        assert_eq!(
            read("ssh h bash -s -- 1 <<'E'\na $i\nE\n"),
            [(Reader::Remote, "bash -s -- 1".to_owned(), true), (Reader::Remote, "a $i\n".to_owned(), true)]
        );
        assert_eq!(read("ssh h <<E\na\nE\n"), of(Reader::Remote, "a\n", false));
        assert_eq!(read("cat > x <<E\na\nE\nbash run.sh\n"), []);
    }

    #[test]
    fn commands_of_all_shells() {
        let script = Script::read(catalog(), "a\nssh h 'b; bash -c \"c; docker run x sh -c d\"'\n");
        let programs: Vec<String> =
            all_commands(&script).iter().map(|one| one.program().to_owned()).collect();
        assert_eq!(programs, ["a", "ssh", "b", "bash", "c", "docker", "d"]);
    }
}
