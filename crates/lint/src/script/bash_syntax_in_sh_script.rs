//! A script for /bin/sh that only bash understands.

use crate::read::dockerfile::text::Text;
use crate::read::posix::{BashOnly, bash_only};
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "bash-syntax-in-sh-script",
    severity: Severity::Warning,
    summary: "scripts with #!/bin/sh use only what POSIX shells have",
    explain: include_str!("bash_syntax_in_sh_script.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "#!/bin/sh\nARGS=(--lr 1)\npython train.py \"${ARGS[@]}\"\n"),
        named("run.sh", "#!/usr/bin/env sh\nsource ./env.sh\n"),
        named("run.sh", "#!/bin/sh\nset -o pipefail\nsource ./env.sh\n"),
        named("run.sh", "#!/bin/sh\nset -o pipefail\npython train.py | tee log\n"),
        named("run.sh", "#!/bin/sh -e\nif [[ -n $A ]]; then a; fi\n"),
    ],
    silent: &[
        named("run.sh", "#!/bin/bash\nARGS=(--lr 1)\nsource ./env.sh\n"),
        named("run.sh", "#!/bin/sh\nset -- --lr 1\n. ./env.sh\npython train.py \"$@\"\n"),
        named("run.sh", "ARGS=(--lr 1)\n"),
        named("run.sh", "#!/bin/sh\nbash <<EOF\nsource x\nEOF\n"),
        named("run.sh", "#!/bin/sh\n#SBATCH --nodes=2\nsource x\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let first = script.text.lines().next().unwrap_or_default();
    let interpreter = first.strip_prefix("#!").map(str::trim).unwrap_or_default();
    let mut words = interpreter.split_whitespace();
    let mut program = words.next().unwrap_or_default();
    if program.ends_with("/env") {
        program = words.next().unwrap_or_default();
    }
    // On clusters sh is mostly bash.
    let slurm = script.text.lines().any(|line| line.starts_with("#SBATCH"));
    if program.rsplit('/').next() != Some("sh") || slurm {
        return Vec::new();
    }
    let documents =
        script.documents.iter().flat_map(|document| document.lines.iter().map(|(number, _)| *number));
    let in_documents: std::collections::BTreeSet<usize> = documents.collect();
    let lines = script
        .text
        .lines()
        .enumerate()
        .map(|(index, line)| if in_documents.contains(&(index + 1)) { "" } else { line });
    let bare: Vec<&str> = lines.collect();
    let uses = bash_only(&Text::lines(&bare.join("\n"), 1));
    // What fails in every dash says more than what fails in old ones.
    let certain = uses.iter().find(|one| one.fails && !one.in_new_dash);
    let one = certain.or_else(|| uses.iter().find(|one| one.fails)).or(uses.first());
    let found = one.map(|one| {
        let BashOnly { what, effect, .. } = one;
        let message = match one.in_new_dash {
            true => format!(
                "{what} fails in sh: dash before Debian 13 and Ubuntu 25.04 does not have it ({effect})"
            ),
            false => format!(
                "{what} needs bash, but the script runs in sh, which is dash on Debian and Ubuntu: {effect}"
            ),
        };
        Found::warning(one.line, message, "Write `#!/bin/bash` in the first line")
    });
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;

    #[test]
    fn what_fails_in_every_dash_comes_first() {
        let of = |text: &str| -> Vec<usize> {
            judge(&Script::read(catalog(), text)).iter().map(|one| one.line).collect()
        };
        assert_eq!(of("#!/bin/sh\nset -o pipefail\necho a &> log\nsource ./env.sh\n"), [4]);
        assert_eq!(of("#!/bin/sh\necho a &> log\nset -o pipefail\n"), [3]);
        assert_eq!(of("#!/bin/sh\necho a &> log\n"), [2]);
    }
}
