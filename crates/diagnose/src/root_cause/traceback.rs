//! Python's tracebacks: what was raised, where in the program, and whether that was the program or a
//! launcher.

use std::sync::LazyLock;

use catalog::tracebacks::Tracebacks;
use regex::Regex;

use crate::expression::constant;
use crate::log_prefix::LogPrefix;
use crate::read::Found;

/// An exception that ended something.
#[derive(Debug, Clone)]
pub struct Raised {
    /// Which of the sources.
    pub read: usize,
    /// The line `Traceback (most recent call last)`.
    pub began: u64,
    /// The line with the exception.
    pub number: u64,
    /// That line.
    pub text: String,
    /// The number of the last line that is of it: that one, or where it stands twice, its second.
    pub last: u64,
    /// Who raised it.
    pub prefix: LogPrefix,
    /// `ValueError`, `torch.OutOfMemoryError`.
    pub name: String,
    pub message: String,
    /// Files and functions, the outermost first.
    pub frames: Vec<String>,
    /// Whether another exception was raised while this one was handled.
    pub handled: bool,
    /// Whether it is repeated in a launcher's table.
    pub in_table: bool,
}

static EXCEPTION: LazyLock<Regex> =
    LazyLock::new(|| constant(r"^((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:\(\w+\))?)(?:: ?(.*))?$"));
static FRAME: LazyLock<Regex> = LazyLock::new(|| constant(r#"^File "([^"]+)", line (\d+), in (.+)$"#));

impl Raised {
    /// Whether a program raised it of its own, and it is the last of its chain.
    pub fn of_program(&self, known: &Tracebacks) -> bool {
        !self.handled
            && !self.passes_on()
            && !known.is_consequence(&self.name, &self.message)
            && !self.frames.iter().any(|frame| known.is_launcher(frame))
    }

    /// Whether a line between the first and the last of the traceback is of it: lines of others may stand
    /// there too. In a launcher's table no line has a rank of its own.
    pub fn same_origin(&self, line: &LogPrefix) -> bool {
        let rank = line.rank == self.prefix.rank || (self.in_table && line.rank.is_none());
        let node = line.node.is_none() || self.prefix.node.is_none() || line.node == self.prefix.node;
        rank && node
    }

    /// Whether it only passes on what a worker raised, whose own traceback follows.
    pub fn passes_on(&self) -> bool {
        self.message.starts_with("Caught ") && self.message.contains(" in ")
    }

    /// The module that is missing where a package is built in an environment of its own, which pip and uv
    /// make for that.
    pub fn missing_in_build(&self) -> Option<&str> {
        let built = |frame: &String| frame.contains("/pip-build-env-") || frame.contains("/builds-v");
        let missing = self.message.strip_prefix("No module named ")?;
        let is_it = self.name == "ModuleNotFoundError" && self.frames.iter().any(built);
        is_it.then(|| missing.trim_matches(['\'', '"']))
    }

    /// The module of Python's own library in whose place another file was imported: that library does not
    /// find in it what it has.
    pub fn hidden_module(&self) -> Option<&str> {
        let own = |frame: &String| frame.contains("/lib/python3") && !frame.contains("-packages/");
        let module = match self.name.as_str() {
            "AttributeError" => self.message.strip_prefix("module '")?,
            "ImportError" => self.message.strip_prefix("cannot import name '")?.split_once("' from '")?.1,
            _ => return None,
        };
        let (module, _) = module.split_once('\'')?;
        self.frames.last().is_some_and(own).then_some(module)
    }

    /// Where in the program: the last frame that is not in a library.
    pub fn location(&self) -> Option<&str> {
        let own = |frame: &&String| {
            !["site-packages/", "dist-packages/", "lib/python3", "<frozen"]
                .iter()
                .any(|library| frame.contains(library))
        };
        self.frames.iter().rfind(own).or(self.frames.last()).map(String::as_str)
    }

    pub fn sentence(&self) -> String {
        let message = match self.message.trim() {
            "" => String::new(),
            message => format!(": {}", message.trim_end_matches('.')),
        };
        let location = self.location().map_or(String::new(), |location| format!(" ({location})"));
        format!("The program raised {}{message}{location}.", self.name)
    }
}

/// Whether a line introduces an exception that ends nothing.
pub(super) fn is_ignored(line: &str) -> bool {
    line.contains("Exception ignored in")
}

/// Whether a line begins a traceback.
pub(super) fn begins(line: &str) -> bool {
    line.contains("Traceback (most recent call last)")
}

/// What a line that begins a traceback ends in; `None` where its end is not in the log.
pub(super) fn raised(
    read: usize,
    found: &Found,
    prefix: &LogPrefix,
    from: &dyn Fn(&str) -> (LogPrefix, String),
) -> Option<Raised> {
    if !begins(&found.text) {
        return None;
    }
    let (_, first) = from(&found.text);
    let base = indent(&first);
    let in_table = first.trim_start().starts_with("traceback :");
    let mut raised = Raised {
        read,
        began: found.number,
        number: 0,
        last: 0,
        text: String::new(),
        prefix: prefix.clone(),
        name: String::new(),
        message: String::new(),
        frames: Vec::new(),
        handled: false,
        in_table,
    };
    let mut number = found.number;
    for line in &found.after {
        number += 1;
        let (by, rest) = from(line);
        // Lines of other ranks stand between; in a log that has every line twice, its first again.
        if !raised.same_origin(&by) || (number == found.number + 1 && *line == found.text) {
            continue;
        }
        let trimmed = rest.trim();
        if !raised.name.is_empty() {
            if trimmed.starts_with("During handling of the above exception")
                || trimmed.starts_with("The above exception was the direct cause")
            {
                raised.handled = true;
                break;
            }
            // A log that has every line twice.
            if *line == raised.text {
                raised.last = number;
                continue;
            }
            if trimmed.is_empty() {
                continue;
            }
            break;
        }
        if let Some(frame) = FRAME.captures(trimmed) {
            raised.frames.push(format!("{} line {}, in {}", &frame[1], &frame[2], &frame[3]));
        } else if !trimmed.is_empty() && indent(&rest) <= base && !trimmed.starts_with("...<") {
            let exception = EXCEPTION.captures(trimmed).filter(|found| like_exception(&found[1]))?;
            raised.name = exception[1].to_owned();
            raised.message = exception.get(2).map_or(String::new(), |text| text.as_str().to_owned());
            raised.number = number;
            raised.last = number;
            line.clone_into(&mut raised.text);
        }
    }
    (!raised.name.is_empty()).then_some(raised)
}

/// Where Python was when a signal ended it, from its fault handler: the innermost function of the thread.
///
/// ```text
/// Fatal Python error: Segmentation fault
///
/// Current thread 0x00007f97ebfd5740 (most recent call first):
///   File "/srv/job/embed_train.py", line 7 in gather
/// ```
pub(super) fn crashed(found: &Found) -> Option<String> {
    static CALL: LazyLock<Regex> = LazyLock::new(|| constant(r#"File "([^"]+)", line (\d+) in (.+)$"#));
    if !found.text.contains("Fatal Python error") {
        return None;
    }
    let mut lines = found.after.iter().skip_while(|line| !line.contains("Current thread "));
    let call = CALL.captures(lines.nth(1)?.trim_end())?;
    Some(format!("{} ({} line {})", &call[3], &call[1], &call[2]))
}

/// What a line says that an exception ends with: name and message; `None` for what only follows from another
/// failure.
pub(super) fn bare(known: &Tracebacks, line: &str) -> Option<String> {
    static BARE: LazyLock<Regex> = LazyLock::new(|| {
        constant(concat!(
            r"(?:^|[\s\]:|])((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)|",
            r"(?:[a-z_]\w*\.)+[A-Z]\w+): ([^\n]+)$",
        ))
    });
    let found = BARE.captures(line.trim_end())?;
    (!known.is_consequence(&found[1], &found[2]))
        .then(|| format!("{}: {}", &found[1], found[2].trim_end_matches('.')))
}

/// The name and message of an exception that a line begins with.
pub(super) fn named(line: &str) -> Option<(&str, &str)> {
    let (name, message) = line.trim().split_once(": ")?;
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    (name.chars().all(letters) && like_exception(name)).then_some((name, message))
}

/// Whether a name may be an exception's: the last part begins with a capital.
fn like_exception(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.len() > 2 && last.starts_with(|c: char| c.is_ascii_uppercase())
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use crate::root_cause::diagnose_text;
    use catalog::testing::catalog;

    fn causes(log: &str) -> Vec<String> {
        diagnose_text(catalog(), "a.log", log).causes.into_iter().map(|cause| cause.id).collect()
    }

    fn twice(log: &str) -> String {
        log.lines().map(|line| format!("{line}\n{line}\n")).collect()
    }

    #[test]
    fn launcher_line_within_a_rank_traceback_is_ignored() {
        let log = r#"[rank1]: Traceback (most recent call last):
[rank1]:   File "/opt/train/train.py", line 118, in <module>
[rank1]:     main()
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
[rank1]:   File "/opt/train/train.py", line 85, in main
[rank1]:     raise RuntimeError(f"loss is not finite at step {step}")
[rank1]: RuntimeError: loss is not finite at step 130
"#;
        assert_eq!(causes(log), ["script-exception"]);
    }

    #[test]
    fn uses_launcher_table_if_lines_of_a_rank_are_missing() {
        let own = |rank: u32, line: u32| {
            format!(
                "[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   \
                    File \"/opt/train/train.py\", line {line}, in main\n[rank{rank}]: RuntimeError: \
                    [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 15000ms for recv operation \
                    to complete\n"
            )
        };
        let table = "  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 18170)\n  traceback : Traceback \
            (most recent call last):\n    File \"/opt/train/train.py\", line 109, in main\n      \
            loss.backward()\n  RuntimeError: [gloo/transport/tcp/pair.cc:561] Connection closed by peer \
            [127.0.0.1]:18832.\n";
        let waiting = format!("{}{}{}", own(1, 109), own(2, 109), own(3, 109));
        let world = "2026-11-21 21:51:26,891 [rank 0] INFO train: world size 4\n";
        assert_eq!(causes(&format!("{world}{waiting}")), ["torch-rank-stalled"]);
        // Rank 0 did tell of a failure.
        assert!(!causes(&format!("{world}{waiting}{table}")).contains(&"torch-rank-stalled".to_owned()));
    }

    #[test]
    fn duplicated_lines_do_not_change_the_cause() {
        let chained = "Traceback (most recent call last):\n  File \"/a.py\", line 3, in \
            read\nbinascii.Error: Incorrect padding\n\nThe above exception was the direct cause of the \
            following exception:\n\nTraceback (most recent call last):\n  File \"/a.py\", line 9, in \
            <module>\nValueError: 3\n";
        assert_eq!(causes(chained), ["script-exception"]);
        assert_eq!(causes(&twice(chained)), ["script-exception"]);
        let ignored = "Exception ignored in: <function Group.__del__ at 0x7f4d8c3212d0>\nTraceback (most \
            recent call last):\n  File \"/a.py\", line 3, in __del__\nAttributeError: 'Group' object has no \
            attribute 'comm'\n";
        assert!(causes(ignored).is_empty());
        assert!(causes(&twice(ignored)).is_empty());
    }
}
