//! A push to GitHub's registry with a token that may not write packages.

use serde_yaml::Value;

use crate::read::compose::{below, text};
use crate::read::workflow::{Job, Step, Workflow};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "registry-permission-missing",
    severity: Severity::Error,
    summary: "a job that pushes to ghcr.io with GITHUB_TOKEN may write packages",
    explain: include_str!("registry_permission_missing.md"),
    judge: Judge::Workflow(judge),
    fires: &[
        named(
            ".github/workflows/image.yml",
            "on: push\npermissions:\n  contents: read\njobs:\n  build:\n    runs-on: ubuntu-latest\n    \
             steps:\n      - uses: \
             docker/login-action@v3\n        with:\n          registry: ghcr.io\n          username: ${{ \
             github.actor }}\n          \
             password: ${{ secrets.GITHUB_TOKEN }}\n      - uses: docker/build-push-action@v6\n        \
             with:\n          push: \
             true\n          tags: ghcr.io/acme/train:latest\n",
        ),
        named(
            ".github/workflows/image.yml",
            "on: push\njobs:\n  build:\n    runs-on: ubuntu-latest\n    permissions: read-all\n    \
             env:\n      TOKEN: ${{ \
             github.token }}\n    steps:\n      - run: |\n          echo \"$TOKEN\" | docker login ghcr.io \
             -u x \
             --password-stdin\n          docker buildx build --push -t ghcr.io/acme/train .\n",
        ),
        named(
            ".github/workflows/image.yml",
            "on: push\npermissions: {packages: write}\njobs:\n  build:\n    runs-on: ubuntu-latest\n    \
             permissions: \
             {contents: read, packages: read}\n    steps:\n      - run: docker login ghcr.io -u a -p ${{ \
             secrets.GITHUB_TOKEN }}\n      - run: docker push ghcr.io/acme/train:1\n",
        ),
    ],
    silent: &[
        named(
            ".github/workflows/image.yml",
            "on: push\npermissions: {}\njobs:\n  build:\n    runs-on: ubuntu-latest\n    permissions: \
             {contents: read, \
             packages: write}\n    steps:\n      - uses: docker/login-action@v3\n        with: {registry: \
             ghcr.io, username: a, \
             password: \"${{ github.token }}\"}\n      - uses: docker/build-push-action@v6\n        with: \
             {push: true, tags: \
             ghcr.io/acme/a}\n",
        ),
        named(
            ".github/workflows/image.yml",
            "on: push\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: \
             docker/login-action@v3\n        with: \
             {registry: ghcr.io, username: a, password: \"${{ secrets.GITHUB_TOKEN }}\"}\n      - uses: \
             docker/build-push-action@v6\n        with: {push: true, tags: ghcr.io/acme/a}\n",
        ),
        named(
            ".github/workflows/image.yml",
            "on: push\npermissions: {contents: read}\njobs:\n  build:\n    runs-on: ubuntu-latest\n    \
             steps:\n      - uses: \
             docker/login-action@v3\n        with: {registry: ghcr.io, username: a, password: \"${{ \
             secrets.GHCR_PAT \
             }}\"}\n      - uses: docker/build-push-action@v6\n        with: {push: true, tags: \
             ghcr.io/acme/a}\n",
        ),
        named(
            ".github/workflows/image.yml",
            "on: push\npermissions: {contents: read}\njobs:\n  build:\n    runs-on: ubuntu-latest\n    \
             steps:\n      - uses: \
             docker/login-action@v3\n        with: {registry: ghcr.io, username: a, password: \"${{ \
             secrets.GITHUB_TOKEN \
             }}\"}\n      - uses: docker/build-push-action@v6\n        with: {push: false, tags: \
             ghcr.io/acme/a}\n      - run: \
             docker pull ghcr.io/acme/base && docker push registry.acme.example/a\n",
        ),
    ],
};

fn judge(workflow: &Workflow) -> Vec<Found> {
    if workflow.of_another {
        return Vec::new();
    }
    workflow.jobs.iter().filter_map(|job| fault(workflow, job)).collect()
}

fn fault(workflow: &Workflow, job: &Job) -> Option<Found> {
    let own = below(&job.value, &["permissions"]);
    // Without the key, settings of the repository decide.
    let permissions = own.or_else(|| below(&workflow.root, &["permissions"]))?;
    let given = match permissions {
        Value::String(all) if all == "read-all" => "read-all".to_owned(),
        Value::Mapping(map) => match below(permissions, &["packages"]).and_then(text) {
            Some(access) if access == "write" => return None,
            Some(access) => format!("packages: {access}"),
            None if map.is_empty() => "{}".to_owned(),
            None => "no packages".to_owned(),
        },
        _ => return None,
    };
    job.steps.iter().position(|step| logs_in(workflow, job, step))?;
    let (line, certain) = job.steps.iter().find_map(pushes)?;
    let place = match own {
        Some(_) => workflow.line_in(job, &["permissions"]),
        None => workflow.line_of(&["permissions"]),
    };
    let message = format!(
        "job {} pushes to ghcr.io with GITHUB_TOKEN, whose permissions are given in line {place} and do not \
         include `packages: write` ({given}); the registry denies the push",
        job.name
    );
    let fix = "Add `packages: write` to the permissions of the job";
    Some(Found::error(line, message, fix).unless_certain(certain))
}

const REGISTRY: &str = "ghcr.io";

fn is_token(text: &str) -> bool {
    text.contains("secrets.GITHUB_TOKEN") || text.contains("github.token")
}

/// Whether a step logs in to the registry with the token of the job.
fn logs_in(workflow: &Workflow, job: &Job, step: &Step) -> bool {
    let with = |key: &str| below(&step.value, &["with", key]).and_then(text).unwrap_or_default();
    if step.uses.as_deref() == Some("docker/login-action") {
        return with("registry").contains(REGISTRY) && is_token(&with("password"));
    }
    let Some(run) = &step.run else { return false };
    if !run.contains("login") || !run.contains(REGISTRY) {
        return false;
    }
    let environments = [&step.value, &job.value, &workflow.root];
    let mut set = environments.iter().filter_map(|value| below(value, &["env"])?.as_mapping()).flatten();
    is_token(run)
        || set.any(|(name, value)| {
            let used = text(name).is_some_and(|name| {
                run.contains(&format!("${name}")) || run.contains(&format!("${{{name}}}"))
            });
            used && text(value).is_some_and(|value| is_token(&value))
        })
}

/// The line of a push to the registry, and whether it certainly happens in some run.
fn pushes(step: &Step) -> Option<(usize, bool)> {
    let with = |key: &str| below(&step.value, &["with", key]).and_then(text).unwrap_or_default();
    // A name that only an expression has may be of this registry.
    let here = |name: &str| name.contains(REGISTRY) || name.contains("${{") || name.contains('$');
    let certain = |name: &str| name.contains(REGISTRY);
    if matches!(step.uses.as_deref(), Some("docker/build-push-action" | "docker/bake-action")) {
        let push = with("push");
        let tags = with("tags");
        let event = push.contains("github.event_name") || push.contains("github.ref");
        let pushes = push == "true" || push.contains("${{") && !push.contains("false");
        // Of a bake file, the names are elsewhere.
        let named = step.uses.as_deref() == Some("docker/build-push-action") && !tags.is_empty();
        let generated = tags.contains("steps.meta") || tags.contains("outputs.tags");
        return (pushes && named && here(&tags))
            .then_some((step.line, (push == "true" || event) && (certain(&tags) || generated)));
    }
    step.commands.iter().find_map(|command| {
        let docker = matches!(command.program(), "docker" | "podman" | "buildah");
        let words: Vec<&str> = command.words.iter().skip(1).map(|word| word.text.as_str()).collect();
        let plain = words.first() == Some(&"push");
        let built = words.contains(&"build") && words.contains(&"--push");
        let name = words.iter().find(|word| here(word))?;
        (docker && (plain || built)).then_some((command.line, command.certain && certain(name)))
    })
}
