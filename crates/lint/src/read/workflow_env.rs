//! The variables of a workflow, as `${{ env.NAME }}` sees them in the steps of a job.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_yaml::Value;

use super::compose::{below, text};

/// The longest text that a variable may make of another one, in bytes.
const LENGTH_LIMIT: usize = 16_384;

/// Names and values that are known; of a name that a step of the job writes to `$GITHUB_ENV` nobody knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// Of the step, the values of the others put in.
    own: BTreeMap<String, String>,
    job: Rc<Job>,
}

/// The variables of a whole workflow.
pub(super) type Variables = Rc<BTreeMap<String, String>>;

/// What all steps of a job share.
#[derive(Debug, Default)]
struct Job {
    values: BTreeMap<String, String>,
    workflow: Variables,
    /// Names that a step writes while the job runs.
    written: BTreeSet<String>,
}

impl Environment {
    /// The variables of a whole workflow.
    pub(super) fn of_workflow(root: &Value) -> Variables {
        Rc::new(entries(root).collect())
    }

    /// Those of a job: of the workflow, and its own over them; `runs` are the scripts that name
    /// `$GITHUB_ENV`.
    pub(super) fn of_job(
        workflow: &Variables,
        job: &Value,
        runs: impl Iterator<Item = String>,
    ) -> Environment {
        let written = runs.flat_map(|run| set_in(&run)).collect();
        let values = entries(job).collect();
        let job = Rc::new(Job { values, workflow: Rc::clone(workflow), written });
        Environment { own: BTreeMap::new(), job }
    }

    /// With those of a step, whose values may use the others.
    pub(super) fn with_step(&self, step: &Value) -> Environment {
        let own = entries(step).map(|(name, value)| (name, self.resolved(&value))).collect();
        Environment { own, job: Rc::clone(&self.job) }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let job = &self.job;
        let shared = || job.values.get(name).or_else(|| job.workflow.get(name));
        let shared = || shared().filter(|_| !job.written.contains(name));
        self.own.get(name).or_else(shared).map(String::as_str)
    }

    /// A text with the values of the names that are known: of `${{ env.NAME }}`.
    pub(crate) fn resolved(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, inner)) = rest.split_once("${{") {
            let Some((expression, after)) = inner.split_once("}}") else { break };
            out.push_str(before);
            let value = expression.trim().strip_prefix("env.").and_then(|name| self.get(name.trim()));
            match value.filter(|value| !value.contains('\n') && out.len() < LENGTH_LIMIT) {
                Some(value) => out.push_str(value),
                None => out.extend(["${{", expression, "}}"]),
            }
            rest = after;
        }
        out + rest
    }

    /// A word of a shell with the values of the variables in it: of `$NAME` and `${NAME}`.
    pub(crate) fn in_shell(&self, word: &str) -> String {
        let mut parts = word.split('$');
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let braced = part.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let end = part.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            let (name, rest) = braced.unwrap_or_else(|| part.split_at(end.unwrap_or(part.len())));
            match self.get(name).filter(|_| out.len() < LENGTH_LIMIT) {
                Some(value) => out.extend([value, rest]),
                None => out.extend(["$", part]),
            }
        }
        out
    }
}

/// The names in front of `=` and `<<`: `NAME=value`, `NAME<<EOF`.
fn set_in(run: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut name = String::new();
    for letter in run.chars() {
        match letter {
            '=' | '<' if !name.is_empty() => found.push(std::mem::take(&mut name)),
            '_' => name.push(letter),
            _ if letter.is_ascii_alphanumeric() => name.push(letter),
            _ => name.clear(),
        }
    }
    found
}

/// The entries of `env`.
fn entries(value: &Value) -> impl Iterator<Item = (String, String)> {
    let map = below(value, &["env"]).and_then(Value::as_mapping).into_iter().flatten();
    map.filter_map(|(name, value)| Some((text(name)?, text(value)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        serde_yaml::from_str(text).unwrap()
    }

    #[test]
    fn the_nearest_value_counts() {
        let root = value("env: {REGISTRY: ghcr.io, IMAGE: \"ghcr.io/${{ github.repository }}\", TAG: a}");
        let job = value("env: {REGISTRY: registry.example, DAY: x}");
        let written = "echo \"DAY=$(date)\" >> $GITHUB_ENV".to_owned();
        let env = Environment::of_job(&Environment::of_workflow(&root), &job, std::iter::once(written));
        let step = env.with_step(&value("env: {WHOLE: \"${{ env.IMAGE }}:${{ env.TAG }}\"}"));
        assert_eq!(env.resolved("${{ env.REGISTRY }}/x"), "registry.example/x");
        assert_eq!(env.resolved("${{env.DAY}} ${{ env.WHOLE }}"), "${{env.DAY}} ${{ env.WHOLE }}");
        assert_eq!(step.resolved("${{ env.WHOLE }}"), "ghcr.io/${{ github.repository }}:a");
        assert_eq!(step.in_shell("${REGISTRY}/b:$TAG-$DAY"), "registry.example/b:a-$DAY");
        assert_eq!(step.resolved("${{ env.TAG"), "${{ env.TAG");
    }
}
