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
        named(
            ".github/workflows/image.yml",
            "on: push\nenv:\n  REGISTRY: ghcr.io\n  IMAGE: ${{ github.repository }}/trainer\npermissions:\n  \
             contents: read\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: \
             docker/login-action@v3\n        with:\n          registry: ${{ env.REGISTRY }}\n          \
             username: ${{ github.actor }}\n          password: ${{ secrets.GITHUB_TOKEN }}\n      - id: \
             names\n        uses: docker/metadata-action@v5\n        with:\n          images: ${{ \
             env.REGISTRY }}/${{ env.IMAGE }}\n      - uses: docker/build-push-action@v6\n        with:\n\
             \x20         push: true\n          tags: ${{ steps.names.outputs.tags }}\n",
        ),
        named(
            ".github/workflows/image.yml",
            "on: push\npermissions: {contents: read}\njobs:\n  build:\n    runs-on: ubuntu-latest\n    \
             env: {REPO: ghcr.io/acme}\n    steps:\n      - run: docker login ${{ env.REPO }} -u a -p \
             $TOKEN\n        env: {TOKEN: \"${{ github.token }}\"}\n      - run: docker push \
             \"$REPO/train:1\"\n",
        ),
    ],
    silent: &[
        named(
            ".github/workflows/image.yml",
            "on: push\nenv: {REGISTRY: registry.acme.example}\npermissions: {contents: read}\njobs:\n  \
             build:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: docker/login-action@v3\n        \
             with: {registry: \"${{ env.REGISTRY }}\", username: a, password: \"${{ secrets.GITHUB_TOKEN \
             }}\"}\n      - uses: docker/build-push-action@v6\n        with: {push: true, tags: \"${{ \
             env.REGISTRY }}/a\"}\n",
        ),
        // It logs in to read a base image, and pushes to another registry.
        named(
            ".github/workflows/image.yml",
            "on: push\nenv: {REGISTRY: ghcr.io, TARGET: registry.acme.example/a}\npermissions: {packages: \
             read}\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: \
             docker/login-action@v3\n        with: {registry: \"${{ env.REGISTRY }}\", username: a, \
             password: \"${{ secrets.GITHUB_TOKEN }}\"}\n      - id: meta\n        uses: \
             docker/metadata-action@v5\n        with: {images: \"${{ env.TARGET }}\"}\n      - uses: \
             docker/build-push-action@v6\n        with: {push: true, tags: \"${{ steps.meta.outputs.tags \
             }}\"}\n",
        ),
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
    job.steps.iter().position(logs_in)?;
    let (line, certain) = job.steps.iter().find_map(|step| pushes(job, step))?;
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

/// The most steps among which one is looked for by its id.
const STEPS_LIMIT: usize = 256;

const REGISTRY: &str = "ghcr.io";

fn is_token(text: &str) -> bool {
    text.contains("secrets.GITHUB_TOKEN") || text.contains("github.token")
}

/// Whether a step logs in to the registry with the token of the job.
fn logs_in(step: &Step) -> bool {
    if step.uses.as_deref() == Some("docker/login-action") {
        return step.input("registry").contains(REGISTRY) && is_token(&step.input("password"));
    }
    let run = step.env.in_shell(&step.env.resolved(step.run.as_deref().unwrap_or_default()));
    run.contains("login") && run.contains(REGISTRY) && is_token(&run)
}

/// The line of a push to the registry, and whether it certainly happens in some run.
fn pushes(job: &Job, step: &Step) -> Option<(usize, bool)> {
    // A name that only an expression has may be of this registry.
    let here = |name: &str| name.contains(REGISTRY) || name.contains("${{") || name.contains('$');
    let certain = |name: &str| name.contains(REGISTRY);
    if matches!(step.uses.as_deref(), Some("docker/build-push-action" | "docker/bake-action")) {
        let push = step.input("push");
        let tags = step.input("tags");
        let event = push.contains("github.event_name") || push.contains("github.ref");
        let pushes = push == "true" || push.contains("${{") && !push.contains("false");
        // Of a bake file, the names are elsewhere.
        let named = step.uses.as_deref() == Some("docker/build-push-action") && !tags.is_empty();
        let images = images_of(job, &tags);
        let elsewhere = images.as_deref().is_some_and(|images| !here(images));
        let generated = tags.contains("steps.meta") || tags.contains("outputs.tags");
        return (pushes && named && here(&tags) && !elsewhere)
            .then_some((step.line, (push == "true" || event) && (certain(&tags) || generated)));
    }
    step.commands.iter().find_map(|command| {
        let docker = matches!(command.program(), "docker" | "podman" | "buildah");
        let words: Vec<String> =
            command.words.iter().skip(1).map(|word| step.env.in_shell(&word.text)).collect();
        let has = |text: &str| words.iter().any(|word| word == text);
        let plain = words.first().is_some_and(|word| word == "push");
        let built = has("build") && has("--push");
        let name = words.iter().find(|word| here(word))?;
        (docker && (plain || built)).then_some((command.line, command.certain && certain(name)))
    })
}

/// The names of images of the step whose output these tags are: `${{ steps.meta.outputs.tags }}`.
fn images_of(job: &Job, tags: &str) -> Option<String> {
    let inner = tags.trim().strip_prefix("${{")?.strip_suffix("}}")?.trim();
    let id = inner.strip_prefix("steps.")?.strip_suffix(".outputs.tags")?;
    let is_it = |step: &&Step| below(&step.value, &["id"]).and_then(text).as_deref() == Some(id);
    let step = job.steps.iter().take(STEPS_LIMIT).find(is_it)?;
    (step.uses.as_deref() == Some("docker/metadata-action")).then(|| step.input("images"))
}
