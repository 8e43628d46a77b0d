//! Labels of the image: what is in it, for `envdoc inspect` and for people.

use std::collections::BTreeMap;

use super::step::{Instruction, Step};
use super::{PlanContext, name};

pub(super) fn step(context: &PlanContext) -> Step {
    Step::new(Instruction::Label(labels(context).into_iter().collect()))
}

pub(super) fn labels(context: &PlanContext) -> BTreeMap<String, String> {
    let stack = context.stack;
    let mut labels = BTreeMap::from([
        ("org.opencontainers.image.title".to_owned(), name(context.request)),
        ("org.opencontainers.image.base.name".to_owned(), context.base.image.clone()),
        ("envdoc.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("envdoc.python".to_owned(), stack.python.clone()),
        ("envdoc.torch".to_owned(), format!("{}+{}", stack.torch, stack.torch_build)),
        ("envdoc.cuda".to_owned(), stack.cuda.clone()),
    ]);
    let mut add = |name: &str, value: &Option<String>| {
        if let Some(value) = value {
            labels.insert(name.to_owned(), value.clone());
        }
    };
    add("org.opencontainers.image.description", &context.request.description);
    add("org.opencontainers.image.base.digest", &context.base.digest);
    add("envdoc.deepspeed", &stack.deepspeed);
    add("envdoc.driver_min", &stack.driver_min);
    add("envdoc.driver_max_branch", &stack.driver_max_branch.map(|branch| branch.to_string()));
    // The whole stack, as `envdoc resolve --format json` writes it.
    add("envdoc.stack", &serde_json::to_string(stack).ok());
    if !context.request.requested.is_empty() {
        add("envdoc.request", &Some(context.request.requested.join(", ")));
    }
    labels.extend(context.request.labels.clone());
    labels
}
