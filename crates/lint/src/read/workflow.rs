//! A workflow of GitHub Actions: its jobs, where they run, and the commands of their steps.

use catalog::Catalog;
use serde_yaml::Value;

use super::compose::{bare, below, text};
use super::dockerfile::command::Command;
use super::script::Script;
use super::workflow_env::{Environment, Variables};
use super::yaml_lines::YamlLines;
use crate::file::File;

#[derive(Debug)]
pub(crate) struct Workflow {
    pub catalog: &'static Catalog,
    /// Whether another program with the same format runs it: Gitea, Forgejo.
    pub of_another: bool,
    /// Whether its text names a program of its own called nvidia-smi.
    pub has_stand_in: bool,
    pub root: Value,
    /// The file as written.
    pub text: String,
    pub jobs: Vec<Job>,
    lines: YamlLines,
}

#[derive(Debug)]
pub(crate) struct Job {
    pub name: String,
    pub value: Value,
    pub steps: Vec<Step>,
    path: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub value: Value,
    /// `docker/login-action` of `docker/login-action@v3`.
    pub uses: Option<String>,
    /// The text of `run`, as written.
    pub run: Option<String>,
    /// The variables that it sees.
    pub env: Environment,
    /// The commands of `run`, with the values of `${{ env.NAME }}` and their lines in the file; empty for
    /// other shells than bash and sh.
    pub commands: Vec<Command>,
    /// The line of its first key.
    pub line: usize,
    /// Whether it runs under a condition, or the job goes on when it fails.
    pub may_not_count: bool,
}

impl Workflow {
    pub(crate) fn of(file: &File) -> Workflow {
        let root = serde_yaml::from_str::<Value>(&file.text).unwrap_or_default();
        let lines = YamlLines::read(&file.text, 1);
        let env = Environment::of_workflow(&root);
        let jobs = below(&root, &["jobs"]).and_then(Value::as_mapping).into_iter().flatten();
        let jobs = jobs.filter_map(|(name, value)| {
            let path = vec!["jobs".to_owned(), text(name)?];
            Some(job(file, &lines, path, (of_job(&env, bare(value)), bare(value))))
        });
        let jobs = jobs.collect();
        Workflow {
            catalog: file.catalog,
            of_another: [".gitea/", ".forgejo/"].iter().any(|folder| file.name.contains(folder)),
            has_stand_in: file.text.contains("bin/nvidia-smi"),
            text: file.text.clone(),
            jobs,
            root,
            lines,
        }
    }

    /// The line of a path of keys, or of the nearest key above it.
    pub(crate) fn line_of(&self, path: &[&str]) -> usize {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        self.lines.nearest(&path).unwrap_or(1)
    }

    /// The line of a path of keys in a job.
    pub(crate) fn line_in(&self, job: &Job, path: &[&str]) -> usize {
        let mut whole = job.path.clone();
        whole.extend(path.iter().map(|key| (*key).to_owned()));
        self.lines.nearest(&whole).unwrap_or(1)
    }
}

impl Job {
    /// The labels of the runner, where the file itself says all of them: one list for each runner that the
    /// job may get.
    pub(crate) fn runners(&self) -> Vec<Vec<String>> {
        let Some(value) = below(&self.value, &["runs-on"]) else { return Vec::new() };
        match value {
            Value::Sequence(items) => vec![items.iter().filter_map(text).collect()],
            Value::String(label) => match matrix_key(label) {
                Some(key) => self.of_matrix(key).into_iter().map(|label| vec![label]).collect(),
                None => vec![vec![label.clone()]],
            },
            // A group of runners, which the organization defines.
            _ => Vec::new(),
        }
    }

    /// The values of a key of the matrix; none where something else may add to them.
    fn of_matrix(&self, key: &str) -> Vec<String> {
        let matrix = below(&self.value, &["strategy", "matrix"]);
        let own = matrix.and_then(|matrix| below(matrix, &[key])).and_then(Value::as_sequence);
        let included = matrix.and_then(|matrix| below(matrix, &["include"]));
        let included: Vec<&Value> = match included {
            Some(Value::Sequence(items)) => items.iter().filter_map(|item| below(item, &[key])).collect(),
            Some(_) => return Vec::new(),
            None => Vec::new(),
        };
        own.into_iter().flatten().chain(included).filter_map(text).collect()
    }
}

/// `os` of `${{ matrix.os }}`.
fn matrix_key(text: &str) -> Option<&str> {
    text.trim().strip_prefix("${{")?.strip_suffix("}}")?.trim().strip_prefix("matrix.")
}

impl Step {
    /// An input of its action, with the values of `${{ env.NAME }}`; empty where it has none.
    pub(crate) fn input(&self, name: &str) -> String {
        let written = below(&self.value, &["with", name]).and_then(text);
        self.env.resolved(&written.unwrap_or_default())
    }
}

fn job(file: &File, lines: &YamlLines, path: Vec<String>, (env, value): (Environment, &Value)) -> Job {
    let continues = |value: &Value| below(value, &["continue-on-error"]).is_some_and(|one| *one != false);
    let steps = below(value, &["steps"]).and_then(Value::as_sequence).into_iter().flatten();
    let step = |(index, step): (usize, &Value)| {
        let mut own = path.clone();
        own.extend(["steps".to_owned(), index.to_string()]);
        let line = lines.nearest(&own).unwrap_or(1);
        own.push("run".to_owned());
        let run = below(step, &["run"]).and_then(text);
        let key = lines.nearest(&own).unwrap_or(1);
        let shell = below(step, &["shell"]).and_then(text);
        let readable = shell.is_none_or(|shell| shell.starts_with("bash") || shell.starts_with("sh"));
        let env = env.with_step(step);
        let script = run.as_deref().filter(|_| readable).map(|run| env.resolved(run));
        let conditional = below(step, &["if"]).is_some() || below(value, &["if"]).is_some_and(never);
        Step {
            uses: below(step, &["uses"]).and_then(text).map(|uses| before_version(&uses)),
            commands: script.map(|run| commands(file.catalog, &file.text, &run, key)).unwrap_or_default(),
            run,
            env,
            line,
            may_not_count: conditional || continues(step) || continues(value),
            value: step.clone(),
        }
    };
    let steps = steps.enumerate().map(step).collect();
    Job { name: path.last().cloned().unwrap_or_default(), value: value.clone(), steps, path }
}

/// The variables that every step of a job sees.
fn of_job(workflow: &Variables, job: &Value) -> Environment {
    let steps = below(job, &["steps"]).and_then(Value::as_sequence).into_iter().flatten();
    let runs = steps.filter_map(|step| below(step, &["run"]).and_then(text));
    Environment::of_job(workflow, job, runs.filter(|run| run.contains("GITHUB_ENV")))
}

/// Whether a condition is never true: `if: false`.
fn never(condition: &Value) -> bool {
    text(condition).is_some_and(|text| text.trim_matches(['$', '{', '}', ' ']) == "false")
}

fn before_version(uses: &str) -> String {
    uses.split('@').next().unwrap_or_default().to_owned()
}

/// The commands of a step's script, whose key is in this line of the file.
fn commands(catalog: &'static Catalog, file: &str, run: &str, key: usize) -> Vec<Command> {
    let all: Vec<&str> = file.lines().collect();
    let behind =
        all.get(key - 1).and_then(|line| line.split_once("run:")).map_or("", |(_, rest)| rest.trim());
    let first = if behind.starts_with(['|', '>']) { key + 1 } else { key };
    let mut found = Script::read(catalog, &without_expressions(run)).commands;
    for command in &mut found {
        let moved = |line: usize| (first + line.saturating_sub(1)).min(all.len().max(1));
        command.line = moved(command.line);
        for word in &mut command.words {
            word.line = moved(word.line);
        }
    }
    found
}

/// A script with a word in place of each `${{ … }}`.
fn without_expressions(run: &str) -> String {
    let mut out = String::new();
    let mut rest = run;
    while let Some((before, inner)) = rest.split_once("${{") {
        let Some((_, after)) = inner.split_once("}}") else { break };
        out.push_str(before);
        out.push_str("EXPRESSION");
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    fn read(text: &str) -> Workflow {
        Workflow::of(&File::new(
            catalog::testing::catalog(),
            ".github/workflows/ci.yml",
            text,
            Kind::GithubWorkflow,
        ))
    }

    #[test]
    fn jobs_and_steps() {
        let workflow = read(
            "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: \
             actions/checkout@v4\n      \
             - name: x\n        run: |\n          echo ${{ github.sha }}\n          docker run -it a\n      \
             - run: \
             nvidia-smi\n        continue-on-error: true\n",
        );
        let job = &workflow.jobs[0];
        assert_eq!(job.runners(), [["ubuntu-latest".to_owned()]]);
        assert_eq!(job.steps[0].uses.as_deref(), Some("actions/checkout"));
        let lines: Vec<usize> = job.steps[1].commands.iter().map(|one| one.line).collect();
        assert_eq!((lines, job.steps[1].line), (vec![9, 10], 7));
        assert_eq!((job.steps[2].commands[0].line, job.steps[2].may_not_count), (11, true));
        assert_eq!(workflow.line_in(job, &["runs-on"]), 4);
    }

    #[test]
    fn runners_of_a_matrix() {
        let of = |matrix: &str| {
            let text = format!(
                "jobs:\n  a:\n    strategy: {{matrix: {matrix}}}\n    runs-on: ${{{{ matrix.os }}}}\n    \
                 steps: []\n"
            );
            read(&text).jobs[0].runners()
        };
        assert_eq!(
            of("{os: [ubuntu-latest, macos-14]}"),
            [["ubuntu-latest".to_owned()], ["macos-14".into()]]
        );
        assert_eq!(of("{include: [{os: gpu}, {os: x}]}"), [["gpu".to_owned()], ["x".into()]]);
        assert_eq!(of("\"${{ fromJSON(x) }}\""), Vec::<Vec<String>>::new());
    }
}
