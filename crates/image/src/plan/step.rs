//! A stage of a build and its instructions.

/// A `FROM … AS name` with its instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Its name: `build`.
    pub name: String,
    /// The image that it begins with: a reference, or the name of an earlier stage.
    pub image: String,
    /// Why it is this image, as comments.
    pub comments: Vec<String>,
    /// In the order of the Dockerfile.
    pub steps: Vec<Step>,
}

/// An instruction, and why it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Comments above it, each a paragraph.
    pub comments: Vec<String>,
    /// hadolint rules to ignore here; `comments` has the reason.
    pub ignores: Vec<&'static str>,
    /// One instruction of the Dockerfile.
    pub instruction: Instruction,
}

impl Step {
    /// An instruction that needs no comment.
    pub fn new(instruction: Instruction) -> Step {
        Step { comments: Vec::new(), ignores: Vec::new(), instruction }
    }

    /// Adds a paragraph to the comments above it.
    pub fn with_comment(mut self, why: impl Into<String>) -> Step {
        self.comments.push(why.into());
        self
    }

    /// [`Step::with_comment`] if there is a text.
    pub fn with_optional_comment(self, why: Option<&str>) -> Step {
        match why {
            Some(why) => self.with_comment(why),
            None => self,
        }
    }

    /// Ignores a hadolint rule, with the reason as a comment.
    pub fn ignoring(mut self, rule: &'static str, why: &str) -> Step {
        self.ignores.push(rule);
        self.with_comment(format!("{rule}: {why}"))
    }
}

/// An instruction of a Dockerfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instruction {
    /// `SHELL`, in exec form.
    Shell(Vec<String>),
    /// A build argument, with the value that it has unless another is given.
    Arg(String, Option<String>),
    /// Commands that run one after another as long as none fails; a command may have several lines, of which
    /// all but the first are set in.
    Run {
        /// BuildKit mounts: `type=cache,target=/root/.cache/pip`.
        mounts: Vec<String>,
        /// Each with its continuation lines.
        commands: Vec<Vec<String>>,
    },
    /// Variables of the container; values may refer to others.
    Env(Vec<(String, String)>),
    /// Files from another stage (`from`) or the build context.
    Copy {
        /// Name of an earlier stage; `None`: the build context.
        from: Option<String>,
        /// `user:group`, where it is not root's.
        owner: Option<String>,
        /// Paths in the stage or the build context.
        sources: Vec<String>,
        /// Path in the image.
        to: String,
    },
    /// `WORKDIR`, an absolute path.
    Workdir(String),
    /// `USER`, a numeric UID.
    User(String),
    /// `EXPOSE`, a TCP port.
    Expose(u16),
    /// `LABEL`, pairs of key and value.
    Label(Vec<(String, String)>),
    /// The program, in exec form.
    Entrypoint(Vec<String>),
    /// Its arguments, in exec form.
    Command(Vec<String>),
}

/// Why BuildKit is required: the classic builder does not support mounts.
pub(super) fn buildkit(stages: &[Stage]) -> Option<String> {
    let mounts =
        |step: &Step| matches!(&step.instruction, Instruction::Run { mounts, .. } if !mounts.is_empty());
    let any = stages.iter().flat_map(|stage| &stage.steps).any(mounts);
    any.then(|| "RUN instructions use mounts".into())
}
