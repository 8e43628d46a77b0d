//! Parameters and templates of Argo Workflows that nothing declares.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::Value;

use crate::read::compose::{below, text};
use crate::read::manifest::{Document, Manifest, list, scalar};
use crate::recognize::ARGO_WORKFLOWS;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "argo-parameter-unresolved",
    severity: Severity::Error,
    summary: "templates of Argo declare the inputs that they use, and steps give them",
    explain: include_str!("argo_parameter_unresolved.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "train.yaml",
            "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: train-}\nspec:\n  \
             entrypoint: main\n  templates:\n    - name: main\n      steps:\n        - - name: \
             fit\n            template: fit\n            arguments: {parameters: [{name: epochs, value: \
             \"3\"}]}\n    - name: fit\n      inputs: {parameters: [{name: epochs}]}\n      \
             container:\n        image: a\n        args: [\"--epochs={{inputs.parameters.epochs}}\", \
             \"--seed={{ inputs.parameters.seed }}\"]\n",
        ),
        named(
            "sweep.yaml",
            "apiVersion: argoproj.io/v1alpha1\nkind: WorkflowTemplate\nmetadata: {name: sweep}\nspec:\n  \
             templates:\n    - name: main\n      dag:\n        tasks:\n          - name: \
             a\n            template: fit\n    - name: fit\n      inputs:\n        parameters:\n          - \
             name: rate\n      container: {image: a, args: [\"{{inputs.parameters.rate}}\"]}\n",
        ),
        named(
            "nightly.yaml",
            "apiVersion: argoproj.io/v1alpha1\nkind: CronWorkflow\nmetadata: {name: nightly}\nspec:\n  \
             schedule: \"0 3 * * *\"\n  workflowSpec:\n    entrypoint: evaluate\n    templates:\n      - \
             name: evaluation\n        container: {image: a, args: [\"{{workflow.name}}\"]}\n",
        ),
        named(
            "one.yaml",
            "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: a}\nspec:\n  entrypoint: \
             main\n  arguments: {parameters: [{name: dataset, value: c4}]}\n  templates:\n    - name: \
             main\n      script:\n        image: a\n        command: [bash]\n        source: |\n          \
             prepare {{workflow.parameters.data}}\n",
        ),
    ],
    silent: &[
        named(
            "train.yaml",
            "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: train-}\nspec:\n  \
             entrypoint: main\n  arguments: {parameters: [{name: epochs, value: \"3\"}]}\n  \
             templates:\n    - name: main\n      inputs: {parameters: [{name: epochs}]}\n      \
             steps:\n        - - name: fit\n            template: fit\n            arguments: {parameters: \
             [{name: epochs, value: \"{{inputs.parameters.epochs}}\"}, {name: n, value: \
             \"{{item}}\"}]}\n            withItems: [1, 2]\n        - - name: \
             report\n            templateRef: {name: shared, template: report}\n    - name: fit\n      \
             inputs:\n        parameters: [{name: epochs}, {name: n}, {name: seed, default: \
             \"0\"}]\n        artifacts: [{name: data, path: /data}]\n      container:\n        image: \
             a\n        args: [\"{{inputs.parameters.seed}}\", \"{{inputs.artifacts.data.path}}\", \
             \"{{pod.name}}\", \"{{=inputs.parameters.x ?? 'a'}}\", \"{{workflow.parameters.epochs}}\"]\n",
        ),
        named(
            "from.yaml",
            "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: a-}\nspec:\n  \
             entrypoint: main\n  workflowTemplateRef: {name: sweep}\n  arguments: {parameters: [{name: x, \
             value: \"{{workflow.parameters.y}}\"}]}\n",
        ),
        named(
            "shared.yaml",
            "apiVersion: argoproj.io/v1alpha1\nkind: WorkflowTemplate\nmetadata: {name: shared}\nspec:\n  \
             templates:\n    - name: report\n      container: {image: a, args: \
             [\"{{workflow.parameters.run}}\"]}\n",
        ),
    ],
};

/// The most names among which one that is alike is looked for.
const NAMES_LIMIT: usize = 128;

fn judge(file: &Manifest) -> Vec<Found> {
    let argo =
        |one: &&Document| one.api.starts_with("argoproj.io/") && ARGO_WORKFLOWS.contains(&one.kind.as_str());
    file.documents.iter().filter(argo).flat_map(of_document).collect()
}

/// A template of a workflow.
struct Template<'d> {
    /// Its path in the document.
    path: Vec<String>,
    name: String,
    value: &'d Value,
    /// What its inputs declare: `parameters.epochs`, `artifacts.data`.
    inputs: BTreeSet<String>,
    /// Parameters that a caller has to give.
    required: Vec<String>,
}

impl<'d> Template<'d> {
    fn read(spec: &[&str], index: usize, value: &'d Value) -> Option<Template<'d>> {
        let mut path: Vec<String> = spec.iter().map(|key| (*key).to_owned()).collect();
        path.extend(["templates".to_owned(), index.to_string()]);
        let (mut inputs, mut required) = (BTreeSet::new(), Vec::new());
        for kind in ["parameters", "artifacts"] {
            for one in below(value, &["inputs"]).map(|inputs| list(inputs, kind)).unwrap_or_default() {
                let name = scalar(one, &["name"])?;
                let given = ["value", "default", "valueFrom"].iter().any(|key| below(one, &[key]).is_some());
                inputs.insert(format!("{kind}.{name}"));
                required.extend((kind == "parameters" && !given).then_some(name));
            }
        }
        Some(Template { path, name: scalar(value, &["name"])?, value, inputs, required })
    }
}

fn of_document(document: &Document) -> Vec<Found> {
    let path: &[&str] = if document.is("CronWorkflow") { &["spec", "workflowSpec"] } else { &["spec"] };
    let Some(spec) = document.at(path) else { return Vec::new() };
    let elsewhere = ["workflowTemplateRef", "templateDefaults"];
    if elsewhere.iter().any(|key| below(spec, &[key]).is_some()) {
        return Vec::new();
    }
    let items = list(spec, "templates");
    let read = items.iter().enumerate().map(|(index, value)| Template::read(path, index, value));
    let Some(templates) = read.collect::<Option<Vec<Template>>>() else { return Vec::new() };
    let by_name: BTreeMap<&str, &Template> = templates.iter().map(|one| (one.name.as_str(), one)).collect();
    let mut found = Vec::new();
    for key in ["entrypoint", "onExit"] {
        let name = scalar(spec, &[key]).filter(|name| !by_name.contains_key(name.as_str()));
        if let Some(name) = name.filter(|name| !name.contains("{{") && !templates.is_empty()) {
            let line = document.line_of(&[path, &[key]].concat());
            found.push(undefined(line, &name, &by_name));
        }
    }
    for template in &templates {
        found.extend(calls(document, template, &by_name));
        found.extend(unresolved(document, template));
    }
    found.extend(of_workflow(document, spec, &templates));
    found
}

fn undefined(line: usize, name: &str, templates: &BTreeMap<&str, &Template>) -> Found {
    let near = diagnostic::suggest::nearest(name, templates.keys().copied().take(NAMES_LIMIT));
    let fix = match near {
        Some(near) => format!("Use template {near}, or define {name}"),
        None => format!("Define template {name}"),
    };
    let message = format!("template {name} is not defined in this workflow; Argo rejects the workflow");
    Found::error(line, message, fix).about(name)
}

/// The steps and tasks of a template: whether what they call is there and gets what it needs.
fn calls(document: &Document, template: &Template, by_name: &BTreeMap<&str, &Template>) -> Vec<Found> {
    let mut places: Vec<(Vec<String>, &Value)> = Vec::new();
    for (group, steps) in list(template.value, "steps").into_iter().enumerate() {
        for (index, step) in steps.as_sequence().into_iter().flatten().enumerate() {
            places.push((vec!["steps".to_owned(), group.to_string(), index.to_string()], step));
        }
    }
    let tasks = below(template.value, &["dag"]).map(|dag| list(dag, "tasks")).unwrap_or_default();
    for (index, task) in tasks.into_iter().enumerate() {
        places.push((vec!["dag".to_owned(), "tasks".to_owned(), index.to_string()], task));
    }
    places.into_iter().filter_map(|(path, step)| call(document, template, by_name, path, step)).collect()
}

fn call(
    document: &Document,
    template: &Template,
    by_name: &BTreeMap<&str, &Template>,
    path: Vec<String>,
    step: &Value,
) -> Option<Found> {
    let name = scalar(step, &["template"]).filter(|name| !name.contains("{{"))?;
    let line = |key: &str| {
        let own = [template.path.as_slice(), path.as_slice(), &[key.to_owned()]].concat();
        document.line(&own)
    };
    let Some(called) = by_name.get(name.as_str()) else {
        return Some(undefined(line("template"), &name, by_name));
    };
    let given = below(step, &["arguments"]).map(|all| list(all, "parameters")).unwrap_or_default();
    let given: BTreeSet<String> = given.into_iter().filter_map(|one| scalar(one, &["name"])).collect();
    let missing = called.required.iter().find(|one| !given.contains(*one))?;
    let message = format!(
        "{} calls template {name} without parameter {missing}, which has no default; Argo rejects the \
         workflow: `inputs.parameters.{missing} was not supplied`",
        scalar(step, &["name"]).unwrap_or_else(|| "a step".to_owned())
    );
    let fix = format!("Give {missing} under `arguments.parameters`, or a `default` where it is declared");
    Some(Found::error(line("template"), message, fix).about(missing))
}

/// What a template uses of inputs that it does not declare.
fn unresolved(document: &Document, template: &Template) -> Vec<Found> {
    let mut tags = Vec::new();
    let inline = tags_below(template.value, &mut template.path.clone(), &mut tags);
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (path, tag) in tags.iter().filter(|_| !inline) {
        let Some(name) = tag.strip_prefix("inputs.").and_then(input) else { continue };
        if template.inputs.contains(&name) || !seen.insert(name.clone()) {
            continue;
        }
        let (kind, bare) = name.split_once('.').unwrap_or_default();
        let own = template.inputs.iter().filter_map(|one| one.strip_prefix(kind)?.strip_prefix('.'));
        let near = diagnostic::suggest::nearest(bare, own.take(NAMES_LIMIT));
        let message = format!(
            "template {} uses inputs.{name}, which its inputs do not declare; Argo refuses the workflow: \
             `failed to resolve {{{{inputs.{name}}}}}`",
            template.name
        );
        let fix = match near {
            Some(near) => format!("Write {near}, or declare {bare} under `inputs.{kind}` of the template"),
            None => format!("Declare {bare} under `inputs.{kind}` of the template, and give it in its calls"),
        };
        found.push(Found::error(document.line(path), message, fix).about(bare));
    }
    found
}

/// `parameters.epochs` of `parameters.epochs`, `artifacts.data` of `artifacts.data.path`.
fn input(tag: &str) -> Option<String> {
    let (kind, rest) = tag.split_once('.')?;
    let name = match kind {
        "parameters" => rest,
        "artifacts" => rest.split('.').next()?,
        _ => return None,
    };
    let plain =
        !name.is_empty() && name.bytes().all(|one| one.is_ascii_alphanumeric() || b"-_".contains(&one));
    plain.then(|| format!("{kind}.{name}"))
}

/// The parameters of the workflow that nothing declares.
fn of_workflow(document: &Document, spec: &Value, templates: &[Template]) -> Vec<Found> {
    if !document.is("Workflow") {
        return Vec::new();
    }
    let given = below(spec, &["arguments"]).map(|all| list(all, "parameters")).unwrap_or_default();
    let mut known: BTreeSet<String> = given.into_iter().filter_map(|one| scalar(one, &["name"])).collect();
    let mut found = Vec::new();
    for template in templates {
        let mut tags = Vec::new();
        tags_below(template.value, &mut template.path.clone(), &mut tags);
        for (path, tag) in &tags {
            let Some(name) = tag.strip_prefix("workflow.").and_then(input) else { continue };
            let Some(name) = name.strip_prefix("parameters.").map(str::to_owned) else { continue };
            if !known.insert(name.clone()) {
                continue;
            }
            let message = format!(
                "`spec.arguments` does not define parameter {name}; Argo fails to resolve \
                 {{{{workflow.parameters.{name}}}}} unless `argo submit -p {name}=…` sets it"
            );
            let fix = format!("Add {name} to `spec.arguments.parameters`");
            found.push(Found::warning(document.line(path), message, fix).about(&name));
        }
    }
    found
}

/// The simple tags in the texts below a value, each with the path of its text; true where there is an inline
/// template, which has inputs of its own.
fn tags_below(value: &Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) -> bool {
    let entries: Vec<(String, &Value)> = match value {
        Value::Mapping(map) => map.iter().filter_map(|(key, value)| Some((text(key)?, value))).collect(),
        Value::Sequence(items) => items.iter().enumerate().map(|(at, one)| (at.to_string(), one)).collect(),
        Value::String(text) => {
            for part in text.split("{{").skip(1) {
                let tag = part.split_once("}}").map(|(tag, _)| tag.trim());
                found.extend(tag.filter(|tag| tag.contains('.')).map(|tag| (path.clone(), tag.to_owned())));
            }
            return false;
        }
        _ => return false,
    };
    let mut inline = false;
    for (key, inner) in entries {
        inline |= key == "inline";
        path.push(key);
        inline |= tags_below(inner, path, found);
        path.pop();
    }
    inline
}
