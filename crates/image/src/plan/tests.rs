use super::*;
use crate::render;
use catalog::testing::catalog;
use resolve::lock::Lock;
use resolve::outcome::Outcome;
use resolve::parse;
use resolve::request::{Request, RequirementKind};
use resolve::testing::universe;

/// The plan of a request in YAML, resolved as the command line does it.
fn planned(text: &str) -> Result<Plan, Error> {
    let request = ImageRequest::parse("request.yaml", text).unwrap();
    let mut requirements = parse::requirements(universe(), &request.stack_options()).unwrap().requirements;
    requirements.extend(request.own_base());
    let mut request = request;
    request.targets = requirements
        .iter()
        .filter_map(|requirement| match &requirement.kind {
            RequirementKind::Gpu(gpu) => Some(gpu.capability),
            _ => None,
        })
        .collect();
    let requested = Request { requirements, today: "2026-11-21".into(), ..Request::default() };
    match resolve::resolve(universe(), &requested) {
        Outcome::Resolved(resolution) => plan(catalog(), &request, &resolution),
        Outcome::Conflict(conflict) => panic!("{}", conflict.message),
    }
}

fn dockerfile(text: &str) -> String {
    render::dockerfile(&planned(text).unwrap()).unwrap()
}

#[test]
fn the_wheels_of_a_plain_stack_need_no_nvcc() {
    let text = dockerfile("torch: 2.5.1\ncuda: 12.1\npython: 3.12\n");
    assert!(text.contains("FROM nvidia/cuda:12.1.1-base-ubuntu22.04 AS image"), "{text}");
    assert!(text.contains("--index-url https://download.pytorch.org/whl/cu121"), "{text}");
    assert!(text.contains("torch==2.5.1+cu121"), "{text}");
}

#[test]
fn deepspeed_gets_nvcc_a_compiler_and_headers() {
    let plan = planned("deepspeed: any\n").unwrap();
    let text = render::dockerfile(&plan).unwrap();
    assert!(text.contains("-devel-ubuntu24.04 AS image") && text.contains("python3-dev"), "{text}");
    assert_eq!(plan.expectations.nvcc.as_deref(), Some(plan.stack.cuda.as_str()));
    assert!(plan.expectations.imports.contains(&"deepspeed".to_owned()));
}

#[test]
fn build_time_compilation_keeps_nvcc_out_of_the_final_image() {
    let text = dockerfile("packages: [flash-attn]\ncompile: build\ngpus: [h100, a100]\n");
    assert!(
        text.contains("-devel-ubuntu24.04 AS build") && text.contains("-base-ubuntu24.04 AS image"),
        "{text}"
    );
    assert!(text.contains("COPY --from=build /opt/venv /opt/venv"), "{text}");
    // The build of flash-attn does not look at torch's list.
    assert!(text.contains("ARG FLASH_ATTN_CUDA_ARCHS=80;90\n"), "{text}");
    assert!(!text.contains("TORCH_CUDA_ARCH_LIST"), "{text}");
}

#[test]
fn custom_base_image_requires_its_os_in_the_request() {
    let text = dockerfile("base_image: registry.example/base:1\nos: debian12\npython: 3.11\n");
    assert!(text.contains("FROM registry.example/base:1 AS image"), "{text}");
    assert!(text.contains("NVIDIA_VISIBLE_DEVICES=all"), "{text}");
    let error = planned("base_image: registry.example/base:1\n").unwrap_err();
    assert!(error.message.contains("its operating system is unknown"), "{error}");
}

#[test]
fn wheel_directory_replaces_all_package_indexes() {
    let plan = planned("wheels: wheels\ntorch: 2.5.1\ncuda: 12.1\nbase: python\npython: 3.12\n").unwrap();
    let text = render::dockerfile(&plan).unwrap();
    assert!(text.contains("--mount=type=bind,source=wheels,target=/run/wheels"), "{text}");
    assert!(text.contains("--no-index --find-links /run/wheels"), "{text}");
    assert!(!text.split("LABEL").next().unwrap().contains("--index-url"), "{text}");
    assert!(render::dockerignore(&plan).unwrap().contains("!wheels\n"));
    let error = planned("wheels: wheels\npython: 3.12\nos: ubuntu22.04\n").unwrap_err();
    assert!(error.message.contains("would come from uv"), "{error}");
}

#[test]
fn warns_about_packages_not_in_the_catalog() {
    let plan = planned("packages: [numyp, jieba==0.42.1]\n").unwrap();
    let message = &plan.warnings.iter().find(|one| one.id == "packages-not-in-catalog").unwrap().message;
    assert!(message.contains("numyp, jieba==0.42.1") && message.contains("is numyp numpy?"), "{message}");
    assert!(plan.requirements.contains(&PipRequirement::Requested("jieba==0.42.1".to_owned())));
    assert!(
        planned("packages: [numpy]\n")
            .unwrap()
            .warnings
            .iter()
            .all(|one| one.id != "packages-not-in-catalog")
    );
}

#[test]
fn torch_of_the_image_is_used_or_a_warning_is_given() {
    let plan = planned("base: pytorch\ntorch: 2.12.1\n").unwrap();
    assert!(plan.warnings.iter().all(|one| one.id != "torch-of-image-unused"));
    let text = render::dockerfile(&plan).unwrap();
    assert!(
        !text.split("LABEL").next().unwrap().contains("torchvision=="),
        "the image's own partners stay: {text}"
    );
    let plan = planned("base: pytorch\ntorch: 2.5.1\npackages: [einops]\n").unwrap();
    assert!(plan.warnings.iter().all(|one| one.id != "torch-of-image-unused"), "conda's Python is known");
    assert!(
        plan.requirements.contains(&PipRequirement::pin("torch", "2.5.1")) && plan.stack.python == "3.11"
    );
    let plan = planned("base: pytorch\ntorch: 2.6.0\n").unwrap();
    assert!(plan.warnings.iter().any(|one| one.id == "torch-of-image-unused"));
}

#[test]
fn nothing_replaces_the_torch_of_nvidia() {
    let plan = planned("base: ngc\ncuda: 13.0\npackages: [transformers, jieba==0.42.1]\n").unwrap();
    let text = render::dockerfile(&plan).unwrap();
    assert!(text.contains("FROM nvcr.io/nvidia/pytorch:25.10-py3 AS image"), "{text}");
    assert!(
        text.contains("pip list --format=freeze --exclude transformers --exclude jieba > /tmp/image.txt"),
        "{text}"
    );
    let commands = text.split("LABEL").next().unwrap();
    assert!(!commands.contains("torch==") && !commands.contains("--index-url"), "{text}");
    let names: Vec<String> = plan.requirements.iter().map(PipRequirement::name).collect();
    assert!(names.iter().all(|one| !one.starts_with("torch") && !one.starts_with("numpy")), "{names:?}");
    let expected = &plan.expectations;
    let torch = [&expected.torch, &expected.torch_build, &expected.cuda].map(|part| part.as_deref());
    assert_eq!(torch, [Some("2.9.0a0"), Some("145a3a7bda.nv25.10"), Some("13.0")]);
    let plan = planned("base: ngc\n").unwrap();
    assert!(!render::dockerfile(&plan).unwrap().contains("pip install"), "nothing to put on top");
}

#[test]
fn operators_of_deepspeed_are_built_in_a_stage_of_their_own() {
    let plan =
        planned("deepspeed: any\ndeepspeed_ops: [fused_adam, async_io]\ngpus: [h100, a100]\n").unwrap();
    let text = render::dockerfile(&plan).unwrap();
    let (build, image) = text.split_once(" AS image").unwrap();
    assert!(build.contains("-devel-ubuntu24.04 AS build") && build.contains("-base-ubuntu24.04"), "{text}");
    assert!(build.contains("ARG TORCH_CUDA_ARCH_LIST=8.0;9.0\n"), "{text}");
    assert!(build.contains("export DS_ACCELERATOR=cuda DS_BUILD_FUSED_ADAM=1 DS_BUILD_AIO=1"), "{text}");
    assert!(build.contains("--no-build-isolation --no-cache-dir"), "{text}");
    assert_eq!(build.matches("deepspeed==").count(), 1, "installed once: {text}");
    assert!(build.contains("libaio-dev") && image.contains("libaio-dev") && !image.contains("g++"), "{text}");
    assert!(plan.expectations.imports.contains(&"deepspeed.ops.adam.fused_adam_op".to_owned()));
    assert_eq!(plan.expectations.nvcc, None);
    assert!(plan.warnings.iter().any(|one| one.id == "deepspeed-operators-left-out"));
    let ngc = dockerfile("base: ngc\ndeepspeed: any\ndeepspeed_ops: [fused_adam]\ngpus: [h100]\n");
    assert!(ngc.contains("--exclude deepspeed") && ngc.contains("ARG TORCH_CUDA_ARCH_LIST=9.0\n"), "{ngc}");
}

#[test]
fn operators_that_cannot_be_built_are_refused() {
    for (request, words) in [
        ("deepspeed_ops: [fused_adam]\n", "DeepSpeed is not in this image"),
        ("deepspeed: any\ndeepspeed_ops: [fused_adma]\n", "no operator \"fused_adma\""),
        ("deepspeed: any\ndeepspeed_ops: [evoformer_attn]\n", "needs cutlass to build"),
        ("deepspeed: any\ndeepspeed_ops: [fp_quantizer]\ngpus: [v100]\ncuda: 12.6\n", "8.0 and newer"),
        ("deepspeed: any\ndeepspeed_ops: [fused_adam]\nbase: ngc\n", "requires target GPUs"),
        ("deepspeed: any\ndeepspeed_ops: [fused_adam]\nbase_image: own:1\nos: debian12\n", "needs nvcc"),
    ] {
        let error = planned(request).unwrap_err();
        assert!(error.message.contains(words), "{request}: {error}");
    }
}

#[test]
fn custom_base_image_compiles_in_its_devel_image() {
    let request = "deepspeed: any\ndeepspeed_ops: [fused_adam]\nbase_image: own:1\nbase_devel: own-devel:1\n\
        os: ubuntu22.04\n";
    let text = dockerfile(&format!("{request}python: 3.10\n"));
    assert!(text.contains("FROM own-devel:1 AS build") && text.contains("FROM own:1 AS image"), "{text}");
    assert!(text.contains("COPY --from=build /opt/venv /opt/venv"), "{text}");
    let error = planned(&format!("{request}python: 3.11\nbase_python: 3.11\n")).unwrap_err();
    assert!(error.message.contains("cannot be copied"), "{error}");
}

#[test]
fn mirror_preset_becomes_build_arguments() {
    let text = dockerfile("mirrors: {preset: tuna}\n");
    assert!(text.contains("ARG PIP_INDEX_URL=https://pypi.tuna.tsinghua.edu.cn/simple"), "{text}");
    assert!(text.contains("ARG APT_MIRROR=http://mirrors.tuna.tsinghua.edu.cn"), "{text}");
    assert!(text.contains("rm /tmp/mirror.list") && !text.contains("ENV PIP"), "{text}");
    let text =
        dockerfile("python: 3.12\nos: ubuntu22.04\nmirrors: {python: 'https://mirror.example/pythons'}\n");
    assert!(text.contains("ARG UV_PYTHON_INSTALL_MIRROR=https://mirror.example/pythons"), "{text}");
    assert!(planned("mirrors: {preset: tsinghua}\n").unwrap_err().hints[0].contains("tuna"));
}

#[test]
fn host_mirrors_fill_in_unset_mirrors() {
    let request = ImageRequest::parse("request.yaml", "torch: 2.5.1\ncuda: 12.1\npython: 3.12\n").unwrap();
    let requirements = parse::requirements(universe(), &request.stack_options()).unwrap().requirements;
    let requested = Request { requirements, today: "2026-11-21".into(), ..Request::default() };
    let Outcome::Resolved(resolution) = resolve::resolve(universe(), &requested) else { panic!() };
    let host_apt = [("ubuntu", "http://mirror.example"), ("debian", "http://other.example")];
    let mut request =
        ImageRequest { host_apt: host_apt.map(|(a, b)| (a.into(), b.into())).into(), ..request };
    request.secret_indexes.index = Some("https://me:secret@index.example/simple".to_owned().into());
    let plan = plan(catalog(), &request, &resolution).unwrap();
    let text = render::dockerfile(&plan).unwrap();
    assert!(text.contains("ARG APT_MIRROR=http://mirror.example\n"), "the image is Ubuntu's: {text}");
    assert!(text.contains("--mount=type=secret,id=index,required=true"), "{text}");
    assert!(text.contains("PIP_INDEX_URL=\"$(cat /run/secrets/index)\""), "{text}");
    assert!(text.contains("--secret id=index,src=FILE"), "{text}");
    let all = format!("{plan:?}{text}{}", serde_json::to_string(&request).unwrap());
    assert!(!all.contains("me:secret"), "a login is nowhere");
    assert_eq!(plan.secrets[0].text.as_ref().unwrap().bytes(), b"https://me:secret@index.example/simple");
}

#[test]
fn systems_with_dnf() {
    let plan =
        planned("os: rockylinux9\ncuda: 12.6\npython: 3.12\ncompile: run\nuser: trainer\napt: [git]\n")
            .unwrap();
    let text = render::dockerfile(&plan).unwrap();
    assert!(text.contains("-devel-rockylinux9 AS image"), "{text}");
    assert!(
        text.contains("dnf install -y --setopt=install_weak_deps=False --setopt=keepcache=True"),
        "{text}"
    );
    for package in ["gcc-c++", "git", "python3.12", "python3.12-devel", "shadow-utils"] {
        assert!(text.contains(&format!("        {package}")), "{package}: {text}");
    }
    assert!(text.contains("/usr/bin/python3.12 -m venv /opt/venv") && !text.contains("apt-get"), "{text}");
    // uv installs what the system does not have; it comes from a pip that supports its wheels.
    let text = dockerfile("os: rockylinux8\npython: 3.10\nmirrors: {preset: tuna}\n");
    assert!(
        text.contains("python3.12 -m pip install --target /opt/uv") && !text.contains("APT_MIRROR"),
        "{text}"
    );
    let error = planned("os: ubi8\npython: 3.12\n").unwrap_err();
    assert!(error.message.contains("how to install uv on Red Hat Universal Base Image 8"), "{error}");
    let error = planned("os: rockylinux8\npython: 3.9\n").unwrap_err();
    assert!(
        error.message.contains("package name of Python") && error.hints[0].contains("3.12, 3.11"),
        "{error}"
    );
}

#[test]
fn pythons_of_the_deadsnakes_archive() {
    let request = "os: ubuntu22.04\npython: 3.12\npython_from: deadsnakes\n";
    let text = dockerfile(request);
    assert!(
        text.contains("AS archive") && text.contains("--recv-keys F23C5A6CF475977595C89F51BA6932366A755776"),
        "{text}"
    );
    assert!(
        text.contains("type=bind,from=archive,source=/deadsnakes.gpg,target=/run/deadsnakes.gpg"),
        "{text}"
    );
    assert!(
        text.contains("/deadsnakes/ppa/ubuntu jammy main\" > /etc/apt/sources.list.d/deadsnakes.list"),
        "{text}"
    );
    assert!(text.contains("        python3.12 \\\n        python3.12-venv"), "{text}");
    assert!(text.contains("/usr/bin/python3.12 -m venv /opt/venv"), "{text}");
    let text = dockerfile(&format!("{request}mirrors: {{preset: tuna}}\n"));
    assert!(text.contains("jammy main\" >> /tmp/mirror.list"), "{text}");
    for (request, words) in [
        ("os: debian12\npython: 3.12\npython_from: deadsnakes\n", "has no Python 3.12 for Debian 12"),
        ("os: ubuntu26.04\npython: 3.12\npython_from: deadsnakes\n", "unknown whether"),
        ("base: python\npython: 3.12\npython_from: uv\n", "already in the base image"),
    ] {
        let error = planned(request).unwrap_err();
        assert!(error.message.contains(words), "{request}: {error}");
    }
    assert!(dockerfile("os: ubuntu24.04\npython: 3.12\npython_from: uv\n").contains("uv python install"));
}

#[test]
fn packages_by_their_hashes() {
    let request = ImageRequest::parse("request.yaml", "torch: 2.5.1\ncuda: 12.1\npython: 3.12\n").unwrap();
    let requirements = parse::requirements(universe(), &request.stack_options()).unwrap().requirements;
    let requested = Request { requirements, today: "2026-11-21".into(), ..Request::default() };
    let Outcome::Resolved(resolution) = resolve::resolve(universe(), &requested) else { panic!() };
    let partner = |name: &str, version: &Option<String>| {
        format!("{name}=={} \\\n    --hash=sha256:bb\n", version.as_deref().unwrap())
    };
    let printed = [
        "numpy==2.5.5 \\\n    --hash=sha256:cc\n",
        &partner("torchvision", &resolution.stack.torchvision),
        &partner("torchaudio", &resolution.stack.torchaudio),
        "torch==2.5.1+cu121 \\\n    --hash=sha256:dd\n",
    ]
    .concat();
    let mut kept = Lock::new(&resolution.stack, &requested.requirements);
    kept.packages = Some(lock::parse(&printed));
    let request = ImageRequest { lock: Some(kept.clone()), ..request };
    let planned = plan(catalog(), &request, &resolution).unwrap();
    assert_eq!(planned.lock_drift, Vec::<String>::new());
    let files = render::files(&planned).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(names, ["Dockerfile", ".dockerignore", "requirements.torch.lock", "requirements.lock"]);
    assert!(
        files[0].text.contains("--require-hashes --requirement /run/requirements.lock"),
        "{}",
        files[0].text
    );
    assert!(files[1].text.contains("!requirements.torch.lock"), "{}", files[1].text);
    assert!(files[2].text.ends_with("torch==2.5.1+cu121 \\\n    --hash=sha256:dd\n"), "{}", files[2].text);
    assert!(
        files[2].text.contains("--find-links https://download.pytorch.org/whl/cu121/torch/"),
        "{}",
        files[2].text
    );
}

#[test]
fn a_lock_that_no_longer_fits_is_ignored_and_its_drift_reported() {
    let request =
        ImageRequest::parse("request.yaml", "torch: 2.5.1\ncuda: 12.1\npackages: [jieba]\n").unwrap();
    let requirements = parse::requirements(universe(), &request.stack_options()).unwrap().requirements;
    let requested = Request { requirements, today: "2026-11-21".into(), ..Request::default() };
    let Outcome::Resolved(resolution) = resolve::resolve(universe(), &requested) else { panic!() };
    let mut kept = Lock::new(&resolution.stack, &requested.requirements);
    kept.packages = Some(lock::parse("torch==2.5.1+cu121 \\\n    --hash=sha256:dd\n"));
    let planned = plan(catalog(), &ImageRequest { lock: Some(kept), ..request }, &resolution).unwrap();
    assert!(planned.lock_drift.contains(&"jieba is not in the lock".to_owned()), "{:?}", planned.lock_drift);
    assert_eq!(planned.locked, None);
}

#[test]
fn the_comment_on_torch_names_its_partners_only_where_they_are_installed() {
    let with = dockerfile("torch: 2.5.1\ncuda: 12.1\npython: 3.12\n");
    let without = dockerfile("torch: 2.5.1\ncuda: 12.1\npython: 3.12\npartners: false\n");
    assert!(with.contains("With torchvision 0.20.1 and torchaudio 2.5.1."), "{with}");
    for text in [&with, &without] {
        assert!(text.contains("# 2.5.1 was requested. cu121: CUDA 12.1 was requested."), "{text}");
    }
    assert!(!without.contains("With torchvision"), "{without}");
}

#[test]
fn accepts_variables_that_only_look_like_secrets() {
    for request in [
        "env: {TOKENIZERS_PARALLELISM: 'false', USE_AUTH_TOKEN: 'false'}\n",
        "env: {BUILD_SHA: 8f14e45fceea167a5a36dedd4bea2543a1b2c3d4}\n",
    ] {
        assert!(planned(request).is_ok(), "{request}: {:?}", planned(request).err());
    }
}

#[test]
fn rejects_secrets_and_invalid_packages_and_users() {
    for (request, words) in [
        ("os: ubuntu22.04\napt: [python3.12]\n", "Ubuntu 22.04 has no python3.12"),
        ("apt: [nvidia-driver-550]\n", "must not be installed in an image"),
        ("apt: ['git lfs']\n", "is not the name of a system package"),
        ("env: {HF_TOKEN: x}\n", "looks like a secret"),
        ("env: {AWS_SECRET_ACCESS_KEY: x}\n", "looks like a secret"),
        ("env: {DB_PASS: hunter2}\n", "looks like a secret"),
        ("labels: {token: hf_0123456789abcdefghijABCDEFGHIJ}\n", "looks like a secret"),
        ("env: {SETTING: ghp_0123456789abcdef}\n", "looks like a secret"),
        ("mirrors: {pip_index: 'https://index.example/simple?token=abc'}\n", "password or token"),
        ("packages: ['x @ git+https://me:pass@git.example/x.git']\n", "password or token"),
        ("mirrors: {pip_index: 'https://me:pass@index.example/simple'}\n", "password"),
        ("user: 1000\n", "is not a user name of"),
    ] {
        let error = planned(request).unwrap_err();
        assert!(error.message.contains(words), "{request}: {error}");
    }
}

#[test]
fn serving_images_have_the_compiler_that_triton_calls() {
    let text = dockerfile("packages: [vllm]\n");
    let run = text.split("AS image").nth(1).unwrap();
    assert!(run.contains("        g++ \\\n") && run.contains("        python3-dev \\\n"), "{text}");
    assert!(run.contains("# vllm compiles kernels"), "{text}");
    let plain = dockerfile("packages: [transformers]\n");
    assert!(!plain.contains("g++"), "{plain}");
}

#[test]
fn uv_on_a_system_whose_pip_is_too_old_for_it() {
    let text = dockerfile("os: ubuntu18.04\ntorch: 1.13\n");
    let first = text.find("pip install pip==21.3.1").unwrap();
    let then = text.find("pip install --ignore-requires-python --target /opt/uv uv==").unwrap();
    assert!(first < then, "{text}");
    let newer = dockerfile("os: ubuntu20.04\ntorch: 2.1\npython: 3.10\n");
    assert!(newer.contains("pip install --target /opt/uv uv==") && !newer.contains("pip=="), "{newer}");
}

#[test]
fn what_the_catalog_does_not_have_goes_to_pip() {
    let plan = planned("packages: [pandas, 'transformers[torch]>=4.40']\n").unwrap();
    let text = render::dockerfile(&plan).unwrap();
    assert!(text.contains("        pandas") && text.contains("'transformers[torch]'"), "{text}");
    assert!(text.contains("        transformers==5"), "{text}");
    let about: Vec<&str> = plan
        .warnings
        .iter()
        .filter(|one| one.id == "packages-not-in-catalog")
        .map(|one| one.message.as_str())
        .collect();
    let [about] = about[..] else { panic!("{about:?}") };
    assert!(about.starts_with("Not checked by envdoc: pandas, transformers[torch]."), "{about}");
}

#[test]
fn cpu_stack_has_nothing_of_nvidia() {
    let plan = planned("cuda: cpu\npython: 3.12\npackages: [transformers]\n").unwrap();
    let text = render::dockerfile(&plan).unwrap();
    assert!(text.contains("# No CUDA: torch is a CPU build"), "{text}");
    assert!(text.contains("--index-url https://download.pytorch.org/whl/cpu"), "{text}");
    for word in ["NVIDIA_", "nvidia/", "nvcc", "Requires NVIDIA driver", "TORCH_CUDA_ARCH_LIST"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    assert_eq!(plan.labels["envdoc.cuda"], "cpu");
    assert!(!plan.labels.contains_key("envdoc.driver_min"));
    let expected = &plan.expectations;
    let torch = [&expected.torch_build, &expected.cuda, &expected.nccl, &expected.nvcc];
    assert_eq!(torch.map(|part| part.as_deref()), [Some("cpu"), None, None, None]);
    assert!(expected.imports.contains(&"torch".to_owned()));
    let why = planned("cuda: cpu\ndeepspeed: any\ndeepspeed_ops: [cpu_adam]\n").unwrap_err();
    assert!(why.message.contains("torch is a CPU build"), "{}", why.message);
}
