//! A service of systemd, or a drop-in of one: its settings, and the words of its commands.
//!
//! Lines, comments and quotes are those of man/systemd.syntax.xml and man/systemd.service.xml@7910079d.

use super::dockerfile::command::{Command, Word};
use super::dockerfile::text::Text;
use crate::file::{Context, File};
use catalog::Catalog;

#[derive(Debug)]
pub(crate) struct Unit {
    pub catalog: &'static Catalog,
    /// The service that a drop-in changes: `docker.service` of `docker.service.d/override.conf`.
    pub drop_in_of: Option<String>,
    pub settings: Vec<UnitSetting>,
    /// The scripts next to it that it starts, by their names.
    pub scripts: Context,
}

/// `ExecStart=/usr/bin/dockerd`.
#[derive(Debug)]
pub(crate) struct UnitSetting {
    /// `Service` of `[Service]`.
    pub section: String,
    pub key: String,
    /// Its value, continued lines joined.
    pub value: Text,
}

/// A word of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnitWord {
    /// Its text without quotes and escapes.
    pub text: String,
    /// Whether any of it was quoted or escaped.
    pub quoted: bool,
    /// Its line, from 1.
    pub line: usize,
}

/// A command of an `Exec…=` setting.
#[derive(Debug)]
pub(crate) struct UnitCommand<'u> {
    /// `ExecStartPre`.
    pub key: &'u str,
    /// The signs before the program: `-@:+!|`.
    pub prefix: String,
    /// Its words, the program first, without those signs.
    pub words: Vec<UnitWord>,
    /// The line on which it begins, from 1.
    pub line: usize,
}

impl Unit {
    pub(crate) fn of(file: &File) -> Unit {
        let mut parts = file.name.rsplit('/');
        let _own = parts.next();
        let drop_in_of = parts.next().and_then(|folder| folder.strip_suffix(".d")).map(str::to_owned);
        Unit {
            catalog: file.catalog,
            drop_in_of: drop_in_of.filter(|_| !file.name.ends_with(".service")),
            settings: settings(&file.text),
            scripts: file.context.clone(),
        }
    }

    /// The settings of a key in `[Service]`, in order.
    pub(crate) fn of_key<'u>(&'u self, key: &'u str) -> impl Iterator<Item = &'u UnitSetting> {
        self.settings.iter().filter(move |one| one.section == "Service" && one.key == key)
    }

    /// The value of a key in `[Service]` that holds one value: the last that is set.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        self.settings
            .iter()
            .rfind(|one| one.section == "Service" && one.key == key)
            .map(|one| one.value.text.trim())
    }

    /// The commands of all `Exec…=` settings.
    pub(crate) fn commands(&self) -> Vec<UnitCommand<'_>> {
        let execs =
            self.settings.iter().filter(|one| one.section == "Service" && one.key.starts_with("Exec"));
        execs.flat_map(UnitSetting::commands).collect()
    }
}

impl UnitSetting {
    pub(crate) fn words(&self) -> Vec<UnitWord> {
        words(&self.value)
    }

    /// The commands of an `Exec…=` setting: a word `;` separates two.
    pub(crate) fn commands(&self) -> Vec<UnitCommand<'_>> {
        let words = self.words();
        let parts = words.split(|word| word.text == ";" && !word.quoted);
        let of = |part: &[UnitWord]| {
            let first = part.first()?;
            let program = first.text.trim_start_matches(['-', '@', ':', '+', '!', '|']);
            let prefix = first.text[..first.text.len() - program.len()].to_owned();
            let mut words = part.to_vec();
            words[0].text = program.to_owned();
            Some(UnitCommand { key: &self.key, prefix, words, line: first.line })
        };
        parts.filter_map(of).collect()
    }
}

impl UnitCommand<'_> {
    /// The program without its folder.
    pub(crate) fn program(&self) -> &str {
        self.words.first().map_or("", |word| word.text.rsplit('/').next().unwrap_or_default())
    }

    /// The path of the shell script that it starts.
    pub(crate) fn script(&self) -> Option<&str> {
        let at = usize::from(matches!(self.program(), "bash" | "sh"));
        let path = self.words.get(at)?.text.as_str();
        path.ends_with(".sh").then_some(path)
    }

    /// The same as a command of a script, for what reads those.
    pub(crate) fn as_command(&self) -> Command {
        let word = |one: &UnitWord| Word {
            known: !one.text.contains('$'),
            default: false,
            text: one.text.clone(),
            quoted: one.quoted,
            line: one.line,
        };
        let words = self.words.iter().map(word).collect();
        Command { line: self.line, words, certain: true, ..Command::default() }
    }
}

fn settings(text: &str) -> Vec<UnitSetting> {
    let mut found: Vec<UnitSetting> = Vec::new();
    let (mut section, mut continued) = (String::new(), false);
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        // A comment between continued lines does not end them.
        if trimmed.starts_with(['#', ';']) {
            continue;
        }
        let (part, more) = match line.trim_end().strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        if continued {
            if let Some(last) = found.last_mut() {
                last.value.push(index + 1, part);
                last.value.push(index + 1, " ");
            }
        } else if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.clone_into(&mut section);
            continue;
        } else if let Some((key, value)) = part.split_once('=') {
            let mut setting =
                UnitSetting { section: section.clone(), key: key.trim().to_owned(), value: Text::default() };
            setting.value.push(index + 1, value.trim_start());
            setting.value.push(index + 1, " ");
            found.push(setting);
        } else {
            continue;
        }
        continued = more;
    }
    found
}

fn words(value: &Text) -> Vec<UnitWord> {
    let (mut found, mut word) = (Vec::new(), UnitWord { text: String::new(), quoted: false, line: 0 });
    let (mut open, mut quote) = (false, None);
    let mut letters = value.text.char_indices();
    while let Some((at, letter)) = letters.next() {
        if quote.is_none() && letter.is_whitespace() {
            if open {
                let next = UnitWord { text: String::new(), quoted: false, line: 0 };
                found.push(std::mem::replace(&mut word, next));
            }
            open = false;
            continue;
        }
        if !open {
            (open, word.line) = (true, value.line_at(at));
        }
        match (letter, quote) {
            ('\\', _) => {
                word.quoted = true;
                word.text.extend(letters.next().map(|(_, letter)| letter));
            }
            (_, Some(end)) if letter == end => quote = None,
            ('"' | '\'', None) => (quote, word.quoted) = (Some(letter), true),
            _ => word.text.push(letter),
        }
    }
    if open {
        found.push(word);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    fn unit(name: &str, text: &str) -> Unit {
        Unit::of(&File::new(catalog::testing::catalog(), name, text, Kind::SystemdUnit))
    }

    #[test]
    fn lines_and_words() {
        let read = unit(
            "a.service",
            "[Unit]\nDescription=a\n[Service]\nType = exec\nExecStart=-/bin/a \"b c\" \\\n# note\n  d\\;e \
             'f' ; \
             @g h\nType=oneshot\n",
        );
        let commands = read.commands();
        let texts = |at: usize| commands[at].words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>();
        assert_eq!(texts(0), ["/bin/a", "b c", "d;e", "f"]);
        assert_eq!((texts(1), commands[1].prefix.as_str()), (vec!["g", "h"], "@"));
        assert_eq!((commands[0].line, commands[0].words[2].line, commands[1].line), (5, 7, 7));
        assert_eq!((read.value("Type"), read.drop_in_of.as_deref()), (Some("oneshot"), None));
    }

    #[test]
    fn drop_ins() {
        let read = unit("etc/systemd/system/docker.service.d/http.conf", "[Service]\nEnvironment=A=b\n");
        assert_eq!(read.drop_in_of.as_deref(), Some("docker.service"));
        assert_eq!(read.of_key("Environment").count(), 1);
    }
}
