//! A stage of a build and its instructions.

/// A stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Its name: `build`.
    pub name: String,
    /// The image that it begins with: a reference, or the name of an earlier stage.
    pub image: String,
    /// Why it is this image, as comments.
    pub why: Vec<String>,
    /// Its instructions, in order.
    pub steps: Vec<Step>,
}

/// An instruction, and why it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Comments above it, each a paragraph.
    pub why: Vec<String>,
    /// Rules of hadolint that do not hold here; `why` tells the reason.
    pub ignores: Vec<&'static str>,
    /// The instruction.
    pub does: Instruction,
}

impl Step {
    /// An instruction that needs no comment.
    pub fn of(does: Instruction) -> Step {
        Step { why: Vec::new(), ignores: Vec::new(), does }
    }

    /// With a comment.
    pub fn because(mut self, why: impl Into<String>) -> Step {
        self.why.push(why.into());
        self
    }

    /// With a comment, where there is one.
    pub fn maybe_because(self, why: Option<&str>) -> Step {
        match why {
            Some(why) => self.because(why),
            None => self,
        }
    }

    /// Silences a rule of hadolint, and says why.
    pub fn ignoring(mut self, rule: &'static str, why: &str) -> Step {
        self.ignores.push(rule);
        self.because(format!("{rule}: {why}"))
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
        /// The commands.
        commands: Vec<Vec<String>>,
    },
    /// Variables of the container; values may refer to others.
    Env(Vec<(String, String)>),
    /// Files from another stage (`from`) or the build context.
    Copy {
        /// The stage.
        from: Option<String>,
        /// `user:group`, where it is not root's.
        owner: Option<String>,
        /// The paths.
        sources: Vec<String>,
        /// Where to.
        to: String,
    },
    /// The working directory.
    Workdir(String),
    /// The user.
    User(String),
    /// A port.
    Expose(u16),
    /// Labels.
    Label(Vec<(String, String)>),
    /// The program, in exec form.
    Entrypoint(Vec<String>),
    /// Its arguments, in exec form.
    Command(Vec<String>),
}
