//! The settings of a run: the project's file beats the user's, which beats the machine's.

use std::path::PathBuf;

use facts::Expected;

use crate::fail_on::FailOn;
use crate::guarded::Guarded;
use crate::ignores::Ignores;
use crate::origin::Sourced;
use crate::own::OwnCheck;
use crate::trust::Untrusted;

#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The files that were read, the strongest first.
    pub files: Vec<PathBuf>,
    /// `fail-on`: the lowest severity that makes the exit code 1.
    pub fail_on: Option<Sourced<FailOn>>,
    /// `strict`: checks that could not run make the exit code 3.
    pub strict: Option<Sourced<bool>>,
    /// `expect`, as `--expect` takes it: `driver>=550`. The strongest is last.
    pub expect: Vec<Sourced<String>>,
    /// `cluster-file`, absolute: it is relative to the file that names it.
    pub cluster_file: Option<Guarded<PathBuf>>,
    /// `pip-index`: the package index of images.
    pub pip_index: Option<Guarded<String>>,
    /// `apt-mirror`: the mirror of the distribution's archive in images.
    pub apt_mirror: Option<Guarded<String>>,
    /// `registry`: where pipelines push images to.
    pub registry: Option<Guarded<String>>,
    /// `ignore`, of all files.
    pub ignores: Ignores,
    /// `check`, of all files.
    pub checks: Vec<OwnCheck>,
    /// The files with settings that do not count because the files are not trusted.
    pub untrusted: Vec<Untrusted>,
}

impl Settings {
    /// What the option says, else the files, else errors only.
    pub fn fail_on(&self, option: Option<FailOn>) -> FailOn {
        option.or(self.fail_on.as_ref().map(|set| set.value)).unwrap_or(FailOn::Error)
    }

    /// Whether the option or the files ask for exit code 3 where checks could not run.
    pub fn strict(&self, option: bool) -> bool {
        option || self.strict.as_ref().is_some_and(|set| set.value)
    }

    /// What the machine should have, without what the command line says.
    pub fn expected(&self) -> Expected {
        let mut expected = Expected::default();
        for text in &self.expect {
            // Each was tried when it was read.
            let _ = expected.add(&text.value);
        }
        expected
    }

    /// Whether one of the values that require trust comes from a file that does not have it.
    pub(crate) fn needs_trust(&self) -> bool {
        let texts = [&self.pip_index, &self.apt_mirror, &self.registry].into_iter().flatten();
        texts.map(Guarded::trusted).any(|value| value.is_err())
            || self.cluster_file.as_ref().is_some_and(|set| set.trusted().is_err())
            || self.checks.iter().any(|check| check.untrusted().is_some())
    }

    /// Fills in from a weaker file what the stronger ones leave open.
    pub(crate) fn or(mut self, weaker: Settings) -> Settings {
        self.files.extend(weaker.files);
        self.fail_on = self.fail_on.or(weaker.fail_on);
        self.strict = self.strict.or(weaker.strict);
        self.expect.splice(..0, weaker.expect);
        self.cluster_file = self.cluster_file.or(weaker.cluster_file);
        self.pip_index = self.pip_index.or(weaker.pip_index);
        self.apt_mirror = self.apt_mirror.or(weaker.apt_mirror);
        self.registry = self.registry.or(weaker.registry);
        self.ignores.0.extend(weaker.ignores.0);
        self.checks.extend(weaker.checks);
        self.untrusted.extend(weaker.untrusted);
        self
    }
}
