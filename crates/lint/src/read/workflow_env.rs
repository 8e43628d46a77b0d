//! The variables of a workflow, as `${{ env.NAME }}` sees them in the steps of a job.

use std::collections::BTreeMap;

use serde_yaml::Value;

use super::compose::{below, text};

/// The longest text that a variable may make of another one, in bytes.
const LENGTH_LIMIT: usize = 16_384;

/// Names and values that are known; of a name that a step of the job writes to `$GITHUB_ENV` nobody knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    values: BTreeMap<String, String>,
}

impl Environment {
    /// Those of a job: of the workflow, and its own over them.
    pub(super) fn of_job(root: &Value, job: &Value, written: &[String]) -> Environment {
        let mut values = BTreeMap::new();
        for value in [root, job] {
            values.extend(entries(value));
        }
        let unknown = |name: &String| {
            written.iter().any(|run| {
                let mut places = run.match_indices(name.as_str());
                places.any(|(at, _)| run[at + name.len()..].starts_with(['=', '<']))
            })
        };
        // A job has few steps that write, and each is looked through once for each name.
        values.retain(|name, _| !unknown(name));
        Environment { values }
    }

    /// With those of a step, whose values may use the others.
    pub(super) fn with_step(&self, step: &Value) -> Environment {
        let own: Vec<(String, String)> =
            entries(step).map(|(name, value)| (name, self.resolved(&value))).collect();
        let mut whole = self.clone();
        whole.values.extend(own);
        whole
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
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
        let written = ["echo \"DAY=$(date)\" >> $GITHUB_ENV".to_owned()];
        let env = Environment::of_job(&root, &job, &written);
        let step = env.with_step(&value("env: {WHOLE: \"${{ env.IMAGE }}:${{ env.TAG }}\"}"));
        assert_eq!(env.resolved("${{ env.REGISTRY }}/x"), "registry.example/x");
        assert_eq!(env.resolved("${{env.DAY}} ${{ env.WHOLE }}"), "${{env.DAY}} ${{ env.WHOLE }}");
        assert_eq!(step.resolved("${{ env.WHOLE }}"), "ghcr.io/${{ github.repository }}:a");
        assert_eq!(step.in_shell("${REGISTRY}/b:$TAG-$DAY"), "registry.example/b:a-$DAY");
        assert_eq!(step.resolved("${{ env.TAG"), "${{ env.TAG");
    }
}
