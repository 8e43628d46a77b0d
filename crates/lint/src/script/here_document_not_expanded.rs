//! A file that a script writes with the names of its variables in place of their values.

use crate::read::assigned::{self, Assigned};
use crate::read::dockerfile::command::Command;
use crate::read::script::{Document, Script};
use crate::recognize::base_name;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "here-document-not-expanded",
    severity: Severity::Error,
    summary: "here-documents put the values of variables into hostfiles and settings",
    explain: include_str!("here_document_not_expanded.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "HEAD=$1\nPEER=$2\ncat > /tmp/hostfile <<'EOF'\n$HEAD slots=8\n$PEER slots=8\nEOF\ndeepspeed \
             --hostfile /tmp/hostfile train.py\n",
        ),
        named(
            "run.sh",
            "cat <<\"EOF\" > hosts\n$(hostname) slots=8\nEOF\nmpirun --hostfile hosts -np 8 python \
             train.py\n",
        ),
        named(
            "run.sh",
            "BATCH=16\ncat <<\\EOF >ds_config.json\n{\"train_batch_size\": $BATCH}\nEOF\ndeepspeed t.py\n",
        ),
        named(
            "run.sh",
            "IF=eth0\ntee .deepspeed_env <<'E'\nNCCL_SOCKET_IFNAME=${IF}\nE\ndeepspeed train.py\n",
        ),
        named(
            "run.sh",
            "for h in a b; do\n  cat >> ~/.ssh/config <<'EOF'\nHost $h\n  Port 2222\nEOF\ndone\n",
        ),
    ],
    silent: &[
        named(
            "run.sh",
            "HEAD=$1\ncat > /tmp/hostfile <<EOF\n$HEAD slots=8\nEOF\ndeepspeed --hostfile /tmp/hostfile \
             t.py\n",
        ),
        named("run.sh", "HEAD=$1\ncat > run_node.sh <<'EOF'\necho $HEAD\nEOF\nbash run_node.sh\n"),
        named(
            "run.sh",
            "N=8\ncat > t.yaml <<'EOF'\nreplicas: $N\nEOF\nenvsubst < t.yaml | kubectl apply -f -\n",
        ),
        named("run.sh", "N=8\ncat > conf.env <<'EOF'\nX=$N\nEOF\nsource conf.env\n"),
        named("run.sh", "TAG=1\ncat > compose.yaml <<'EOF'\nservices:\n  a:\n    image: b:$TAG\nEOF\n"),
        named("run.sh", "cat > a.json <<'EOF'\n{\"$schema\": \"x\", \"cost\": \"$5\"}\nEOF\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let names = assigned::of_script(script);
    let quoted = script.documents.iter().filter(|document| document.quoted);
    quoted.filter_map(|document| fault(script, document, &names)).collect()
}

fn fault(script: &Script, document: &Document, names: &[Assigned]) -> Option<Found> {
    let by = script.commands.iter().rev().find(|one| one.heredoc.is_some() && one.line <= document.by)?;
    let target = target(by)?;
    let hosts = is_hostfile(script, &target);
    if !hosts && !is_data(&target) || is_changed(script, &target, document) {
        return None;
    }
    let set = |name: &str| names.iter().any(|one| one.name == name && one.line <= document.by);
    let place = document.lines.iter().find_map(|(line, text)| {
        // The quotes of the file are no quotes of a shell.
        let plain = text.replace(['\'', '"'], " ");
        let own = assigned::used(&plain).into_iter().find(|name| set(name) && !is_set_in(document, name));
        let own = own.map(|name| format!("${name}"));
        let other = || {
            let comment = plain.trim_start().starts_with('#');
            let at = plain.find('$').filter(|_| hosts && !comment)?;
            plain[at..].split_whitespace().next().map(str::to_owned)
        };
        Some((*line, own.or_else(other)?))
    });
    let (line, name) = place?;
    let end = "the end word of the here-document is quoted";
    let fix = "Remove the quotes around the end word: `<<EOF`";
    let reader = reader(script, &target, document.by);
    let message = match reader.filter(|_| hosts) {
        Some(option) => format!(
            "{target} gets the text {name} itself, because {end}; {option} looks for a host of that name"
        ),
        None => format!("{target} gets the text {name} itself, not the value, because {end}"),
    };
    // What is to be changed is the line of the end word.
    let line = if line - document.by > 3 { line } else { document.by };
    Some(Found::error(line, message, fix).unless_certain(hosts && reader.is_some()))
}

/// Whether the text gives the name a value itself: a script in a manifest.
fn is_set_in(document: &Document, name: &str) -> bool {
    let forms = [format!("{name}="), format!("for {name} "), format!("read {name}"), format!("name: {name}")];
    document.lines.iter().any(|(_, text)| {
        let text = text.replace('"', "");
        forms.iter().any(|form| text.contains(form.as_str()))
    })
}

/// The file that a command with a here-document writes.
fn target(command: &Command) -> Option<String> {
    let written = command.writes.first().map(|word| &word.text);
    let teed = || {
        let words = command.words.iter().skip(1).filter(|word| !word.text.starts_with('-'));
        words.map(|word| &word.text).next().filter(|_| command.program() == "tee")
    };
    let copies = matches!(command.program(), "cat" | "tee");
    written.or_else(teed).filter(|_| copies).cloned()
}

/// The option that takes the file, where a later command has one.
fn reader(script: &Script, target: &str, after: usize) -> Option<&'static str> {
    const OPTIONS: &[&str] = &["--hostfile", "-hostfile", "--machinefile", "-machinefile", "-H", "-f"];
    let later = script.commands.iter().filter(|one| one.line > after);
    later.into_iter().find_map(|command| {
        let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        OPTIONS.iter().copied().find(|option| {
            words.windows(2).any(|pair| pair[0] == *option && pair[1] == target)
                || words.iter().any(|word| word.split_once('=') == Some((*option, target)))
        })
    })
}

fn is_hostfile(script: &Script, target: &str) -> bool {
    let base = base_name(target);
    let named = ["hostfile", "machinefile", "nodefile"].iter().any(|word| base.contains(word));
    named && !base.ends_with(".sh") || reader(script, target, 0).is_some_and(|option| option != "-f")
}

/// Files in which programs read values and replace no variable of a shell.
fn is_data(target: &str) -> bool {
    let base = base_name(target);
    let ends = [".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".env", ".csv", ".list", ".hosts"];
    let compose = base.contains("compose") || base.starts_with("stack") || base.contains("workflow");
    let known =
        matches!(base.as_str(), ".deepspeed_env" | "nccl.conf" | "hosts" | "ssh_config" | "daemon.json");
    (ends.iter().any(|end| base.ends_with(end)) && !compose) || known || target.ends_with(".ssh/config")
}

/// Whether something of the script may put the values in later, or another program of its own does.
fn is_changed(script: &Script, target: &str, document: &Document) -> bool {
    let base = base_name(target);
    let named = |command: &Command| {
        command.words.iter().any(|word| base_name(&word.text).contains(&base)) && command.line > document.by
    };
    let changes = script.commands.iter().any(|command| {
        let program = command.words.first().map_or("", |word| word.text.as_str());
        let runs =
            matches!(program, "source" | "." | "sed" | "perl" | "eval" | "bash" | "sh" | "awk" | "jinja2");
        runs && named(command)
    });
    let body = document.lines.iter().any(|(_, text)| text.trim_start().starts_with("services:"));
    changes
        || body
        || ["envsubst", "eval ", "gomplate", "set -a"].iter().any(|word| script.text.contains(word))
}
