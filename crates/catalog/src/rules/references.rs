//! Rules between rows: what one names, another has.

use std::collections::BTreeSet;

use serde_yaml::Value;

use super::super::embedded::{self, File};
use super::{Broken, Others, scalar};
use crate::torch::CudaBuild;

/// References of one file that lead nowhere.
pub(super) fn broken(file: &File, value: &Value, others: Others<'_>) -> Vec<Broken> {
    let read = |name: &str| -> Value {
        others(name).and_then(|text| serde_yaml::from_str(&text).ok()).unwrap_or_default()
    };
    let wrong = match &*file.name {
        "torch.yaml" => torch(value, &read("cuda.yaml"), &read("nccl.yaml")),
        "deepspeed.yaml" => deepspeed(value),
        "gpus.yaml" => gpus(value, &read("cuda.yaml"), &read("drivers.yaml")),
        "cuda.yaml" => cuda(value, &read("drivers.yaml")),
        "systems.yaml" => systems(value),
        _ if file.name.starts_with("images/") => image(value, &read("systems.yaml"), &read("cuda.yaml")),
        _ if file.name.starts_with("packages/") => package(file, value),
        _ => Vec::new(),
    };
    let broken = |(row, message)| Broken { file: file.name.to_string(), row, rule: "reference", message };
    wrong.into_iter().map(broken).collect()
}

/// The row and what is wrong with it.
type Wrong = Vec<(String, String)>;

fn rows<'v>(file: &'v Value, table: &str) -> &'v [Value] {
    file[table].as_sequence().map_or(&[], Vec::as_slice)
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_sequence().into_iter().flatten().filter_map(Value::as_str)
}

/// The values of one field over all rows of a table.
fn column(file: &Value, table: &str, field: &str) -> BTreeSet<String> {
    rows(file, table).iter().filter_map(|row| scalar(&row[field])).collect()
}

fn torch(file: &Value, cuda: &Value, nccl: &Value) -> Wrong {
    let toolkits = column(cuda, "rows", "toolkit");
    let capabilities = column(cuda, "architectures", "compute_capability");
    let nccls = column(nccl, "rows", "version");
    let has_minor = |minor: &str| toolkits.iter().any(|toolkit| toolkit.starts_with(&format!("{minor}.")));
    let mut wrong = Vec::new();
    for row in rows(file, "rows") {
        let version = row["version"].as_str().unwrap_or_default();
        let mut add = |message: String| wrong.push((version.to_owned(), message));
        for build in rows(row, "builds") {
            let name = build["build"].as_str().unwrap_or_default();
            if let Some(minor) = build["cuda"].as_str() {
                if !has_minor(minor) {
                    add(format!("{name}: there is no CUDA {minor} in cuda.yaml"));
                }
                if CudaBuild::of_cuda(minor).is_none_or(|build| build.to_string() != name) {
                    add(format!("{name} is not the name of a build with CUDA {minor}"));
                }
            }
            if let Some(version) = build["nccl"].as_str().filter(|version| !nccls.contains(*version)) {
                add(format!("{name}: there is no NCCL {version} in nccl.yaml"));
            }
            for capability in texts(&build["architectures"]).chain(texts(&build["ptx"])) {
                if !capabilities.contains(capability) {
                    add(format!("{name}: there is no compute capability {capability} in cuda.yaml"));
                }
            }
        }
        if let Some(name) = row["pypi_build"].as_str() {
            match rows(row, "builds").iter().find(|build| build["build"].as_str() == Some(name)) {
                None => add(format!("its build on PyPI, {name}, is not among its builds")),
                Some(build) if build["cuda"] != row["pypi_cuda"] || build["nccl"] != row["nccl"] => {
                    add(format!("pypi_cuda and nccl differ from those of its build {name}"));
                }
                Some(_) => {}
            }
        }
    }
    wrong
}

fn deepspeed(file: &Value) -> Wrong {
    let lists = column(file, "cuda_minors", "since");
    let missing = rows(file, "rows").iter().filter_map(|row| {
        let list = row["cuda_minors"].as_str().filter(|list| !lists.contains(*list))?;
        Some((scalar(&row["version"])?, format!("there is no list of CUDA minors since {list}")))
    });
    missing.collect()
}

fn gpus(file: &Value, cuda: &Value, drivers: &Value) -> Wrong {
    let capabilities = column(cuda, "architectures", "compute_capability");
    let branches = column(drivers, "rows", "branch");
    let mut wrong = Vec::new();
    for row in rows(file, "rows") {
        let name = scalar(&row["name"]).unwrap_or_default();
        if let Some(capability) =
            row["compute_capability"].as_str().filter(|text| !capabilities.contains(*text))
        {
            wrong.push((name.clone(), format!("there is no compute capability {capability} in cuda.yaml")));
        }
        if let Some(branch) = scalar(&row["driver_branch_min"]).filter(|branch| !branches.contains(branch)) {
            wrong.push((name, format!("there is no branch {branch} in drivers.yaml")));
        }
    }
    wrong
}

fn cuda(file: &Value, drivers: &Value) -> Wrong {
    let branches = column(drivers, "rows", "branch");
    let mut wrong = Vec::new();
    for table in ["rows", "majors"] {
        for row in rows(file, table) {
            let drivers =
                [&row["driver_min"], &row["driver_min_minor_compat"]].into_iter().filter_map(Value::as_str);
            for driver in drivers {
                let branch = driver.split('.').next().unwrap_or_default();
                if !branches.contains(branch) {
                    let key = scalar(&row["toolkit"]).or_else(|| scalar(&row["major"])).unwrap_or_default();
                    wrong
                        .push((key, format!("driver {driver}: there is no branch {branch} in drivers.yaml")));
                }
            }
        }
    }
    // A file without the mark, of an older envdoc, would have code for discrete GPUs run on Tegra.
    if !rows(file, "architectures").iter().any(|row| row["tegra"].as_bool() == Some(true)) {
        wrong.push((String::new(), "no architecture is marked as Tegra".into()));
    }
    wrong
}

fn systems(file: &Value) -> Wrong {
    let ids = column(file, "systems", "id");
    let missing = rows(file, "python_sources").iter().filter_map(|row| {
        let system = scalar(&row["system"]).filter(|id| !ids.contains(id))?;
        Some((system.clone(), format!("there is no system {system}")))
    });
    missing.collect()
}

/// Systems and CUDA releases of images; both may be lists.
fn image(file: &Value, systems: &Value, cuda: &Value) -> Wrong {
    let ids = column(systems, "systems", "id");
    let toolkits = column(cuda, "rows", "toolkit");
    let is_cuda = |one: &str| {
        let minor = one.split('.').count() < 3;
        toolkits.contains(one) || (minor && toolkits.iter().any(|full| full.starts_with(&format!("{one}."))))
    };
    let mut wrong = Vec::new();
    for row in rows(file, "rows") {
        let names = ["release", "torch", "cuda"].iter().filter_map(|field| scalar(&row[*field]));
        let name = names.into_iter().next().unwrap_or_default();
        let list = |field: &str| match &row[field] {
            Value::Sequence(all) => all.iter().filter_map(scalar).collect::<Vec<_>>(),
            one => scalar(one).into_iter().collect(),
        };
        for one in list("system").iter().chain(&list("systems")) {
            if !ids.contains(one) {
                wrong.push((name.clone(), format!("there is no system {one} in systems.yaml")));
            }
        }
        for one in list("cuda").iter().filter(|one| !is_cuda(one)) {
            wrong.push((name.clone(), format!("there is no CUDA {one} in cuda.yaml")));
        }
    }
    wrong
}

fn package(file: &File, value: &Value) -> Wrong {
    let mut wrong = Vec::new();
    let own = file.name.trim_start_matches("packages/").trim_end_matches(".yaml");
    if value["name"].as_str() != Some(own) {
        wrong.push((String::new(), format!("its name is not {own}")));
    }
    let known = |name: &str| {
        ["torch", "torchvision", "torchaudio", "deepspeed"].contains(&name)
            || embedded::file_named(&format!("packages/{name}.yaml")).is_some()
    };
    for row in rows(value, "rows") {
        for name in row["requires"].as_mapping().into_iter().flatten().filter_map(|(name, _)| name.as_str()) {
            if !known(name) {
                let releases = row["releases"].as_mapping().into_iter().flatten();
                let first = releases.filter_map(|(version, _)| version.as_str()).next().unwrap_or_default();
                wrong.push((first.to_owned(), format!("requires {name}, which is not in the catalog")));
            }
        }
    }
    wrong
}
