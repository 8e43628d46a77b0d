//! The names of candidates in messages.

use crate::message::{Subject, Verb};
use crate::universe::{Build, Cuda};
use crate::verdict::{Candidate, Party};

/// A noun phrase with its number: `torch 2.5.0 and 2.5.1`.
#[derive(Debug, Clone)]
pub(crate) struct Phrase {
    pub(crate) text: String,
    pub(crate) several: bool,
}

impl Phrase {
    pub(crate) fn one(text: impl Into<String>) -> Phrase {
        Phrase { text: text.into(), several: false }
    }

    pub(crate) fn counted(text: String, count: usize) -> Phrase {
        Phrase { text, several: count != 1 }
    }

    pub(crate) fn verb(&self, (one, several): Verb) -> &'static str {
        if self.several { several } else { one }
    }
}

/// What a message calls the parts of a candidate, or of several that are refused alike.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// `torch 2.5.1+cu121`.
    pub(crate) build: Phrase,
    /// `torch 2.5.1`.
    pub(crate) torch: Phrase,
    /// `12.1`; empty for CPU builds, of which no message names it.
    pub(crate) cuda: Phrase,
    pub(crate) cuda_major: u32,
    /// `numpy 1.26.4`.
    pub(crate) release: Phrase,
    /// `nvidia/cuda:12.1.1-base-ubuntu22.04`.
    pub(crate) base: Phrase,
    /// `3.12`.
    pub(crate) python: String,
}

impl Names {
    pub(crate) fn of(candidate: &Candidate) -> Names {
        let Candidate { build, python, base, release } = candidate;
        Names {
            build: Phrase::one(build.map_or_else(|| "torch".to_owned(), |build| build.name())),
            torch: Phrase::one(
                build.map_or_else(|| "torch".to_owned(), |build| format!("torch {}", build.release.version)),
            ),
            cuda: Phrase::one(build.and_then(Build::cuda).map_or_else(String::new, Cuda::text)),
            cuda_major: build.and_then(Build::cuda).map_or(0, Cuda::major),
            release: Phrase::one(release.map_or_else(|| "the package".to_owned(), |release| release.name())),
            base: Phrase::one(base.map_or_else(|| "the base image".to_owned(), |base| base.name())),
            python: python.map_or_else(String::new, |python| python.text.clone()),
        }
    }

    pub(crate) fn with_build(self, build: Phrase) -> Names {
        Names { build, ..self }
    }

    pub(crate) fn subject(&self, subject: Subject) -> &Phrase {
        match subject {
            Subject::Build => &self.build,
            Subject::Release => &self.release,
        }
    }

    pub(crate) fn party(&self, party: &Party) -> Phrase {
        match party {
            Party::Candidate => self.release.clone(),
            Party::Torch => self.torch.clone(),
            Party::Cuda => Phrase { text: format!("CUDA {}", self.cuda.text), several: self.cuda.several },
            Party::Package { name, version } => Phrase::one(format!("{name} {version}")),
        }
    }
}
