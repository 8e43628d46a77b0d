//! The report on built examples.

use super::*;
use crate::build_log;
use crate::verify::{Item, Status, Verification};
use diagnostic::layout::Layout;

fn layer(by: &str, bytes: u64) -> Layer {
    Layer { by: by.into(), bytes }
}

fn step(name: &str, seconds: f64, cached: bool) -> StepEntry {
    StepEntry { name: name.into(), kind: StepKind::of(name), seconds, cached }
}

fn built() -> BuildReport {
    let item =
        |what: &str, status, message: &str| Item { what: what.into(), status, message: message.into() };
    BuildReport {
        schema: SCHEMA,
        status: "built".into(),
        engine: "Docker 20.10.24".into(),
        builder: Some("BuildKit".into()),
        image: Some(ImageEntry {
            id: "sha256:8b7f".into(),
            tags: vec!["team/train:1.0".into(), "team/train:latest".into()],
            architecture: Some("amd64".into()),
            bytes: 7_900_000_000,
            layers: vec![
                layer(
                    "RUN export SSL_CERT_FILE=/run/ca PIP_CERT=/run/ca && pip install torch==2.9.1",
                    7_200_000_000,
                ),
                layer("", 161_000_000),
                layer("COPY src /src", 4_000),
            ],
        }),
        pushed: vec![PushedEntry { name: "team/train:1.0".into(), digest: "sha256:77".into() }],
        build_seconds: Some(334.2),
        context_bytes: Some(226_000),
        steps: vec![
            step("[internal] load build definition", 0.1, false),
            step("[1/3] FROM lab:base", 0.2, true),
            step(
                "[2/3] RUN --mount=type=cache,target=/root/.cache/pip pip install torch==2.9.1",
                199.0,
                false,
            ),
            step("[3/3] COPY src /src", 0.0, true),
            step("exporting to image", 53.0, false),
        ],
        verification: Some(Verification {
            status: Status::Unknown,
            message: "partly verified in a container: 1 of 2 expectations hold, 1 could not be checked"
                .into(),
            items: vec![
                item("torch", Status::Passed, "2.9.1+cu128"),
                item("import vllm", Status::Unknown, "wants the driver's library"),
            ],
        }),
        notes: vec![
            Note::Warning("Standard support of Debian 12 ended.".into()),
            Note::Info("BuildKit is not here".into()),
        ],
        ..BuildReport::default()
    }
}

fn layout(unicode: bool, verbose: bool) -> Layout {
    Layout { width: 90, unicode, verbose, root: false }
}

fn plain(report: &BuildReport, layout: Layout) -> String {
    anstream::adapter::strip_str(&text::report(report, layout)).to_string()
}

#[test]
fn an_image_for_people() {
    insta::assert_snapshot!(plain(&built(), layout(true, false)));
}

#[test]
fn everything_of_an_image_in_ascii() {
    let text = plain(&built(), layout(false, true));
    assert!(text.is_ascii());
    insta::assert_snapshot!(text);
}

#[test]
fn a_failed_step_for_people() {
    let report = BuildReport {
        failure: Some(FailureEntry::new(
            Phase::Step,
            Some("[2/2] RUN make\nall".into()),
            vec!["cc: no such file".into()],
            "process did not complete successfully: exit code: 2".into(),
            Diagnosis::default(),
        )),
        ..BuildReport::default()
    };
    insta::assert_snapshot!(plain(&report, layout(true, false)));
}

#[test]
fn failed_step_report_explains_the_cause() {
    let lines = vec!["OSError: [Errno 28] No space left on device".to_owned()];
    let message = "process did not complete successfully: exit code: 1";
    let diagnosis = build_log::diagnose(catalog::testing::catalog(), &lines, message);
    let step = Some("[3/4] RUN pip install torch".into());
    let report = BuildReport {
        failure: Some(FailureEntry::new(Phase::Step, step, lines, message.into(), diagnosis)),
        ..BuildReport::default()
    };
    assert!(!report.failure.as_ref().unwrap().causes.is_empty());
    insta::assert_snapshot!(plain(&report, layout(true, false)));
}

#[test]
fn numbers_as_people_write_them() {
    assert_eq!(
        [0, 999, 1000, 226_000, 999_600, 7_900_000_000].map(diagnostic::units::short_size),
        ["0 B", "999 B", "1.0 kB", "226 kB", "1.0 MB", "7.9 GB"]
    );
    assert_eq!(
        [0.04, 9.96, 119.4, 723.0].map(diagnostic::units::time),
        ["0.0 s", "10 s", "119 s", "12 min 3 s"]
    );
}
