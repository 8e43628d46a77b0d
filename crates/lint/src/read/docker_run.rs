//! A `docker run` or `docker create`: its options, its image, and the words behind it.
//!
//! The options are rows of the catalog. They end at the first word that is none (SetInterspersed(false) in
//! docker/cli: cli/command/container/run.go@28f75608).

use catalog::Catalog;
use catalog::docker_options::DockerCommand;

use super::dockerfile::command::{Command, Word};

/// One start of a container.
#[derive(Debug)]
pub(crate) struct DockerRun<'c> {
    /// Names of options without dashes, and their values.
    pub options: Vec<(String, Option<&'c Word>)>,
    pub image: &'c Word,
    /// The words behind the image.
    pub behind: &'c [Word],
    /// Whether lists of the script may add options: `"${opts[@]}"`.
    pub hidden: bool,
}

impl<'c> DockerRun<'c> {
    /// Reads a command; `None` where it starts no container, or words that only the shell knows hide the
    /// image.
    pub(crate) fn read(catalog: &Catalog, command: &'c Command) -> Option<DockerRun<'c>> {
        if !matches!(command.program(), "docker" | "podman" | "nerdctl") {
            return None;
        }
        let verb = match command.word(1) {
            "container" => 2,
            _ => 1,
        };
        if !matches!(command.word(verb), "run" | "create") {
            return None;
        }
        let words = &command.words[verb + 1..];
        let mut options = Vec::new();
        let (mut at, mut hidden) = (0, false);
        while let Some(word) = words.get(at) {
            match option(catalog, word, words.get(at + 1)) {
                Some(found) => {
                    at += found.words;
                    options.push((found.name, found.value));
                }
                // What a list of the script holds is not known: `"${opts[@]}"`.
                None if is_list(word) && may_hold_options(words, at) => (at, hidden) = (at + 1, true),
                None if word.text.starts_with('-') => return None,
                None => return Some(DockerRun { options, image: word, behind: &words[at + 1..], hidden }),
            }
        }
        None
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(one, _)| one == name)
    }

    /// The values of an option, by its long name and its letter.
    pub(crate) fn values(&self, long: &str, short: &str) -> Vec<String> {
        let given =
            self.options.iter().filter(|(name, _)| name == long || name == short && !short.is_empty());
        given.filter_map(|(name, word)| Some(own_value(name, &(*word)?.text))).collect()
    }
}

/// The value in the word that an option has: `all` of `--gpus=all`, `80:80` of `-p80:80`.
pub(crate) fn own_value(name: &str, word: &str) -> String {
    let attached = match word.strip_prefix("--") {
        Some(long) => long.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')),
        None if name.len() == 1 && word.starts_with('-') => word.split_once(name).map(|(_, rest)| rest),
        None => None,
    };
    attached.unwrap_or(word).to_owned()
}

/// Whether a word may be several.
fn is_list(word: &Word) -> bool {
    let text = word.text.as_str();
    text.starts_with('$') && (text.contains("[@]") || text.contains("[*]") || !word.quoted)
}

/// Whether a list is one of options: its name says so, or more options follow.
fn may_hold_options(words: &[Word], at: usize) -> bool {
    let name = words[at].text.to_ascii_lowercase();
    let image = ["image", "img", "tag", "container"].iter().any(|word| name.contains(word));
    !image
}

/// An option of `docker run`.
#[derive(Debug)]
pub(crate) struct RunOption<'c> {
    pub name: String,
    pub value: Option<&'c Word>,
    /// How many words it takes.
    pub words: usize,
}

/// The option that a word is, with the word behind it.
pub(crate) fn option<'c>(catalog: &Catalog, word: &'c Word, next: Option<&'c Word>) -> Option<RunOption<'c>> {
    let known = catalog.docker_options();
    let made = |name: &str, value, words| Some(RunOption { name: name.to_owned(), value, words });
    if let Some(long) = word.text.strip_prefix("--") {
        let (name, attached) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
        let whole = &word.text[..name.len() + 2];
        return match (known.option(DockerCommand::Run, whole)?.value, attached) {
            (true, true) => made(name, Some(word), 1),
            (true, false) => made(name, next, 2),
            (false, _) => made(name, None, 1),
        };
    }
    let letters = word.text.strip_prefix('-').filter(|letters| !letters.is_empty())?;
    let takes_value = |letter| known.letter(DockerCommand::Run, letter).map(|row| row.value);
    let end = letters.find(|letter| takes_value(letter) != Some(false)).unwrap_or(letters.len());
    let Some(letter) = letters[end..].chars().next() else { return made(letters, None, 1) };
    takes_value(letter)?;
    let name = letter.to_string();
    match letters.len() > end + 1 {
        true => made(&name, Some(word), 1),
        false => made(&name, next, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::script::Script;
    use catalog::testing::catalog;

    fn read(text: &str) -> Option<(Vec<String>, String, Vec<String>)> {
        let script = Script::read(catalog(), text);
        let run = DockerRun::read(catalog(), &script.commands[0])?;
        let names = run.options.iter().map(|(name, _)| name.clone()).collect();
        let behind = run.behind.iter().map(|word| word.text.clone()).collect();
        Some((names, run.image.text.clone(), behind))
    }

    #[test]
    fn images_and_what_is_behind() {
        let of = |names: &[&str], image: &str, behind: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
            Some((owned(names), image.to_owned(), owned(behind)))
        };
        assert_eq!(
            read("sudo docker run -it --rm -v a:b --gpus=all -e X=1 img python t.py --x\n"),
            of(&["it", "rm", "v", "gpus", "e"], "img", &["python", "t.py", "--x"])
        );
        assert_eq!(
            read("docker run -dp 80:80 \"$IMAGE\" --gpus all\n"),
            of(&["p"], "$IMAGE", &["--gpus", "all"])
        );
        assert_eq!(read("docker run \"${opts[@]}\" $X img a\n"), of(&[], "img", &["a"]));
        assert_eq!(read("docker run --unknown 1 img a\n"), None);
        assert_eq!(read("docker build -t a .\n"), None);
        assert_eq!(read("docker run $IMAGE\n"), of(&[], "$IMAGE", &[]));
    }
}
