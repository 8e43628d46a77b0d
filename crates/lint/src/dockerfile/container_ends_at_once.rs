//! A container whose last command starts something in the background, and ends.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::command::{Command, Word};
use crate::read::dockerfile::expand::Variables;
use crate::read::dockerfile::shell;
use crate::read::dockerfile::start::{command, entrypoint, started};
use crate::read::dockerfile::text::Text;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "container-ends-at-once",
    severity: Severity::Error,
    summary: "CMD runs its program in the foreground",
    explain: include_str!("container_ends_at_once.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y openssh-server\nCMD service ssh \
             start\n",
        ),
        dockerfile("FROM rayproject/ray:2.40.0\nCMD [\"ray\", \"start\", \"--head\", \"--port=6379\"]\n"),
        dockerfile("FROM python:3.12\nCMD python -m http.server 8000 &\n"),
        dockerfile(
            "FROM python:3.12\nRUN apt-get update && apt-get install -y nginx\nENTRYPOINT [\"bash\", \"-c\", \
             \"make && /etc/init.d/nginx start\"]\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y openssh-server && mkdir /run/sshd\n\
             CMD service ssh start && tail -f /dev/null\n",
        ),
        dockerfile("FROM rayproject/ray:2.40.0\nCMD [\"ray\", \"start\", \"--head\", \"--block\"]\n"),
        dockerfile("FROM python:3.12\nCMD python -m http.server 8000 & wait\n"),
        // Its configuration decides whether it stays in the foreground.
        dockerfile(
            "FROM debian:12\nRUN apt-get update && apt-get install -y nginx && echo 'daemon off;' >> \
             /etc/nginx/nginx.conf\nCMD [\"nginx\"]\n",
        ),
        dockerfile(
            "FROM python:3.12\nCOPY run.sh /\nENTRYPOINT [\"/run.sh\"]\nCMD [\"service\", \"ssh\", \
             \"start\"]\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y openssh-server && mkdir /run/sshd\n\
                    CMD [\"/usr/sbin/sshd\", \"-D\", \"-e\"]\n",
        ),
    ],
};

/// Commands that keep the first process running, or make another program the first one.
const WAITS: &[&str] = &["wait", "sleep", "tail", "exec"];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let commands = started(file);
    // With an ENTRYPOINT in shell form CMD has no effect, and `&` ends an own command.
    let Some(last) = commands.last() else { return Vec::new() };
    let waits = commands.iter().any(|one| WAITS.contains(&one.program()));
    let Some((what, fix)) = background(last).filter(|_| !waits) else { return Vec::new() };
    let own = command(file).or_else(|| entrypoint(file)).map_or(last.line, |one| one.line);
    let line = if last.line == 0 { own } else { last.line };
    let message =
        format!("{what} returns at once: the first process of the container ends, and the container with it");
    vec![Found::error(line, message, fix)]
}

/// What a command leaves in the background, and what keeps it in the foreground.
fn background(one: &Command) -> Option<(String, String)> {
    let program = one.program();
    let has = |words: &[&str]| words.iter().any(|word| one.has(word));
    let first = one.word(0);
    let fix = |text: &str| text.to_owned();
    if one.after == "&" {
        return Some((format!("`{program} … &`"), fix("Remove the `&`, or end with `wait`")));
    }
    let starts = has(&["start", "restart", "reload"]);
    if starts && (program == "service" || first.starts_with("/etc/init.d/")) {
        let what = one.text();
        return Some((
            format!("`{what}`"),
            fix("Start the program itself in the foreground, such as `/usr/sbin/sshd -D -e`"),
        ));
    }
    let block = one.words.iter().any(|word| word.text.starts_with("--block"));
    if program == "ray" && one.word(1) == "start" && !block {
        return Some((fix("`ray start`"), fix("Add `--block`")));
    }
    let sshd = one
        .words
        .iter()
        .skip(1)
        .any(|word| word.text.starts_with('-') && word.text.contains(['D', 'd', 't', 'T', 'i']));
    if program == "sshd" && !sshd {
        return Some((fix("`sshd` without -D"), fix("Add `-D -e`")));
    }
    None
}

/// What the first process of a container leaves in the background when it ends, and what keeps it.
pub(crate) fn left_in_background(words: &[String]) -> Option<(String, String)> {
    let shell = matches!(words.first()?.rsplit('/').next(), Some("sh" | "bash"));
    let commands = match shell {
        true => {
            let option = words.get(1).filter(|word| word.starts_with('-') && word.ends_with('c'))?;
            let script = words.get(2).filter(|_| !option.starts_with("--"))?;
            shell::commands(&Text::lines(script, 1), &Variables::default())
        }
        false => {
            let word = |text: &String| Word { text: text.clone(), known: true, line: 1, ..Word::default() };
            let words = words.iter().map(word).collect();
            vec![Command { words, line: 1, certain: true, ..Command::default() }]
        }
    };
    let waits = commands.iter().any(|one| WAITS.contains(&one.program()) || one.loops > 0);
    background(commands.last().filter(|_| !waits)?)
}
