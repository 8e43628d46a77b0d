//! A build with every choice made.

use docker::build::{self, Build, Builder};
use docker::client::{self, Client};
use image::plan::Plan;
use image::report::Note;
use image::verify::Expectations;
use resolve::outcome::Stack;
use resolve::universe::Universe;

use crate::build_request::{BuildRequest, Checked, CheckedSource};
use crate::context;
use crate::machines::ReadMachine;
use crate::plan::{NoStack, Planned};
use diagnostic::error::Error;

/// What is sent to the engine, verified, tagged and pushed.
#[derive(Debug)]
pub struct BuildPlan {
    /// The engine, and the logins to registries.
    pub client: Client,
    /// The image, or the first of several platforms.
    pub image: ImageBuild,
    /// The platforms, where there are several; then the build of [`BuildPlan::image`] has none.
    pub platforms: Vec<String>,
    /// The stack that was resolved; `None` for a Dockerfile of the user's own.
    pub stack: Option<Stack>,
    pub notes: Vec<Note>,
}

/// One image of one platform.
#[derive(Debug, Clone)]
pub struct ImageBuild {
    /// What is sent to the engine.
    pub build: Build,
    /// What to verify; `None` with --no-verify.
    pub expectations: Option<Expectations>,
    /// The names that it gets.
    pub tags: Vec<String>,
    pub push: bool,
    /// Names under which it is pushed for its cache.
    pub cache_names: Vec<String>,
    /// Whether an expectation that could not be checked keeps it from its tags.
    pub strict: bool,
}

/// What became of a request.
#[derive(Debug)]
pub enum Prepared {
    /// A build that can be executed.
    Build(Box<BuildPlan>),
    /// No stack meets the request.
    NoStack(Box<NoStack>),
}

/// Checks and plans a build. The engine is asked only for the contents of a user's own base image, and after
/// the options are checked.
pub fn prepare(
    universe: &Universe,
    request: &BuildRequest,
    read_here: ReadMachine<'_>,
) -> Result<Prepared, Error> {
    let (source, checked) = request.check(universe)?;
    let client = client::find(request.host.as_deref())?;
    let part = match source {
        CheckedSource::Planned(of_image, checked_plan) => {
            match of_image.plan_on(universe, *checked_plan, &client, read_here)? {
                Planned::Plan(planned) => Part::of_plan(&planned.plan, planned.notes, request)?,
                Planned::NoStack(none) => return Ok(Prepared::NoStack(none)),
            }
        }
        CheckedSource::Dockerfile { path, labels } => Part {
            build: Build {
                context: context::of_dockerfile(path, &request.context)?,
                labels: labels.clone(),
                ..Build::default()
            },
            ..Part::default()
        },
    };
    Ok(Prepared::Build(Box::new(part.whole(request, checked, client))))
}

/// The part of a build that depends on what is built.
#[derive(Debug, Default)]
struct Part {
    build: Build,
    expectations: Expectations,
    tags: Vec<String>,
    stack: Option<Stack>,
    notes: Vec<Note>,
}

impl Part {
    fn of_plan(plan: &Plan, notes: Vec<String>, request: &BuildRequest) -> Result<Part, Error> {
        let warnings = plan.warnings.iter().map(|warning| Note::Warning(warning.message.clone()));
        Ok(Part {
            build: Build {
                context: context::of_plan(plan, &request.context)?,
                secrets: context::secrets_of_plan(plan)?,
                arguments: plan.build_args.iter().cloned().collect(),
                platform: plan.platform.clone(),
                needs_buildkit: plan.buildkit.clone(),
                // The Dockerfile has the labels.
                ..Build::default()
            },
            expectations: plan.expectations.clone(),
            tags: vec![plan.name.clone()],
            stack: Some(plan.stack.clone()),
            notes: warnings.chain(notes.into_iter().map(Note::Info)).collect(),
        })
    }

    fn whole(self, request: &BuildRequest, checked: Checked, client: Client) -> BuildPlan {
        let Part { build: part, mut expectations, tags, stack, notes } = self;
        expectations.extend(checked.expect);
        let mut arguments = client.proxies.clone();
        arguments.extend(part.arguments);
        arguments.extend(checked.arguments);
        let inline_cache = !request.cache_to.is_empty();
        if inline_cache {
            arguments.insert("BUILDKIT_INLINE_CACHE".into(), "1".into());
        }
        let builder = match request.builder {
            Builder::Best if client.classic => Builder::Classic,
            other => other,
        };
        let build = Build {
            id: build::new_id(),
            builder,
            platform: checked.platforms.one().or(part.platform),
            arguments,
            target: request.target.clone(),
            network: request.network.clone().filter(|mode| mode != "default"),
            no_cache: request.no_cache,
            pull: request.pull,
            cache_from: checked.cache_from,
            inline_cache,
            secrets: part.secrets.into_iter().chain(checked.secrets).collect(),
            ..part
        };
        let image = ImageBuild {
            build,
            expectations: request.verify.then_some(expectations),
            tags: if request.tags.is_empty() { tags } else { request.tags.clone() },
            push: request.push,
            cache_names: checked.cache_names,
            strict: request.strict,
        };
        BuildPlan { client, image, platforms: checked.platforms.several(), stack, notes }
    }
}
