//! A compute capability that the image's nvcc cannot compile for.

use std::collections::BTreeSet;

use crate::read::dockerfile::stage::{settings, unquoted};
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::rule::{Change, Found, Judge, Rule, Severity, dockerfile};
use catalog::Catalog;
use catalog::images::Flavour;
use catalog::version;

pub(crate) const RULE: Rule = Rule {
    id: "architecture-unknown-to-nvcc",
    severity: Severity::Error,
    summary: "nvcc of the image compiles for every listed compute capability",
    explain: include_str!("architecture_unknown_to_nvcc.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM nvidia/cuda:11.7.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=\"8.0;9.0\"\n"),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN cmake -B b \
             -DCMAKE_CUDA_ARCHITECTURES=\"90;100\" . && make\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:13.0.1-devel-ubuntu22.04\nRUN nvcc -gencode arch=compute_70,code=sm_70 x.cu\n",
        ),
        dockerfile("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=sm_90\n"),
    ],
    silent: &[
        dockerfile(
            "FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=\"7.0 8.0 8.6 9.0+PTX\"\n",
        ),
        dockerfile("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV TORCH_CUDA_ARCH_LIST=\"Ampere;Hopper\"\n"),
        dockerfile(
            "FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\nRUN cmake -DCMAKE_CUDA_ARCHITECTURES=90a-real .\n\
             ENV TORCH_CUDA_ARCH_LIST=9.0a;10.0a\n",
        ),
        dockerfile("FROM example/base:1\nENV TORCH_CUDA_ARCH_LIST=99.0\n"),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN cmake -DCMAKE_CUDA_ARCHITECTURES=native .\n",
        ),
    ],
};

/// Names that PyTorch takes in place of numbers.
const NAMES: &[&str] = &[
    "Kepler",
    "Kepler+Tesla",
    "Maxwell",
    "Maxwell+Tegra",
    "Pascal",
    "Volta",
    "Turing",
    "Ampere",
    "Ada",
    "Hopper",
    "Blackwell",
    "Blackwell+Tegra",
    "Common",
    "All",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().flat_map(|stage| of_stage(file.catalog, stage)).collect()
}

fn of_stage(catalog: &'static Catalog, stage: &Stage) -> Vec<Found> {
    let image = stage.end.image.filter(|image| image.flavour == Flavour::Devel && !stage.end.toolkit);
    let Some(cuda) = image.and_then(|image| image.cuda.as_deref()) else { return Vec::new() };
    let (mut found, mut named) = (Vec::new(), BTreeSet::new());
    let mut check = |line: usize, written: &str, capability: Option<(u32, u32)>| {
        let what = match capability {
            Some(capability) => unknown(catalog, cuda, capability),
            None => Some(format!("{written} is not a compute capability; write it like 9.0")),
        };
        found.extend(what.filter(|_| named.insert(written.to_owned())).map(|message| {
            finding(line, message, written, decimal(written).filter(|_| capability.is_none()))
        }));
    };
    for one in stage.instructions.iter().filter(|one| matches!(one.keyword.as_str(), "ENV" | "ARG")) {
        for (name, value) in settings(&one.text.text) {
            let value = unquoted(&value.unwrap_or_default());
            if !value.contains('$') && name == "TORCH_CUDA_ARCH_LIST" {
                torch_list(&value).into_iter().for_each(|(word, number)| check(one.line, &word, number));
            }
        }
    }
    for run in &stage.runs {
        let command = &run.command;
        let sets = command.sets.iter().filter(|(name, word)| name == "TORCH_CUDA_ARCH_LIST" && word.known);
        for (word, number) in sets.flat_map(|(_, word)| torch_list(&word.text)) {
            check(command.line, &word, number);
        }
        for word in command.words.iter().filter(|word| word.known) {
            for number in compiled_for(&word.text) {
                check(word.line, &format!("{}.{}", number.0, number.1), Some(number));
            }
        }
    }
    found
}

fn finding(line: usize, message: String, written: &str, meant: Option<String>) -> Found {
    match meant {
        Some(meant) => Found::error(line, message, format!("Write `{meant}`"))
            .change(Change::word(line, written, &meant)),
        None => {
            Found::error(line, message, "Remove it from the list, or use an image with a CUDA that has it")
        }
    }
}

/// `sm_90a`, `compute_90` or `90` as PyTorch takes it: `9.0a`.
fn decimal(written: &str) -> Option<String> {
    let bare = written.trim_start_matches("sm_").trim_start_matches("compute_");
    let rest = bare.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let (major, minor) = joined(bare)?;
    ["", "a", "f", "+PTX"].contains(&rest).then(|| format!("{major}.{minor}{rest}"))
}

/// The compute capabilities in a word of CMake or nvcc.
fn compiled_for(word: &str) -> Vec<(u32, u32)> {
    let list = word.strip_prefix("-DCMAKE_CUDA_ARCHITECTURES=");
    let compute = word.split("compute_").skip(1).chain(word.split("arch=sm_").skip(1));
    let parts = list.into_iter().flat_map(|list| list.split([';', ','])).chain(compute);
    parts.filter_map(joined).collect()
}

/// The entries of TORCH_CUDA_ARCH_LIST; without a number where PyTorch does not take them.
fn torch_list(value: &str) -> Vec<(String, Option<(u32, u32)>)> {
    let words =
        value.split([';', ' ', ',']).map(str::trim).filter(|word| !word.is_empty() && !NAMES.contains(word));
    words
        .map(|word| {
            let bare = word.trim_end_matches("+PTX").trim_end_matches(['a', 'f']);
            let number = bare
                .split_once('.')
                .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
            (word.to_owned(), number)
        })
        .collect()
}

/// `90`, `90a`, `100-real`: the number as CMake and nvcc write it.
fn joined(text: &str) -> Option<(u32, u32)> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let at = digits.len().checked_sub(1).filter(|at| *at >= 1)?;
    Some((digits[..at].parse().ok()?, digits[at..].parse().ok()?))
}

/// Why the nvcc of a release does not compile for a capability.
fn unknown(catalog: &Catalog, cuda: &str, capability: (u32, u32)) -> Option<String> {
    let has = version::minor(cuda)?;
    let row = catalog
        .cuda()
        .architectures()
        .iter()
        .find(|row| version::minor(&row.compute_capability) == Some(capability));
    let name = format!("{}.{}", capability.0, capability.1);
    let row = row?;
    let first =
        row.first_toolkit.as_deref().filter(|first| version::minor(first).is_some_and(|first| has < first));
    let last = row.last_toolkit.as_deref().filter(|last| version::minor(last).is_some_and(|last| has > last));
    match (first, last) {
        (Some(first), _) => Some(format!(
            "nvcc of CUDA {cuda} does not know compute capability {name}; the first that does is {first}"
        )),
        (None, Some(last)) => Some(format!(
            "nvcc of CUDA {cuda} no longer compiles for compute capability {name}; the last that does is \
             {last}"
        )),
        (None, None) => None,
    }
}
