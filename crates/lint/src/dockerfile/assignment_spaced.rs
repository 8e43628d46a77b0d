//! ENV, ARG and LABEL with a blank where Dockerfiles have none.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::instructions::{INSTRUCTIONS, Instruction};
use crate::read::dockerfile::stage::pairs;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "assignment-spaced",
    severity: Severity::Error,
    summary: "ENV, ARG and LABEL have no spaces around `=`",
    explain: include_str!("assignment_spaced.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:24.04\nENV NCCL_SOCKET_IFNAME= eth0\n"),
        dockerfile("FROM ubuntu:24.04\nENV MAX_JOBS = 8\n"),
        dockerfile("FROM ubuntu:24.04\nENV A=1 \\\n    TORCH_CUDA_ARCH_LIST=8.0 9.0 \\\n    B=2\n"),
        dockerfile("ARG TAG = 24.04\nFROM ubuntu:24.04\n"),
        dockerfile("FROM ubuntu:24.04\nENV PATH /opt/mpi/bin:$PATH LD_LIBRARY_PATH=/opt/mpi/lib\n"),
        dockerfile("FROM ubuntu:24.04\nARG JOBS= 8\nLABEL a=b c\n"),
    ],
    silent: &[
        dockerfile(
            "ARG TAG=24.04 OTHER\nFROM ubuntu:24.04\nENV A=1 B=\"8.0 9.0\" C='x y' D=a\\ b\nENV OLD one two \
             = three\n\
             LABEL a=\"b c\" d=e\n",
        ),
        dockerfile("FROM ubuntu:24.04\nENV CMAKE_ARGS -DA=on -DB=off\nENV OPTS --x=1 y=2\n"),
        dockerfile("FROM ubuntu:24.04\nENV A=1 \\\n    # why\n    B=2 \\\n\n    C=3\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let own = file.instructions.iter().filter(|one| matches!(one.keyword.as_str(), "ENV" | "ARG" | "LABEL"));
    own.filter_map(fault).collect()
}

fn fault(one: &Instruction) -> Option<Found> {
    let words = pairs(&one.text.text);
    // Comments, commands and swallowed instructions have rules of their own.
    let other = |word: &str| {
        word.starts_with('#') || word.contains("$(") || word.contains('`') || INSTRUCTIONS.contains(&word)
    };
    if words.iter().any(|(name, value)| other(name) || value.as_deref().is_some_and(other)) {
        return None;
    }
    let line = |word: &str| one.text.text.find(word).map_or(one.line, |at| one.text.line_at(at));
    let keyword = one.keyword.as_str();
    let ((first, value), rest) = words.split_first()?;
    if keyword == "ARG" {
        return argument(one, &words);
    }
    if value.is_some() {
        let (word, _) = rest.iter().find(|(name, value)| value.is_none() && !name.contains('\\'))?;
        let message = format!(
            "{word:?} has no `=`; BuildKit takes {keyword} for NAME=value pairs, and the build fails"
        );
        let fix = "Write no space around `=`, and quote a value that has spaces: `NAME=\"a b\"`";
        return Some(Found::error(line(word), message, fix));
    }
    // `ENV NAME value`: all behind the name is the value.
    let Some((second, value)) = rest.first() else {
        let message = format!("{keyword} {first} has no value; the build fails");
        return Some(Found::error(one.line, message, format!("Write `{keyword} {first}=value`")));
    };
    let fix = format!("Write `{keyword} {first}=…` without spaces around `=`");
    if let (true, Some(value)) = (second.is_empty(), value) {
        let value = format!(
            "={value} {}",
            rest[1..].iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
        );
        let message = format!("the value of {first} begins with `=`: it is {:?}", value.trim());
        return Some(Found::warning(one.line, message, fix));
    }
    let variable = |name: &str| {
        name.len() > 1
            && name.starts_with(|letter: char| letter.is_ascii_uppercase())
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let (other, _) = rest[1..].iter().find(|(name, value)| value.is_some() && variable(name))?;
    let message = format!(
        "{keyword} without `=` takes one name: `{other}=…` is a part of the value of {first}, and {other} \
         is not set"
    );
    (keyword == "ENV")
        .then(|| Found::warning(line(&format!("{other}=")), message, "Write `NAME=value` for each"))
}

fn argument(one: &Instruction, words: &[(String, Option<String>)]) -> Option<Found> {
    let fix = "Write `ARG NAME=value` without spaces around `=`";
    if words.iter().any(|(name, value)| name.is_empty() && value.is_some()) {
        let message = "ARG has a space before `=`, and so an empty name; the build fails";
        return Some(Found::error(one.line, message, fix));
    }
    let index = words.iter().position(|(_, value)| value.as_deref() == Some(""))?;
    let (next, value) = words.get(index + 1)?;
    let is_name = next.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && next.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let message = format!("{} is empty, and {next} is the name of another ARG", words[index].0);
    (value.is_none() && !is_name).then(|| Found::warning(one.line, message, fix))
}
