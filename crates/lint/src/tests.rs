//! Every rule: its texts are whole, its examples do what they say.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use super::*;
use checks::CHECKS;
use facts::{Expected, Facts, gather};
use host::snapshot::Snapshot;

/// The facts of a recorded machine of tests/servers.
fn facts(name: &str) -> Facts {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/servers").join(name);
    gather::recorded(
        &*Snapshot::open(&path).unwrap().host(),
        Expected::default(),
        catalog::testing::catalog(),
    )
}

fn file(example: &Example) -> File {
    let kind = recognize::kind_of_name(example.name).or_else(|| recognize::kind_of_text(example.text));
    let detected = match detect::detect(example.name, example.text) {
        detect::Detected::Kind(kind) => Some(kind),
        detect::Detected::Unchecked(_) => None,
    };
    // A broken file tells less of itself.
    let kind = kind.or(detected).unwrap_or(Kind::DeepspeedConfig);
    let mut file = File::new(catalog::testing::catalog(), example.name, example.text, kind);
    if let Some((_, machine)) = example.companions.iter().find(|(name, _)| *name == "server.json") {
        file.facts = Some(Rc::new(facts(machine)));
        return file;
    }
    if let Some((_, names)) = example.companions.iter().find(|(name, _)| *name == "names") {
        let names = names.lines().filter_map(|line| line.split_once(' '));
        file.names = names.map(|(name, known)| (name.to_owned(), known == "yes")).collect();
        return file;
    }
    let companions = example.companions.iter();
    let is_over = matches!(
        kind,
        Kind::AccelerateConfig
            | Kind::DeepspeedConfig
            | Kind::Hostfile
            | Kind::Python
            | Kind::Kubernetes
            | Kind::Shell
            | Kind::DaemonJson
            | Kind::ToolkitConfig
            | Kind::Sshd
            | Kind::NcclConf
            | Kind::Limits
            | Kind::Environment
    ) || kind == Kind::Compose
        && example.companions.iter().all(|(name, _)| name.contains(".y"));
    if is_over {
        let over = companions.map(|(name, text)| Over::new(*name, *text));
        file.over = over.collect();
        return file;
    }
    let jobs = example.companions.iter().filter(|(name, _)| kind == Kind::Dockerfile && asks_for_gpus(name));
    file.over = jobs.map(|(name, text)| Over::new(*name, *text)).collect();
    let text = |text: &str| (text != rule::MISSING).then(|| text.to_owned());
    file.context = companions.map(|(name, content)| ((*name).to_owned(), text(content))).collect();
    file
}

/// Whether the name of a file next to a Dockerfile is that of a manifest or a batch script.
fn asks_for_gpus(name: &str) -> bool {
    [".yaml", ".sbatch"].iter().any(|end| name.ends_with(end))
}

fn found(rule: &'static Rule, example: &Example) -> Vec<Finding> {
    findings(&[rule], example)
}

fn findings(rules: &[&'static Rule], example: &Example) -> Vec<Finding> {
    if example.companions.iter().any(|(name, _)| *name == "named") {
        let name = example.name.to_owned();
        return match detect::detect(example.name, example.text) {
            detect::Detected::Kind(_) => lint(rules, CHECKS, &file(example)),
            detect::Detected::Unchecked(why) => skipped(rules, &Skipped { name, why, named: true }),
        };
    }
    match example.companions.iter().find(|(name, _)| *name == "unreadable") {
        Some((_, why)) => {
            let (name, why) = (example.name.to_owned(), (*why).to_owned());
            unreadable(rules, &Unreadable { name, why, directory: false })
        }
        None => lint(rules, CHECKS, &file(example)),
    }
}

#[test]
fn every_file_is_in_the_list_under_its_own_name() {
    for subject in Subject::ALL {
        let dir = format!("{}/src/{}", env!("CARGO_MANIFEST_DIR"), subject.id());
        let ids: BTreeSet<String> =
            RULES.iter().filter(|rule| rule.subject() == *subject).map(|rule| rule.id.to_owned()).collect();
        for extension in ["rs", "md"] {
            let files = stems(&dir, extension);
            assert_eq!(
                files,
                ids,
                "*.{extension} of src/{} on the left, ids of RULES on the right",
                subject.id()
            );
        }
    }
    let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(ids.len(), RULES.len(), "an id stands twice");
    let taken = CHECKS.iter().find(|check| ids.contains(check.id));
    assert!(taken.is_none(), "a check has the id of a rule: {taken:?}");
}

/// The rule ids that the files of a folder with this extension are named after.
fn stems(dir: &str, extension: &str) -> BTreeSet<String> {
    #[expect(clippy::disallowed_methods, reason = "the test reads the source tree")]
    let entries = std::fs::read_dir(dir).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| path.file_stem().unwrap().to_string_lossy().replace('_', "-"))
        .filter(|name| name != "mod")
        .collect()
}

#[test]
fn every_rule_is_whole() {
    for rule in RULES {
        let id = rule.id;
        assert!(id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{id}");
        assert!(
            !rule.summary.is_empty() && !rule.summary.ends_with('.') && rule.summary.len() <= 90,
            "{id}: summary"
        );
        let mut at = 0;
        for heading in ["## What it finds\n", "## Why it matters\n", "## How to fix it\n", "## Sources\n"] {
            let found = rule.explain[at..].find(heading);
            at += found.unwrap_or_else(|| panic!("{id}: {heading:?} is missing or out of order"));
        }
        assert!(
            !rule.explain.lines().any(|line| line.chars().count() > 110),
            "{id}: a line of explain is too long"
        );
        assert!(rule.explain.ends_with('\n') && rule.explain.contains("\n- "), "{id}: sources are a list");
        assert!(!rule.fires.is_empty() && !rule.silent.is_empty(), "{id}: examples");
    }
}

#[test]
fn every_example_does_what_it_says() {
    let wrong: Vec<String> = RULES.iter().flat_map(|rule| wrong_examples(rule)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the examples of a rule do otherwise.
fn wrong_examples(rule: &'static Rule) -> Vec<String> {
    let mut wrong = Vec::new();
    for example in rule.fires {
        let found = found(rule, example);
        if found.is_empty() {
            wrong.push(format!("{} is silent on\n{}", rule.id, example.text));
        }
        for one in &found {
            let companions = example.companions.iter().find(|(name, _)| one.file == *name);
            let lines = companions.map_or(example.text, |(_, text)| text).lines().count();
            let number = one.found.line;
            if !(1..=lines).contains(&number) {
                wrong.push(format!("{}: line {number} of\n{}", rule.id, example.text));
            }
            if one.found.severity > rule.severity {
                wrong.push(format!("{}: worse than it promises: {:?}", rule.id, one.found));
            }
            let message = &one.found.message;
            if message.is_empty() || message.ends_with('.') || message.contains('\n') {
                wrong.push(format!("{}: {message:?}", rule.id));
            }
            // An imperative, not the bare text to write.
            for fix in &one.found.fixes {
                if !fix.title.starts_with(|first: char| first.is_ascii_uppercase()) {
                    wrong.push(format!("{}: the fix {fix:?} begins with no verb", rule.id));
                }
                if fix.commands.is_empty() == fix.title.ends_with(':') {
                    wrong.push(format!("{}: {fix:?}: a colon is before commands only", rule.id));
                }
            }
        }
    }
    let worst = rule.fires.iter().flat_map(|one| found(rule, one)).map(|one| one.found.severity).max();
    if worst != Some(rule.severity) {
        wrong.push(format!("{}: no example shows its worst", rule.id));
    }
    for example in rule.silent {
        for one in found(rule, example) {
            wrong.push(format!("{} finds {:?} in\n{}", rule.id, one.found, example.text));
        }
    }
    wrong
}

/// Rules with findings about a whole file or a line without a name in it.
const ABOUT_NO_NAME: &[&str] = &[
    "helm-template-invalid",
    "compose-unreadable",
    "manifest-unreadable",
    "deepspeed-config-not-json",
    "deepspeed-config-unreadable",
    "deepspeed-env-invalid",
    "hostfile-invalid",
];

/// A finding in a file of keys or of variables says which one it is about.
#[test]
fn findings_about_keys_and_variables_have_names() {
    let subjects =
        [Subject::Compose, Subject::Variables, Subject::Accelerate, Subject::Deepspeed, Subject::Kubernetes];
    let rules = RULES.iter().filter(|rule| subjects.contains(&rule.subject()));
    let mut nameless = BTreeSet::new();
    for rule in rules.filter(|rule| !ABOUT_NO_NAME.contains(&rule.id)) {
        for example in rule.fires {
            // What a script starts has no keys in a file.
            let script = matches!(file(example).kind, Kind::Shell | Kind::Profile);
            let compose = script && rule.subject() == Subject::Compose;
            let unnamed = |one: &Finding| one.found.name.is_none() && one.found.file.is_none() && !compose;
            nameless.extend(found(rule, example).iter().filter(|one| unnamed(one)).map(|_| rule.id));
        }
    }
    assert!(nameless.is_empty(), "{nameless:?}");
}

/// The name is the thing itself, as its program writes it.
#[test]
fn names_are_those_of_the_programs() {
    let name = |rule: &str, file: File| {
        let rule = RULES.iter().find(|one| one.id == rule).unwrap();
        let found = lint(&[rule], CHECKS, &file);
        found.first().map_or_else(|| panic!("{} finds nothing", rule.id), |one| one.found.name.clone())
    };
    let file = |name: &str, text: &str, kind| File::new(catalog::testing::catalog(), name, text, kind);
    let compose = |text: &str| file("compose.yaml", text, Kind::Compose);
    let named = |rule: &str, file: File, expected: &str| {
        assert_eq!(name(rule, file).as_deref(), Some(expected), "{rule}");
    };
    let text = "services:\n  train:\n    image: b\n    shm_size: 8 gigabytes\n";
    named("compose-value-invalid", compose(text), "services.train.shm_size");
    let text = "services:\n  train:\n    image: b\n    shm-size: 8gb\n";
    named("compose-key-refused", compose(text), "services.train.shm-size");
    let text = "NCCL_DEBUG=WARN\nNCCL_IB_DISABLE=yes\n";
    named("variable-value-not-taken", file("train.env", text, Kind::Environment), "NCCL_IB_DISABLE");
    let text = "FROM python:3.12\nRUN pip install torch==2.6.1\n";
    named("torch-release-missing", file("Dockerfile", text, Kind::Dockerfile), "torch");
    let text = "FROM nvidia/cuda:latest\n";
    named("base-image-missing", file("Dockerfile", text, Kind::Dockerfile), "nvidia/cuda:latest");
    let text = "{\n  \"fp16\": {\n    \"enabled\": \"true\"\n  }\n}\n";
    named("deepspeed-value-type", file("ds_config.json", text, Kind::DeepspeedConfig), "fp16.enabled");
    let text = "apiVersion: v1\nkind: pod\nmetadata: {name: a}\n";
    named("api-version-wrong", file("p.yaml", text, Kind::Kubernetes), "kind");
    let text = "PermitRootLogin yes\n";
    named("sshd-lets-anybody-in", file("sshd_config", text, Kind::Sshd), "PermitRootLogin");
}

/// A fix that is a command has it apart from its title; the certain edit of a file is of class safe.
#[test]
fn commands_and_edits_are_fields_of_fixes() {
    use diagnostic::FixClass;
    let mut commands = BTreeSet::new();
    for rule in RULES {
        for one in rule.fires.iter().flat_map(|example| found(rule, example)) {
            for fix in &one.found.fixes {
                let runs = ["Run `", "run `"].iter().any(|word| fix.title.contains(word));
                assert!(!runs, "{}: {fix:?}", rule.id);
                assert!(fix.edits.is_empty() || fix.class != FixClass::Manual, "{}: {fix:?}", rule.id);
                commands.extend((!fix.commands.is_empty()).then_some(rule.id));
            }
        }
    }
    for rule in ["pins-contradict", "variable-not-forwarded", "python-not-parsed", "daemon-value-refused"] {
        assert!(commands.contains(rule), "{rule} has no command: {commands:?}");
    }
}

/// An example is of one fault: no other rule calls it an error.
#[test]
fn no_other_rule_calls_an_example_an_error() {
    let mut wrong = Vec::new();
    for rule in RULES {
        for example in rule.fires.iter().chain(rule.silent) {
            let others = findings(RULES, example).into_iter().filter(|one| one.rule.id != rule.id);
            let errors = others.filter(|one| one.found.severity >= Severity::Error);
            wrong.extend(errors.map(|one| {
                format!(
                    "{}: {} {:?} \
                     in\n{}",
                    rule.id, one.rule.id, one.found, example.text
                )
            }));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A comment in a list of packages leaves a rule out for its line.
#[test]
fn comments_in_lists_of_packages() {
    let ids = |name: &'static str, text: &'static str| -> Vec<(usize, &str)> {
        let found = findings(RULES, &Example { name, text, companions: &[] });
        found.iter().map(|one| (one.found.line, one.rule.id)).collect()
    };
    let text = "numpy==2.0.7  # envdoc: ignore=package-release-missing\ntransformers==4.99\n";
    assert_eq!(ids("requirements.txt", text), [(2, "package-release-missing")]);
    assert_eq!(ids("pyproject.toml", "[build-system]\nrequires = [\"setuptools\"]\n"), []);
    assert_eq!(ids("environment.yml", "dependencies:\n  - python=3.12\n"), []);
    let twice = "numpy==1.26.4\nnumpy==2.0.2\n";
    assert_eq!(ids("requirements.txt", twice), [(2, "packages-do-not-resolve")]);
}

/// Two rules may know of an option of the launcher behind the script: that of the program only where it sees
/// the start.
#[test]
fn an_option_behind_a_script_is_reported_once() {
    let program = "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument(\"--lr\")\n\
                   args = p.parse_args()\n";
    let ids = |script: &str, files: &[Kind]| {
        let texts = [("run.sh", script, Kind::Shell), ("t.py", program, Kind::Python)];
        let over: Vec<Over> = texts.iter().map(|(name, text, _)| Over::new(*name, *text)).collect();
        let texts = texts.iter().filter(|(.., kind)| files.contains(kind));
        let files: Vec<File> = texts
            .map(|(name, text, kind)| {
                let over = over.iter().filter(|one| one.name != *name).cloned().collect();
                File { over, ..File::new(catalog::testing::catalog(), *name, *text, *kind) }
            })
            .collect();
        lint_all(RULES, CHECKS, &files).iter().map(|one| one.rule.id).collect::<Vec<_>>()
    };
    let (both, behind) = ([Kind::Shell, Kind::Python], "launch-options-behind-script");
    let start = "torchrun t.py --nproc_per_node=8 --lr 1";
    assert_eq!(ids(&format!("{start}\n"), &both), ["script-option-mismatch"]);
    assert_eq!(ids(&format!("{start}\n"), &[Kind::Shell]), [behind]);
    for hidden in [
        format!("ssh node2 \"{start}\"\n"),
        format!("bash -c \"{start}\"\n"),
        "S=t.py\ntorchrun $S --nproc_per_node=8 --lr 1\n".to_owned(),
        "A=\"--nproc_per_node=8 --lr 1\"\ntorchrun t.py $A\n".to_owned(),
    ] {
        assert!(ids(&hidden, &both).contains(&behind), "{hidden}");
    }
}

/// Each command of CMake read the project again.
#[test]
fn a_long_project_is_not_read_for_each_command() {
    let image = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04 AS build\nWORKDIR /s\nCOPY . .\n";
    let text =
        format!("{image}{}FROM ubuntu:22.04\nCOPY --from=build /s/a /a\n", "RUN cmake -B b\n".repeat(400));
    let project = "set(A b c d)\n".repeat(50_000) + "project(a LANGUAGES CXX)\n";
    let context = [("CMakeLists.txt".to_owned(), Some(project))].into();
    let file =
        File { context, ..File::new(catalog::testing::catalog(), "Dockerfile", text, Kind::Dockerfile) };
    let rules = [&dockerfile::nvcc_missing::RULE, &dockerfile::cuda_library_left_behind::RULE];
    assert_eq!(lint(&rules, CHECKS, &file).len(), 0);
}

/// Each start read the program that it names.
#[test]
fn a_long_program_is_not_read_for_each_start() {
    let program = "x = f(1)\n".repeat(24_000);
    let text: String = (0..300).map(|at| format!("torchrun t.py --nproc_per_node=8 --lr {at}\n")).collect();
    let over = vec![Over::new("t.py", program.as_str())];
    let file = File { over, ..File::new(catalog::testing::catalog(), "run.sh", text, Kind::Shell) };
    let rule = &script::launch_options_behind_script::RULE;
    assert_eq!(lint(&[rule], CHECKS, &file).len(), 300);
}

/// Each command searched its whole line, each assignment copied all before it, each blank line searched the
/// rest: hours for files of some MiB.
#[test]
fn long_scripts_are_read_once() {
    let lint_script = |text: String| {
        let file = File::new(catalog::testing::catalog(), "run.sh", text, Kind::Shell);
        lint(RULES, CHECKS, &file).iter().map(|one| one.rule.id).collect::<Vec<_>>()
    };
    let assignments: String = (0..3000).map(|at| format!("A{at}=b{at}; torchrun x.py; ")).collect();
    let texts = [
        "if true; then x; fi; ".repeat(6000),
        "! [ ".repeat(20_000),
        "echo ${A ".repeat(20_000),
        "\n".repeat(100_000) + "x",
        assignments,
    ];
    for text in texts {
        assert_eq!(lint_script(format!("#!/bin/sh\n{text}\n")), [""; 0]);
    }
}
/// A file with the edits of one rule's findings, until there are none.
fn fixed(rule: &'static Rule, file: &File) -> String {
    let mut files = [file.clone()];
    fix::fix(&[rule], CHECKS, &mut files);
    let [File { text, .. }] = files;
    text
}

fn with_text(file: &File, text: impl Into<String>) -> File {
    File { text: text.into(), ..file.clone() }
}

/// The examples of a rule whose findings have edits in the file itself.
fn fixable(rule: &'static Rule) -> Vec<File> {
    let linted = |example: &&Example| {
        !example.companions.iter().any(|(name, _)| matches!(*name, "named" | "unreadable"))
    };
    let files = rule.fires.iter().filter(linted).map(file);
    files.filter(|file| lint(&[rule], CHECKS, file).iter().any(|one| one.found.has_edits())).collect()
}

/// What `lint --fix` writes has none of the findings that it fixes, and no error that was not there.
#[test]
fn fixes_remove_their_findings_and_nothing_else() {
    let mut wrong = Vec::new();
    for rule in RULES.iter().copied() {
        for file in fixable(rule) {
            let edited = lint(&[rule], CHECKS, &file).into_iter().filter(|one| one.found.has_edits()).count();
            let before = lint(&[rule], CHECKS, &file).len();
            let after = with_text(&file, fixed(rule, &file));
            let ids = |file: &File| -> BTreeSet<&str> {
                let found =
                    lint(RULES, CHECKS, file).into_iter().filter(|one| one.found.severity == Severity::Error);
                found.map(|one| one.rule.id).collect()
            };
            let added: Vec<&str> = ids(&after).difference(&ids(&file)).copied().collect();
            if lint(&[rule], CHECKS, &after).len() > before - edited || !added.is_empty() {
                wrong.push(format!("{}: {added:?}\n{}\n->\n{}", rule.id, file.text, after.text));
            }
            if fixed(rule, &after) != after.text {
                wrong.push(format!("{}: the second run changes\n{}", rule.id, after.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Line ends stay as they are, and so does a last line without one.
#[test]
fn fixes_keep_line_ends() {
    for rule in RULES.iter().copied() {
        for file in fixable(rule) {
            let after = fixed(rule, &file);
            let windows = with_text(&file, file.text.replace('\n', "\r\n"));
            let edits = lint(&[rule], CHECKS, &windows).iter().any(|one| one.found.has_edits());
            let expected = if edits { after.replace('\n', "\r\n") } else { windows.text.clone() };
            assert_eq!(fixed(rule, &windows), expected, "{}: CRLF", rule.id);
            let open = with_text(&file, file.text.trim_end_matches('\n'));
            assert_eq!(fixed(rule, &open), after.trim_end_matches('\n'), "{}: no line end", rule.id);
        }
    }
}

/// Rules whose fix is certain in at least one of their examples.
#[test]
fn rules_with_certain_fixes() {
    let ids: Vec<&str> =
        RULES.iter().copied().filter(|rule| !fixable(rule).is_empty()).map(|rule| rule.id).collect();
    let expected = [
        "architecture-unknown-to-nvcc",
        "apt-without-yes",
        "command-not-json",
        "compose-version-obsolete",
        "compose-key-refused",
        "compose-value-invalid",
        "environment-entry-quoted",
        "number-loses-digits",
        "variable-value-not-taken",
        "allocator-option-invalid",
        "env-file-line-misread",
        "nccl-conf-misread",
        "launch-option-invalid",
        "continuation-broken",
        "sbatch-directive-invalid",
        "container-image-registry-lost",
        "accelerate-config-refused",
        "deepspeed-key-unknown",
        "deepspeed-value-type",
        "requirements-line-invalid",
        "daemon-json-refused",
        "toolkit-key-invalid",
        "sshd-config-refused",
        "manifest-key-invalid",
        "api-version-wrong",
        "quantity-invalid",
    ];
    let (ids, expected): (BTreeSet<&str>, BTreeSet<&str>) = (ids.into_iter().collect(), expected.into());
    assert_eq!(ids, expected);
}

/// Edits that overlap are made one after the other.
#[test]
fn overlapping_edits_take_several_passes() {
    let text = "A=b\nPYTORCH_CUDA_ALLOC_CONF=expandable_segment:true,max_split_size_mb=512\n";
    let mut files = [File::new(catalog::testing::catalog(), "train.env", text, Kind::Environment)];
    let fixes = fix::fix(RULES, CHECKS, &mut files);
    let after = "A=b\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:512\n";
    assert_eq!((files[0].text.as_str(), fixes.files.len()), (after, 1));
    assert_eq!((fixes.files[0].change.before.as_str(), fixes.files[0].fixed), (text, 3));
    assert!(fixes.left.is_empty(), "{:?}", fixes.left);
    let diff = "--- train.env\n+++ train.env\n@@ -1,2 +1,2 @@\n A=b\n\
        -PYTORCH_CUDA_ALLOC_CONF=expandable_segment:true,max_split_size_mb=512\n\
        +PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:512\n";
    assert_eq!(fixes.files[0].change.diff(), diff);
}

#[test]
fn other_files_are_named_from_the_one_that_is_judged() {
    let of = |name: &str, script: &str| {
        let text = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmachine_rank: 0\n\
                    main_process_ip: a\nnum_machines: 2\nnum_processes: 16\n";
        let mut file = File::new(catalog::testing::catalog(), name, text, Kind::AccelerateConfig);
        file.over = vec![Over::new(script, "srun accelerate launch --config_file c.yaml t.py\n")];
        let rule = RULES.iter().find(|rule| rule.id == "accelerate-machines-do-not-meet").unwrap();
        let found = lint(&[*rule], CHECKS, &file).remove(0).found;
        with_short_names(Found { message: format!("{script} starts"), ..found }, &file).message
    };
    assert_eq!(of("/srv/job/c.yaml", "/srv/job/run.sh"), "run.sh starts");
    assert_eq!(of("/srv/job/conf/c.yaml", "/srv/job/run.sh"), "../run.sh starts");
    assert_eq!(of("conf/c.yaml", "run.sh"), "run.sh starts");
    assert_eq!(of("/c.yaml", "/srv/run.sh"), "/srv/run.sh starts");
}
