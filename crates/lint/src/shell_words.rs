//! Words behind the script of a shell, which the script does not use.

/// A shell that gets only the first word of a command as its script: `bash -c python train.py`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CutOff {
    /// `bash -c`.
    pub shell: String,
    /// What it runs.
    pub script: String,
    /// The words that only become `$0`, `$1` and so on.
    pub lost: Vec<String>,
}

impl CutOff {
    /// What happens, in a clause.
    pub(crate) fn message(&self) -> String {
        let first: Vec<&str> = self.lost.iter().take(2).map(String::as_str).collect();
        format!(
            "{} takes only `{}` as its script and runs it without `{}`",
            self.shell,
            self.script,
            first.join(" ")
        )
    }

    /// The whole command as one word.
    pub(crate) fn fix(&self) -> String {
        format!("Write the command as one word: `{} {}`", self.script, self.lost.join(" "))
    }
}

/// The words that a shell drops.
pub(crate) fn cut_off(words: &[String]) -> Option<CutOff> {
    let base = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
    let at = words
        .iter()
        .take(2)
        .position(|word| ["sh", "bash", "dash", "ash", "zsh"].contains(&base(word).as_str()))?;
    // `env bash -c`, `exec bash -c`; behind anything else it is an argument.
    if at == 1 && !["env", "exec"].contains(&base(&words[0]).as_str()) {
        return None;
    }
    let options = words[at + 1..].iter().take_while(|word| is_option(word)).count();
    let last = options.checked_sub(1).and_then(|last| words.get(at + 1 + last))?;
    let is_script = last.starts_with('-') && last.contains('c') && !last.starts_with("--");
    let script = words.get(at + 1 + options).filter(|_| is_script)?;
    let lost = &words[at + 2 + options..];
    // A script of several words, or with arguments of its own, was meant to be one.
    let whole = script.is_empty()
        || script.chars().any(|letter| letter.is_whitespace() || "$`;&|(){}<>".contains(letter));
    (!whole && !lost.is_empty()).then(|| CutOff {
        shell: format!("{} {last}", base(&words[at])),
        script: script.clone(),
        lost: lost.to_vec(),
    })
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with(['-', '+']) || word == "pipefail"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::quotes::split;

    #[test]
    fn scripts_of_one_word() {
        let of = |command: &str| cut_off(&split(command, false)).map(|one| one.script);
        assert_eq!(of("bash -c python train.py").as_deref(), Some("python"));
        assert_eq!(of("/bin/sh -lc torchrun --standalone t.py").as_deref(), Some("torchrun"));
        assert_eq!(of("bash -euo pipefail -c ./run.sh 7b").as_deref(), Some("./run.sh"));
        assert_eq!(of("bash -c 'python train.py' x"), None);
        assert_eq!(of("bash -c 'exec \"$0\" \"$@\"' python"), None);
        assert_eq!(of("bash -c nvidia-smi"), None);
        assert_eq!(of("bash run.sh -c config.yaml"), None);
        assert_eq!(of("python -c print x"), None);
    }
}
