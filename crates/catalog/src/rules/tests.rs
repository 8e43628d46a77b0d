//! Every embedded file keeps the rules, and every rule can be broken.

use std::borrow::Cow;

use super::super::embedded;
use super::broken;

fn others(name: &str) -> Option<Cow<'static, str>> {
    embedded::file_named(name).map(|file| Cow::Borrowed(file.text))
}

const RELEASES: &str = "- releases: {\"1.26.4\": 2024-02-05}\n";

/// Files that keep every rule, before they are broken.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "nccl.yaml",
        "checked: 2026-11-21\nsources:\n  tags: its git tags\nrows:\n\
         - {version: \"2.10.3\", source: [tags]}\n\
         - {version: \"2.11.4\", source: [tags]}\n",
    ),
    (
        "packages/numpy.yaml",
        "name: numpy\nsummary: arrays\nchecked: 2026-11-21\nsample: true\nrows:\n\
         - releases: {\"1.26.4\": 2024-02-05}\n  source: [PyPI]\n",
    ),
];

#[test]
fn the_examples_keep_every_rule() {
    for (name, text) in EXAMPLES {
        assert_eq!(broken(name, text, &others), [], "{name}");
    }
}

#[test]
fn every_file_keeps_the_rules() {
    let broken: Vec<String> = embedded::all()
        .flat_map(|file| broken(&file.name, file.text, &others))
        .map(|broken| broken.to_string())
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Every rule, and a change of a file that breaks it.
#[test]
fn every_rule_can_be_broken() {
    let cases: &[(&str, &str, &str, &str)] = &[
        ("nccl.yaml", "rows:\n", "rowz:\n", "nccl.yaml: type: "),
        ("nccl.yaml", "- {version: \"2.10.3\",", "- {version: \"2.10.3\", colour: red,", "nccl.yaml: type: "),
        (
            "nccl.yaml",
            "- {version: \"2.10.3\",",
            "- {version: \"2.10.3\", released: 2021-02-30,",
            "nccl.yaml 2.10.3: day: released",
        ),
        (
            "nccl.yaml",
            "- {version: \"2.10.3\",",
            "- {version: \"2.10.3\", released: ~,",
            "nccl.yaml 2.10.3: null: released",
        ),
        (
            "nccl.yaml",
            "- {version: \"2.10.3\",",
            "- {version: \"2.10.3\", fixed_in: unknown,",
            "nccl.yaml 2.10.3: placeholder: ",
        ),
        (
            "nccl.yaml",
            "- {version: \"2.10.3\",",
            "- {version: \"2.99.3\",",
            "nccl.yaml 2.11.4: order: it stands after 2.99.3",
        ),
        ("nccl.yaml", "- {version: \"2.10.3\",", "- {version: \"2.11.4\",", "nccl.yaml 2.11.4: twice: "),
        ("nccl.yaml", "- {version: \"2.10.3\",", "- {version: \"2.x\",", "nccl.yaml 2.x: version: "),
        (
            "nccl.yaml",
            "- {version: \"2.10.3\",",
            "- {version: \"2.10.3\", checked: today,",
            "nccl.yaml 2.10.3: checked: ",
        ),
        (
            "nccl.yaml",
            "sources:\n",
            "sources:\n  other: nobody\n",
            "nccl.yaml: sources: other is used by no row",
        ),
        ("torch.yaml", "cuda: \"12.4\"", "cuda: \"12.99\"", "no CUDA 12.99"),
        ("torch.yaml", "nccl: \"2.21.5\"", "nccl: \"2.21.99\"", "no NCCL 2.21.99"),
        ("torch.yaml", "\"8.0\",", "\"8.4\",", "no compute capability 8.4"),
        ("torch.yaml", "pypi_build: cu124", "pypi_build: cu199", "is not among its builds"),
        (
            "torch.yaml",
            "requires_python: \">=3.8.0\"",
            "requires_python: \"3.11 or so\"",
            "torch.yaml 2.5.1: specifier: ",
        ),
        (
            "deepspeed.yaml",
            "cuda_minors: \"0.9.3\"",
            "cuda_minors: \"0.9.9\"",
            "no list of CUDA minors since 0.9.9",
        ),
        ("variables.yaml", "owner: cuda", "owner: cudda", "rows[0].owner: unknown variant `cudda`"),
        ("variables.yaml", "type: path", "type: paths", "rows[0].type: unknown variant `paths`"),
        ("cuda.yaml", "driver_min: \"550.54.14\"", "driver_min: \"551.54.14\"", "no branch 551"),
        ("cuda.yaml", " tegra: true,", "", "no architecture is marked as Tegra"),
        ("packages/numpy.yaml", RELEASES, "- releases: {\"one\": 2024-02-05}\n", "numpy.yaml one: version: "),
        ("packages/numpy.yaml", RELEASES, "- releases: {\"1.26.4\": soon}\n", "numpy.yaml 1.26.4: day: "),
        ("packages/numpy.yaml", RELEASES, "- releases: {}\n", "numpy.yaml: key: "),
        (
            "packages/numpy.yaml",
            RELEASES,
            "- releases: {\"1.26.4\": 2024-02-05}\n  requires: {left-pad: \"\"}\n",
            "requires left-pad",
        ),
        ("packages/numpy.yaml", "name: numpy", "name: numpie", "its name is not numpy"),
    ];
    for (name, good, bad, expected) in cases {
        let example = EXAMPLES.iter().find(|(file, _)| file == name).map(|(_, text)| *text);
        let text = example.unwrap_or_else(|| embedded::file_named(name).unwrap().text);
        assert!(text.contains(good), "{name} has no {good:?}");
        let broken = broken(name, &text.replace(good, bad), &others);
        let broken: Vec<String> = broken.iter().map(ToString::to_string).collect();
        assert!(
            broken.iter().any(|one| one.contains(expected)),
            "{name} with {bad:?}: {expected:?} is not in {broken:#?}"
        );
    }
    let none = broken("colours.yaml", "", &others);
    assert_eq!(none[0].to_string(), "colours.yaml: name: the catalog has no file of this name");
}
