//! What the catalog knows and what it does not, counted into `docs/catalog.md`. `ENVDOC_REGENERATE=1
//! cargo test -p envdoc-catalog --test it` writes the counts; everything else on that page is written by
//! hand.
#![expect(clippy::disallowed_methods, reason = "tests read and write the source tree")]

use std::fmt::Write;
use std::fs;
use std::path::Path;

use catalog::testing::catalog;
use catalog::torch::{Build, Release};

/// One line of the table: a fact, how many rows have it, and the names of those that have not.
struct Line {
    table: &'static str,
    fact: &'static str,
    known: usize,
    holes: Vec<String>,
}

impl Line {
    fn count<T>(
        table: &'static str,
        fact: &'static str,
        rows: &[T],
        name: fn(&T) -> String,
        known: fn(&T) -> bool,
    ) -> Line {
        let holes: Vec<String> = rows.iter().filter(|row| !known(row)).map(name).collect();
        Line { table, fact, known: rows.len() - holes.len(), holes }
    }
}

fn torch_lines() -> Vec<Line> {
    type Pair = (&'static Release, &'static Build);
    let builds: Vec<Pair> = catalog()
        .torch()
        .all()
        .iter()
        .flat_map(|row| row.builds.iter().map(move |build| (row, build)))
        .collect();
    let build = |fact, known| {
        let name = |(release, build): &Pair| format!("{} {}", release.version, build.build);
        Line::count("torch builds", fact, &builds, name, known)
    };
    let release =
        |fact, known| Line::count("torch", fact, catalog().torch().all(), |row| row.version.clone(), known);
    vec![
        release("day, Pythons, glibc, partners", |row| {
            let partners = row.torchvision.is_some() && row.torchaudio.is_some();
            partners && row.released.is_some() && row.pythons.is_some() && row.glibc_min.is_some()
        }),
        release("what the aarch64 wheels on PyPI are", |row| row.aarch64_build.is_some()),
        release("every build listed", |row| row.builds_complete),
        build("compute capabilities", |(_, build)| build.architectures.is_some()),
        build("whether it has PTX", |(_, build)| build.ptx.is_some()),
        build("Pythons", |(_, build)| build.pythons.is_some()),
        build("NCCL", |(_, build)| build.nccl.is_some()),
        build("cuDNN", |(_, build)| build.cudnn.is_some()),
    ]
}

fn cuda_lines() -> Vec<Line> {
    let release =
        |fact, known| Line::count("CUDA", fact, catalog().cuda().all(), |row| row.toolkit.clone(), known);
    let mut minors: Vec<String> = catalog()
        .cuda()
        .all()
        .iter()
        .filter_map(|row| Some(row.toolkit.rsplit_once('.')?.0.to_owned()))
        .collect();
    minors.dedup();
    vec![
        release("driver for all features", |row| row.driver_min.is_some()),
        release("oldest driver", |row| row.driver_min_minor_compat.is_some()),
        Line::count("CUDA minors", "forward compatibility", &minors, String::clone, |minor| {
            catalog().cuda().forward(minor).is_some()
        }),
        Line::count(
            "driver branches",
            "highest CUDA",
            catalog().drivers().all(),
            |row| row.branch.to_string(),
            |row| row.cuda.is_some(),
        ),
        Line::count(
            "driver branches",
            "end of life",
            catalog().drivers().all(),
            |row| row.branch.to_string(),
            |row| row.end_of_life.is_some(),
        ),
    ]
}

fn other_lines() -> Vec<Line> {
    let gpu = |fact, known| Line::count("GPUs", fact, catalog().gpus().all(), |row| row.name.clone(), known);
    let ds = |fact, known| {
        Line::count("DeepSpeed", fact, catalog().deepspeed().all(), |row| row.version.clone(), known)
    };
    let nccl =
        |fact, known| Line::count("NCCL", fact, catalog().nccl().all(), |row| row.version.clone(), known);
    vec![
        ds("day, nvcc rule", |row| row.released.is_some() && row.skip_cuda_check.is_some()),
        ds("import with torch 2.4, with numpy 2", |row| {
            row.imports_with_torch_2_4.is_some() && row.imports_with_numpy_2.is_some()
        }),
        Line::count(
            "DeepSpeed operators",
            "what building needs",
            catalog().deepspeed().operators(),
            |row| row.name.clone(),
            |_| true,
        ),
        Line::count(
            "DeepSpeed incompatibilities",
            "as package and versions",
            catalog().deepspeed().incompatibilities(),
            |row| row.id.clone(),
            |row| row.with_package.is_some(),
        ),
        nccl("compute capabilities", |row| row.architectures.is_some()),
        gpu("short name", |row| !row.aliases.is_empty()),
        gpu("memory", |row| row.memory_gib.is_some()),
        gpu("whether it has NVLink", |row| row.nvlink.is_some()),
        gpu("NVLink generation, or no NVLink", |row| {
            row.nvlink == Some(false) || row.nvlink_generation.is_some()
        }),
    ]
}

fn table() -> String {
    let mut text = String::from("| table | fact | known | not known |\n|---|---|---:|---|\n");
    for line in torch_lines().into_iter().chain(cuda_lines()).chain(other_lines()) {
        let holes = match line.holes.len() {
            0 => "–".to_owned(),
            1..=20 => line.holes.join(", "),
            many => format!("{many} rows"),
        };
        let (Line { table, fact, known, .. }, rows) = (&line, line.known + line.holes.len());
        let _ = writeln!(text, "| {table} | {fact} | {known} of {rows} | {holes} |");
    }
    text
}

#[test]
fn catalog_page_has_current_row_counts() {
    const BEGIN: &str = "<!-- counted by crates/catalog/tests/it/coverage.rs -->\n";
    const END: &str = "<!-- end -->\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/catalog.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let now = format!("{before}{BEGIN}{}{END}{after}", table());
    if std::env::var_os("ENVDOC_REGENERATE").is_some() {
        fs::write(&path, now).unwrap();
        return;
    }
    assert!(
        page == now,
        "docs/catalog.md does not count the rows of catalog/; run: ENVDOC_REGENERATE=1 cargo test -p \
            envdoc-catalog --test it, and review the change"
    );
}
