//! Whether an image runs on a machine.

use catalog::{Catalog, torch};
use diagnostic::rule;
use facts::support::CudaSupport;
use facts::{Fact, Facts};
use judge::{Checks, Fix, Group, Severity, Verdict, judge_one};

use super::Image;
use super::requirement::{self, Properties};

/// A rule about an image on a machine.
#[derive(Debug)]
pub struct InspectRule {
    /// Kebab case, names the fault.
    pub id: &'static str,
    /// What holds when it passes.
    pub summary: &'static str,
    /// What it checks, why it matters and its sources; Markdown.
    pub explain: &'static str,
    judge: fn(&Image, &Facts, Checks) -> Verdict,
}

/// The group of all rules.
pub const GROUP: rule::Group = rule::Group { id: "image", title: "Image" };

impl rule::Rule for InspectRule {
    fn id(&self) -> &'static str {
        self.id
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn group(&self) -> rule::Group {
        GROUP
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
    fn explain(&self) -> &'static str {
        self.explain
    }
}

/// All rules, in the order of the report.
pub const RULES: &[InspectRule] = &[
    InspectRule {
        id: "image-architecture-mismatch",
        summary: "the image is built for this machine's CPU architecture",
        explain: include_str!("image_architecture_mismatch.md"),
        judge: architecture,
    },
    InspectRule {
        id: "image-driver-requirement-unmet",
        summary: "the NVIDIA container toolkit starts the image on this driver",
        explain: include_str!("image_driver_requirement_unmet.md"),
        judge: requirements,
    },
    InspectRule {
        id: "image-cuda-too-new-for-driver",
        summary: "the driver runs the CUDA in the image",
        explain: include_str!("image_cuda_too_new_for_driver.md"),
        judge: driver,
    },
    InspectRule {
        id: "image-without-code-for-gpu",
        summary: "torch in the image has code for every GPU",
        explain: include_str!("image_without_code_for_gpu.md"),
        judge: gpu_code,
    },
    InspectRule {
        id: "image-hides-gpus",
        summary: "the image's variables enable the GPUs and the driver libraries",
        explain: include_str!("image_hides_gpus.md"),
        judge: visible,
    },
    InspectRule {
        id: "image-machine-has-errors",
        summary: "the machine itself can start GPU containers",
        explain: include_str!("image_machine_has_errors.md"),
        judge: machine,
    },
];

/// The verdict of one rule.
#[derive(Debug)]
pub struct Judged {
    /// One of [`RULES`].
    pub rule: &'static InspectRule,
    /// Its result on one machine.
    pub verdict: Verdict,
}

/// The verdicts of all rules; `checks` are those of the machine itself.
pub fn judge(image: &Image, facts: &Facts, checks: Checks) -> Vec<Judged> {
    let answer = |rule: &'static InspectRule| Judged { rule, verdict: (rule.judge)(image, facts, checks) };
    RULES.iter().map(answer).collect()
}

fn architecture(image: &Image, facts: &Facts, _checks: Checks) -> Verdict {
    let Some(of_image) = &image.architecture else {
        return Verdict::Unknown("the image does not name its CPU architecture".into());
    };
    let here = match facts.system.architecture.require("the CPU architecture of the machine is unknown") {
        Ok(here) => here,
        Err(why) => return why.into(),
    };
    if image.os.as_deref().is_some_and(|os| os != "linux") {
        let os = image.os.as_deref().unwrap_or_default();
        return Verdict::error(
            format!("the image is for {os}, the machine runs Linux"),
            Fix::safe("Use an image for linux.", &[]),
        );
    }
    if of_image == here {
        return Verdict::Pass;
    }
    let text = match image.architectures.contains(here) {
        true => {
            format!("The tag also has an image for {here}: pull it again on the machine, or with --platform.")
        }
        false => format!("Build it for {here}, or use an image that supports it."),
    };
    Verdict::error(
        format!("the image is for {of_image}, but the machine is {here}; its programs do not start there"),
        Fix::safe(text, &[]),
    )
}

/// The verdict of GPU rules on a machine without a GPU; `None`: it has one.
fn without_gpu(facts: &Facts) -> Option<Verdict> {
    match facts.has_gpu() {
        Fact::Known(true) => None,
        Fact::Unknown(why) => Some(Verdict::unknown(format!("unknown whether the machine has a GPU: {why}"))),
        Fact::Known(false) | Fact::Absent => {
            Some(Verdict::NotApplicable("the machine has no NVIDIA GPU".into()))
        }
    }
}

fn requirements(image: &Image, facts: &Facts, _checks: Checks) -> Verdict {
    if requirement::disabled(image) {
        return Verdict::NotApplicable("the image disables its conditions (NVIDIA_DISABLE_REQUIRE)".into());
    }
    let conditions = requirement::of(image);
    if conditions.is_empty() {
        return Verdict::NotApplicable("the image sets no NVIDIA_REQUIRE_* variable".into());
    }
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
    let properties = Properties::of(facts);
    let judged = conditions.iter().map(|(name, condition)| {
        Ok(match requirement::holds(condition, &properties) {
            Fact::Known(true) => Verdict::Pass,
            Fact::Unknown(why) => Verdict::unknown(format!("{name}: {why}")),
            Fact::Known(false) | Fact::Absent => unmet(name, condition, &properties),
        })
    });
    Verdict::together(judged, "no condition").unwrap_or_else(|verdict| verdict)
}

fn unmet(name: &str, condition: &str, properties: &Properties) -> Verdict {
    let first = condition.split_whitespace().next().unwrap_or(condition);
    let has = [
        ("driver", &properties.driver),
        ("its newest CUDA", &properties.cuda),
        ("brand of the first GPU", &properties.brand),
        ("compute capability", &properties.arch),
    ];
    let has: Vec<String> =
        has.iter().filter_map(|(what, value)| Some(format!("{what} {}", value.as_ref()?))).collect();
    Verdict::error(
        format!(
            "the NVIDIA container toolkit refuses to start it: the image requires {first}, or certain GPU \
             brands on certain older driver branches, but the machine has {}",
            has.join(", ")
        ),
        Fix::needs_reboot(
            "Install a driver that meets the condition. If the CUDA of the image runs on this driver anyway \
             (see image-cuda-too-new-for-driver), NVIDIA_DISABLE_REQUIRE=true in the container's environment \
             starts it.",
            &[],
        ),
    )
    .evidence(format!("{name}={condition}"))
}

/// The torch release and the CUDA build in it, and where that stands.
fn torch_of(image: &Image, catalog: &'static Catalog) -> Option<(String, Option<String>, &'static str)> {
    let contents = image.contents(catalog);
    let (_, version, from) = contents.into_iter().find(|(known, ..)| *known == "torch")?;
    // NVIDIA's own builds are no release of PyTorch: `2.9.0a0+145a3a7bda`.
    Some(match version.split_once('+') {
        Some((version, build)) => (version.to_owned(), Some(build.to_owned()), from),
        None => (version, None, from),
    })
}

fn driver(image: &Image, facts: &Facts, _checks: Checks) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
    let of_image = image.contents(facts.catalog).into_iter().find(|(what, ..)| *what == "CUDA");
    let of_image = of_image.map(|(_, version, from)| (version, from.to_owned()));
    let of_torch = torch_of(image, facts.catalog).and_then(|(version, build, _)| {
        Some((torch::CudaBuild::parse(&build?)?.cuda()?, format!("torch {version}")))
    });
    let judged = of_image.into_iter().chain(of_torch).map(|(version, from)| runs(&version, &from, facts));
    Verdict::together(judged.map(Ok), "no label or variable of the image names its CUDA version")
        .unwrap_or_else(|verdict| verdict)
}

fn runs(version: &str, from: &str, facts: &Facts) -> Verdict {
    let support = match facts.cuda_support(version).require("the driver is not loaded").cloned() {
        Ok(support) => support,
        Err(why) => return why.into(),
    };
    let CudaSupport::No(needs) = support else { return Verdict::Pass };
    let driver = facts.driver_version().known().copied();
    let name = driver.map_or_else(String::new, |driver| format!(" {driver}"));
    // nvidia/cuda images carry the package; whether this one does cannot be seen from outside.
    let forward = facts
        .catalog
        .cuda()
        .forward(version)
        .is_some_and(|row| driver.is_some_and(|driver| row.driver_branches.contains(&driver.branch)));
    if forward && facts.data_centre_gpus() != Fact::Known(false) {
        return Verdict::unknown(format!(
            "CUDA {version} ({from}) is newer than driver{name}; it runs only if the image has the \
             cuda-compat package of that CUDA, which envdoc cannot see from outside"
        ));
    }
    Verdict::error(
        format!(
            "CUDA {version} in the image needs driver {needs} or newer, but the machine has \
             driver{name}"
        ),
        Fix::needs_reboot(
            format!("Install driver {needs} or newer, or build the image for an older CUDA."),
            &[],
        ),
    )
    .evidence(format!("CUDA {version} ({from})"))
}

fn gpu_code(image: &Image, facts: &Facts, _checks: Checks) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
    let Some((version, build, from)) = torch_of(image, facts.catalog) else {
        return Verdict::NotApplicable("no label or variable of the image names a torch version".into());
    };
    let Some(release) = facts.catalog.torch().release(&version) else {
        return Verdict::unknown(format!("torch {version} ({from}) is not in the catalog"));
    };
    let Some(build) = build else {
        return Verdict::unknown(format!("the build of torch {version} in the image is unknown"));
    };
    let Some(row) = release.build(&build) else {
        return Verdict::unknown(format!("torch {version}+{build} is not in the catalog"));
    };
    let capabilities = facts.compute_capabilities();
    let capabilities = match capabilities.require("the GPUs are unknown") {
        Ok(capabilities) => capabilities,
        Err(why) => return why.into(),
    };
    let judged = capabilities.iter().map(|&(major, minor)| {
        Ok(match facts.build_runs_on(release, row, (major, minor)) {
            Fact::Known(true) => Verdict::Pass,
            Fact::Unknown(why) => Verdict::Unknown(why),
            Fact::Known(false) | Fact::Absent => Verdict::error(
                format!(
                    "torch {version}+{build} in the image has no code for sm_{major}{minor}, the compute \
                     capability of a GPU here"
                ),
                Fix::safe(format!("Build an image for it: `envdoc build --gpu sm_{major}{minor}`."), &[]),
            ),
        })
    });
    Verdict::together(judged, "the machine has no GPU").unwrap_or_else(|verdict| verdict)
}

fn visible(image: &Image, facts: &Facts, _checks: Checks) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
    if let Some(value @ ("void" | "none")) = image.variable("NVIDIA_VISIBLE_DEVICES") {
        return Verdict::warning(
            format!(
                "the image sets NVIDIA_VISIBLE_DEVICES={value}; unless it is overridden, the container gets \
                 no GPU"
            ),
            Fix::safe("Start it with --gpus all, or set NVIDIA_VISIBLE_DEVICES=all.", &[]),
        );
    }
    let Some(capabilities) = image.variable("NVIDIA_DRIVER_CAPABILITIES") else { return Verdict::Pass };
    let has =
        |name: &str| capabilities.split(',').any(|one| matches!(one.trim(), "all") || one.trim() == name);
    let fix = || Fix::safe("Set NVIDIA_DRIVER_CAPABILITIES=compute,utility.", &[]);
    let sets = format!("the image sets NVIDIA_DRIVER_CAPABILITIES={capabilities}");
    match (has("compute"), has("utility")) {
        (false, _) => {
            Verdict::error(format!("{sets}: without compute there is no libcuda in the container"), fix())
        }
        (_, false) => Verdict::warning(
            format!("{sets}: without utility there is no nvidia-smi in the container"),
            fix(),
        ),
        _ => Verdict::Pass,
    }
}

fn machine(_image: &Image, facts: &Facts, checks: Checks) -> Verdict {
    if let Some(verdict) = without_gpu(facts) {
        return verdict;
    }
    let groups = [Group::Driver, Group::Gpu, Group::Fabric, Group::Docker, Group::Toolkit];
    let errors = checks.iter().filter(|check| groups.contains(&check.group)).filter_map(|check| {
        match judge_one(check, facts) {
            Verdict::Found(found) if found.severity == Severity::Error => Some((check.id, found.message)),
            _ => None,
        }
    });
    let errors: Vec<(&str, String)> = errors.collect();
    if errors.is_empty() {
        return Verdict::Pass;
    }
    let ids: Vec<&str> = errors.iter().map(|(id, _)| *id).collect();
    let verdict = Verdict::error(
        format!("the machine itself has errors: {}", ids.join(", ")),
        Fix::safe("", &["envdoc check"]),
    );
    errors.into_iter().fold(verdict, |verdict, (id, message)| verdict.evidence(format!("{id}: {message}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use checks::CHECKS;
    use facts::testing::files::node;
    use judge::testing::status;

    fn image(environment: &[(&str, &str)], labels: &[(&str, &str)]) -> Image {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        Image {
            os: Some("linux".into()),
            architecture: Some("x86_64".into()),
            environment: map(environment),
            labels: map(labels),
            ..Image::default()
        }
    }

    fn answer(id: &str, image: &Image, facts: &Facts) -> Verdict {
        judge(image, facts, CHECKS).into_iter().find(|judged| judged.rule.id == id).expect(id).verdict
    }

    #[test]
    fn driver_must_support_the_cuda_version_of_the_image() {
        let h100 = |driver| node(driver, "NVIDIA H100 80GB HBM3 9.0", &[]);
        let geforce = |driver| node(driver, "NVIDIA GeForce RTX 4090 8.9", &[]);
        let of = |version: &str| image(&[("CUDA_VERSION", version)], &[]);
        let word =
            |image: &Image, facts: &Facts| status(&answer("image-cuda-too-new-for-driver", image, facts));
        assert_eq!(word(&of("12.4.1"), &h100("550.54.14")), "pass");
        assert_eq!(word(&of("12.8.1"), &h100("550.54.14")), "pass", "minor-version compatibility");
        assert_eq!(word(&of("13.0.1"), &geforce("550.54.14")), "error");
        assert_eq!(word(&of("13.0.1"), &h100("550.54.14")), "unknown", "perhaps by cuda-compat");
        assert_eq!(word(&image(&[], &[]), &h100("550.54.14")), "not-applicable");
        let torch = image(&[], &[("envdoc.torch", "2.11.0+cu130")]);
        assert_eq!(word(&torch, &geforce("550.54.14")), "error", "torch brings its own CUDA");
    }

    #[test]
    fn torch_of_the_image_must_have_code_for_the_gpu() {
        let b200 = node("580.65.06", "NVIDIA B200 10.0", &[]);
        let word = |labels: &[(&str, &str)]| {
            status(&answer("image-without-code-for-gpu", &image(&[], labels), &b200))
        };
        assert_eq!(word(&[("envdoc.torch", "2.5.1+cu124")]), "error");
        assert_eq!(word(&[("envdoc.torch", "2.7.1+cu128")]), "pass");
        assert_eq!(word(&[("envdoc.torch", "2.7.1")]), "unknown");
        assert_eq!(word(&[("envdoc.torch", "99.0.0+cu128")]), "unknown");
        assert_eq!(word(&[]), "not-applicable");
    }

    #[test]
    fn evaluates_nvidia_require_and_visible_devices() {
        let node = node("550.54.14", "NVIDIA H100 80GB HBM3 9.0", &[]);
        let requires = |text: &str| image(&[("NVIDIA_REQUIRE_CUDA", text)], &[]);
        let id = "image-driver-requirement-unmet";
        assert_eq!(status(&answer(id, &requires("cuda>=12.4"), &node)), "pass");
        assert_eq!(status(&answer(id, &requires("cuda>=12.8 driver>=470,driver<471"), &node)), "error");
        assert_eq!(
            status(&answer(id, &requires("cuda>=12.8 brand=tesla,driver>=550,driver<551"), &node)),
            "unknown"
        );
        assert_eq!(status(&answer(id, &image(&[], &[]), &node)), "not-applicable");
        let sets = |name, value| status(&answer("image-hides-gpus", &image(&[(name, value)], &[]), &node));
        assert_eq!(sets("NVIDIA_VISIBLE_DEVICES", "void"), "warning");
        assert_eq!(sets("NVIDIA_DRIVER_CAPABILITIES", "utility"), "error");
        assert_eq!(sets("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"), "pass");
    }

    #[test]
    fn architecture_mismatch_is_an_error() {
        let mut node = node("550.54.14", "NVIDIA H100 80GB HBM3 9.0", &[]);
        node.system.architecture = Fact::Known("aarch64".into());
        let verdict = answer("image-architecture-mismatch", &image(&[], &[]), &node);
        assert_eq!(status(&verdict), "error");
        let mut list = image(&[], &[]);
        list.architectures = vec!["x86_64".into(), "aarch64".into()];
        let verdict = answer("image-architecture-mismatch", &list, &node);
        let fix = &verdict.found().unwrap().fixes[0];
        assert!(fix.title.contains("has an image for aarch64"), "{}", fix.title);
    }

    #[test]
    fn every_question_is_explained() {
        for rule in RULES {
            assert!(rule.explain.starts_with("## What it checks\n"), "{}", rule.id);
            assert!(rule.explain.contains("## Why it matters\n"), "{}", rule.id);
            assert!(CHECKS.iter().all(|check| check.id != rule.id), "{}", rule.id);
        }
    }
}
