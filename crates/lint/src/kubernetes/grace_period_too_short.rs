//! A preStop hook that takes longer than the pod may take to end.

use crate::read::compose::{below, text};
use crate::read::manifest::{Container, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

macro_rules! hooked {
    ($pod:literal, $hook:literal) => {
        named(
            "pod.yaml",
            concat!(
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n",
                $pod,
                "  containers:\n    - name: a\n      image: b\n      lifecycle:\n        \
                 preStop:\n          ",
                $hook
            ),
        )
    };
}

pub(crate) const RULE: Rule = Rule {
    id: "grace-period-too-short",
    severity: Severity::Warning,
    summary: "preStop hooks end within terminationGracePeriodSeconds",
    explain: include_str!("grace_period_too_short.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        hooked!(
            "  terminationGracePeriodSeconds: 60\n",
            "exec:\n            command: [sh, -c, \"touch /ckpt/stop; sleep 120\"]\n"
        ),
        hooked!("", "exec: {command: [sleep, \"45\"]}\n"),
        hooked!(
            "  terminationGracePeriodSeconds: 60\n",
            "exec:\n            command:\n              - /bin/sh\n              - -c\n              - |\n\
             \x20               kill -USR1 1\n                for n in $(seq 300); do\n                  \
             [ -e /ckpt/saved ] && exit 0\n                  sleep 1\n                done\n"
        ),
        hooked!(
            "  terminationGracePeriodSeconds: 30\n",
            "exec: {command: [bash, -c, \"for i in {1..12}; do sleep 10; done\"]}\n"
        ),
    ],
    silent: &[
        hooked!(
            "  terminationGracePeriodSeconds: 300\n",
            "exec:\n            command: [sh, -c, \"touch /ckpt/stop; sleep 120\"]\n"
        ),
        hooked!("", "exec: {command: [sh, -c, \"sleep 5; nginx -s quit\"]}\n"),
        hooked!("", "exec: {command: [sh, -c, \"sleep $WAIT\"]}\n"),
        hooked!("", "exec: {command: [sh, -c, \"timeout 20 sh -c 'while sleep 60; do true; done'\"]}\n"),
    ],
};

/// What a pod has by default.
const DEFAULT_SECONDS: u64 = 30;

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    const PATH: &[&str] = &["lifecycle", "preStop", "exec"];
    let hook = below(container.value, PATH)?;
    let given = scalar(container.pod.spec, &["terminationGracePeriodSeconds"]);
    let grace = match &given {
        Some(given) => given.parse::<u64>().ok()?,
        None => DEFAULT_SECONDS,
    };
    let words: Vec<String> = list(hook, "command").into_iter().filter_map(text).collect();
    let seconds = duration(&words.join(" "))?;
    let message = format!(
        "container {}: the preStop hook may take {seconds} s, but the pod is killed {grace} s after its \
         start ({})",
        container.name,
        if given.is_some() { "terminationGracePeriodSeconds" } else { "the default" }
    );
    let line = match given {
        Some(_) => container.pod.line(&["terminationGracePeriodSeconds"]),
        None => container.line(PATH),
    };
    let fix =
        format!("Set `terminationGracePeriodSeconds: {}` or more", seconds.saturating_add(DEFAULT_SECONDS));
    (seconds >= grace).then(|| Found::warning(line, message, fix))
}

/// The seconds that the constant sleeps of a script take at most; `None` where there are none, or something
/// else may end them.
fn duration(script: &str) -> Option<u64> {
    if ["timeout ", "while", "until", "&\n", "& "].iter().any(|word| {
        // `&&` only joins.
        script.replace("&&", "").contains(word)
    }) {
        return None;
    }
    let words: Vec<&str> = script
        .split(|letter: char| letter.is_whitespace() || ";()\"'`".contains(letter))
        .filter(|word| !word.is_empty())
        .collect();
    let rounds = rounds(&words);
    let mut all = 0_u64;
    let mut looped = false;
    for (at, word) in words.iter().enumerate() {
        match *word {
            "do" => looped = true,
            "done" => looped = false,
            "sleep" | "/bin/sleep" => {
                let once = seconds(words.get(at + 1)?)?;
                let times = if looped { rounds? } else { 1 };
                all = all.saturating_add(once.saturating_mul(times));
            }
            _ => {}
        }
    }
    (all > 0).then_some(all)
}

/// How often the only loop runs: `seq 300`, `seq 1 60`, `{1..12}`.
fn rounds(words: &[&str]) -> Option<u64> {
    let mut loops = words.iter().enumerate().filter(|(_, word)| **word == "for");
    let (at, _) = loops.next().filter(|_| loops.next().is_none())?;
    let over: Vec<&str> = words[at..]
        .iter()
        .skip_while(|word| **word != "in")
        .skip(1)
        .take_while(|word| **word != "do")
        .copied()
        .collect();
    let over: Vec<&str> =
        over.iter().map(|word| word.trim_start_matches('$')).filter(|word| !word.is_empty()).collect();
    match over[..] {
        ["seq", last] => last.parse().ok(),
        ["seq", first, last] => last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1),
        [range] if range.starts_with('{') => {
            let (first, last) = range.trim_matches(['{', '}']).split_once("..")?;
            last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
        }
        [_, _, ..] if over.iter().all(|word| word.parse::<u64>().is_ok()) => Some(over.len() as u64),
        _ => None,
    }
}

/// The seconds of `90`, `5m`.
fn seconds(word: &str) -> Option<u64> {
    let (number, unit) = match word.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (number, &word[number.len()..]),
        None => (word, "s"),
    };
    let factor = match unit {
        "m" => 60,
        "h" => 3600,
        _ => 1,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}
