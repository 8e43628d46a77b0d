//! How root-cause ranking treats the events of a signature. The code of `diagnose` names no signature: each
//! row says itself what its lines report, what it yields to, and what shows that it was recovered from.

use serde::{Deserialize, Serialize};

/// What a line of a signature reports about the job, beyond its sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// Something ended, without a reason: ranked after every other symptom.
    End,
    /// A peer of this rank is gone: its own failure comes from elsewhere.
    PeerLost,
    /// A rank waited for another until its time limit.
    Wait,
    /// The same, with the collective: the captures `sequence` and `operation`.
    CollectiveTimeout,
    /// A row of torchrun's failure table: the captures `rank`, `local`, `code` and `pid`, each on a line of
    /// its own.
    FailureTable,
    /// torchrun's agent reports a process that ended: the captures `code` and `rank` (the local rank).
    RankExit,
    /// A launcher was asked to stop.
    StopRequest,
    /// A process of the job succeeded.
    ProcessSuccess,
    /// The container named by the capture `container` succeeded.
    ContainerSuccess,
    /// A download is retried after the error before this line.
    Retry,
    /// An image build succeeded.
    ImageBuilt,
    /// The packages that were asked for are installed.
    PackagesInstalled,
    /// A test session started: what it prints may be provoked.
    TestsStarted,
    /// A test session passed.
    TestsPassed,
    /// A test session failed.
    TestsFailed,
}

impl Report {
    /// Whether it reports success or a retry: evidence of recovery, and no finding by itself.
    pub fn is_success(self) -> bool {
        matches!(
            self,
            Report::ProcessSuccess
                | Report::ContainerSuccess
                | Report::Retry
                | Report::ImageBuilt
                | Report::PackagesInstalled
                | Report::TestsStarted
                | Report::TestsPassed
        )
    }
}

/// The signal that ended a process, in the order in which causes are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// SIGKILL: from outside, mostly the OOM killer.
    Kill,
    /// The row does not fix it: the line may name it.
    Unknown,
    /// SIGBUS.
    Bus,
    /// SIGSEGV.
    Segv,
    /// SIGABRT. PyTorch sends it to itself where a rank waited too long.
    Abrt,
}

impl Signal {
    /// Number and name: `9 (SIGKILL)`.
    pub fn name(self) -> &'static str {
        match self {
            Signal::Kill => "9 (SIGKILL)",
            Signal::Unknown => "unknown",
            Signal::Bus => "7 (SIGBUS)",
            Signal::Segv => "11 (SIGSEGV)",
            Signal::Abrt => "6 (SIGABRT)",
        }
    }
}

/// When a root is a fault of the machine itself, which no program can cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineFault {
    /// Every line of it.
    Always,
    /// Depends on the severity of the Xid in the line (`catalog/xids.yaml`).
    ByXid,
}

/// What no line states: `diagnose` derives it, and takes the texts from the row with this value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Derived {
    /// Ranks waited in different collectives.
    Desync,
    /// One rank was silent while the others waited.
    RankStalled,
    /// A line that only says `Killed`.
    Killed,
    /// A traceback inside a package build ends with a module that is missing there.
    ModuleMissingInBuild,
    /// A traceback of the program that matches no signature.
    Exception,
    /// A traceback ends in the standard library, which found another file in place of one of its modules.
    StdlibShadowed,
    /// An error line that matches no signature, quoted.
    QuotedLine,
    /// Where a rank is in a process group, by its flight recorder dump.
    FlightRecorder,
}

impl Derived {
    /// All of them; each has exactly one row.
    pub const ALL: &[Derived] = &[
        Derived::Desync,
        Derived::RankStalled,
        Derived::Killed,
        Derived::ModuleMissingInBuild,
        Derived::Exception,
        Derived::StdlibShadowed,
        Derived::QuotedLine,
        Derived::FlightRecorder,
    ];
}

/// Retries are harmless while a log goes on, and the failure where it ends with them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unfinished<Text = &'static str> {
    /// The signature that a log which ends with these lines is diagnosed as.
    pub becomes: Text,
    /// Matching lines needed.
    pub times: usize,
    /// Lines allowed after the last of them.
    pub lines_after: u64,
    /// Replaces the sentence of the line.
    #[serde(default)]
    pub message: Option<Text>,
}

/// Conditions on other lines of the same source under which a line counts as a failure; otherwise it was
/// recovered from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountsIf<Text = &'static str> {
    /// The capture in which all these lines must agree.
    pub same: Text,
    /// Lines of this signature needed.
    pub times: usize,
    /// Signatures of which each must appear.
    pub with: Vec<Text>,
    /// Signatures of which none may appear.
    pub without: Vec<Text>,
}
