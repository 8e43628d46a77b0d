//! One sample of results for the tests of every format.

use crate::chart::{Chart, Point};
use crate::layout::Mark;
use crate::report::{
    Body, Column, NodeRow, Nodes, Outcome, Report, Row, RuleInfo, Run, Section, Step, Summary,
};
use crate::rule::Group;
use crate::{Diagnostic, Edit, Fix, Missing, Position, Severity, Subject, Verdict};

const SYSTEM: Group = Group { id: "system", title: "System" };
const DRIVER: Group = Group { id: "driver", title: "NVIDIA driver" };
const GPU: Group = Group { id: "gpu", title: "GPUs" };
const RDMA: Group = Group { id: "rdma", title: "RDMA" };

fn rule(id: &'static str, group: Group, summary: &'static str) -> RuleInfo {
    RuleInfo {
        id: id.into(),
        group,
        severity: Severity::Error,
        summary: summary.into(),
        explain: "## What it checks\nThe sample.\n".into(),
    }
}

/// An error, a warning, unknowns with one reason and another, a pass, and a group that does not apply.
pub(super) fn report() -> Report {
    let reboot = Fix::needs_reboot("Reboot to load the new module:", &["sudo reboot"]);
    let mismatch = "loaded kernel module is 550.54.14 but libcuda is 550.90.07; new CUDA processes fail \
        until they match";
    let upgrade = Fix::restarts_service(
        "Install a driver branch that gets fixes <soon>:",
        &["sudo apt-get update", "sudo apt-get install nvidia-driver-580"],
    );
    let denied = || Verdict::Unknown(Missing::denied().about("/dev/kmsg"));
    let results = vec![
        Outcome::new(
            rule("clock-not-synchronised", SYSTEM, "a service keeps the clock synchronised"),
            Verdict::Pass,
        ),
        Outcome::new(
            rule("driver-library-mismatch", DRIVER, "module and library are one version"),
            Verdict::error(mismatch, reboot)
                .evidence("loaded module 550.54.14 (/proc/driver/nvidia/version)")
                .or_fix(Fix::manual("Downgrade the driver packages.")),
        ),
        Outcome::new(
            rule("driver-branch-end-of-life", DRIVER, "the driver branch gets fixes"),
            Verdict::warning("branch 550 | ended; 100% of it", upgrade),
        ),
        Outcome::new(rule("xid-errors", GPU, "the kernel logged no Xid"), denied()),
        Outcome::new(rule("retired-pages-pending", GPU, "no page retirement is pending"), denied()),
        Outcome::new(
            rule("row-remap-pending", GPU, "no row remap is pending"),
            Verdict::unknown("`nvidia-smi` did not answer within 2.0 s and was stopped"),
        ),
        Outcome::new(rule("ecc-disabled", GPU, "ECC is on"), Verdict::Pass),
        Outcome::new(
            rule("rdma-port-down", RDMA, "every port is up"),
            Verdict::NotApplicable("no RDMA device".into()),
        ),
    ];
    Report {
        command: "envdoc check",
        about: vec![
            "Ubuntu 22.04.5 LTS · Linux 5.15.0-1063 · x86_64".into(),
            "8 × NVIDIA H100 80GB HBM3 · driver 550.54.14 · CUDA 12.4".into(),
        ],
        properties: vec![("os", "Ubuntu 22.04.5 LTS".into()), ("driver", "550.54.14".into())],
        overview: Vec::new(),
        results,
        sections: Vec::new(),
    }
}

/// Steps of a test, one of them failed, and a section of each kind.
pub(super) fn test() -> Report {
    const TEST: Group = Group { id: "smoke", title: "Smoke test" };
    const COLUMNS: &[Column] = &[Column::number("bytes"), Column::words("correct | all")];
    let step = |observed: &str, verdict: Verdict| Outcome {
        step: Some(Step { seconds: 0.25, observed: observed.into(), mark: None }),
        ..Outcome::new(rule("tcp", TEST, "all pairs connect"), verdict)
    };
    let refused = Diagnostic::error("node2 refuses <22>").subject(Subject::node("node2"));
    let rows = vec![
        vec!["8".to_owned(), "yes".to_owned()].into(),
        Row { cells: vec!["1024".to_owned(), "no | 3".to_owned()], mark: Some((Mark::Warning, "slow")) },
    ];
    let point = |x: f64| Point { x, y: x, x_label: format!("{x} B"), label: format!("{x} B: <fast>") };
    let chart = Chart {
        title: "Plot".into(),
        points: vec![point(8.0), point(64.0)],
        y_ticks: vec![(1.0, "1 B/s".into()), (100.0, "100 B/s".into())],
        ..Chart::default()
    };
    let restart = Fix::restarts_service("Restart the container, on node2:", &["docker restart node2"]);
    let sections = [
        ("Bandwidth", Body::Table { columns: COLUMNS, rows }),
        ("Log context", Body::Lines(vec!["a <b> `c`".into(), "```".into()])),
        ("Remarks", Body::List(vec!["one & <two>".into()])),
        ("What to do", Body::Fixes(vec![restart, Fix::manual("Replace the <cable>.")])),
        ("Plot", Body::Chart(Box::new(chart))),
        ("Nothing", Body::List(Vec::new())),
    ];
    Report {
        command: "envdoc smoke",
        about: vec!["2 ranks over tcp".into()],
        properties: vec![("ranks", "2".into())],
        overview: Vec::new(),
        results: vec![step("2 connections", Verdict::Pass), step("node2 refuses <22>", refused.into())],
        sections: sections.into_iter().filter_map(|(heading, body)| Section::new(heading, body)).collect(),
    }
}

/// Where and when the samples were made.
pub(super) fn run() -> Run {
    Run {
        time: "2026-11-27 10:45:12 UTC".into(),
        host: "gpu1".into(),
        command_line: "envdoc check --format html".into(),
    }
}

/// Three nodes: two with one finding, one that could not be reached; and a finding between them.
pub(super) fn fleet() -> Report {
    const BETWEEN: Group = Group { id: "fleet", title: "Between the nodes" };
    let found = |node: &str| {
        let verdict = Verdict::from(
            Diagnostic::error("the <driver> is gone").evidence(format!("{node}: no /dev/nvidia0")),
        );
        Outcome::new(rule("driver-gone", DRIVER, "the driver is loaded"), verdict).on(Subject::node(node))
    };
    let pass = |node: &str| {
        Outcome::new(rule("ecc-disabled", GPU, "ECC is on"), Verdict::Pass).on(Subject::node(node))
    };
    let unknown = |id: &'static str| {
        let outcome = Outcome::new(rule(id, GPU, "nothing is wrong"), Verdict::unknown("no connection"));
        outcome.on(Subject::node("node3"))
    };
    let between = Outcome::new(
        rule("driver-differs", BETWEEN, "all nodes have one driver"),
        Diagnostic::warning("two drivers").into(),
    );
    let results =
        vec![between, found("node1"), pass("node1"), found("node2"), unknown("a-gpu"), unknown("b-gpu")];
    Report {
        command: "envdoc cluster check",
        about: vec!["3 nodes: 2 inspected, 1 unreachable".into()],
        properties: Vec::new(),
        overview: Section::new("Nodes", Body::Nodes(nodes())).into_iter().collect(),
        results,
        sections: Vec::new(),
    }
}

fn nodes() -> Nodes {
    let row = |name: &str, error: usize, unknown: usize| NodeRow {
        name: name.into(),
        detail: format!("ssh://{name}"),
        all: Summary { error, unknown, ..Summary::default() },
        groups: vec![Summary { error, pass: 3, ..Summary::default() }],
    };
    Nodes {
        groups: vec![DRIVER],
        rows: vec![row("node1", 1, 0), row("node2", 1, 0), row("node3", 0, 2)],
        passed: vec![SYSTEM],
        not_applicable: Vec::new(),
    }
}

/// Findings in files.
pub(super) fn files() -> Report {
    const DOCKERFILE: Group = Group { id: "dockerfile", title: "Dockerfiles" };
    let edit = Edit {
        file: "a b/Dockerfile".into(),
        start: Position { byte: 5, line: 1, column: 6 },
        end: Position { byte: 23, line: 1, column: 24 },
        text: "nvidia/cuda:12.4.1-base-ubuntu22.04".into(),
    };
    let tag = Diagnostic::error("nvidia/cuda:latest does not exist; NVIDIA publishes no `latest` tag")
        .subject(Subject { column: Some(6), ..Subject::line("a b/Dockerfile", 1) })
        .fix(Fix::safe("Name a tag that exists: nvidia/cuda:12.4.1-base-ubuntu22.04.", &[]).edit(edit));
    let note =
        Diagnostic::note("the apt cache stays in the layer").subject(Subject::line("a b/Dockerfile", 7));
    Report {
        command: "envdoc lint",
        about: Vec::new(),
        properties: Vec::new(),
        overview: Vec::new(),
        results: vec![
            Outcome::new(rule("image-tag-missing", DOCKERFILE, "every tag exists"), tag.into()),
            Outcome::new(rule("apt-cache-kept", DOCKERFILE, "no package cache is in a layer"), note.into()),
        ],
        sections: Vec::new(),
    }
}
