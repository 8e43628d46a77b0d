//! A bound of a version that the shell of a script takes for a redirection.

use crate::dockerfile::version_bound_redirected::fault;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "version-bound-redirected-in-script",
    severity: Severity::Error,
    summary: "versions with `<` or `>` are in quotes in scripts",
    explain: include_str!("version_bound_redirected_in_script.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("setup.sh", "pip install numpy<2 pandas\n"),
        named("setup.sh", "conda install -y pytorch>=2.1 -c conda-forge\n"),
    ],
    silent: &[named(
        "setup.sh",
        "pip install 'numpy<2' \"torch>=2.1\"\npip freeze >requirements.txt\npip install -r r.txt \
         >install.log\n",
    )],
};

fn judge(script: &Script) -> Vec<Found> {
    script.commands.iter().filter_map(fault).collect()
}
