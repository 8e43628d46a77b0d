//! Options over a request file: both are an [`ImageRequest`], and so is the result.

use resolve::outcome::Warning;
use resolve::parameter::{Naming, Source};
use resolve::parse::{self, ParameterError, Parsed, StackOptions};
use resolve::universe::Universe;

use crate::request::ImageRequest;
use diagnostic::error::{Error, Kind};

/// A request of which every key has its value, and which part of the stack's requirements came from where:
/// each is reported in the words of its source.
#[derive(Debug, Clone, Default)]
pub struct Merged {
    /// The options over the file.
    pub request: ImageRequest,
    /// What the file requires of the stack, without what an option replaces.
    file_options: StackOptions,
    /// What the options require of the stack.
    cli_options: StackOptions,
}

impl Merged {
    /// `options` win over `file`, key by key; lists of packages, copies and variables are joined.
    pub fn new(file: ImageRequest, options: &ImageRequest) -> Merged {
        let (file_stack, option_stack) = (file.stack_options(), options.stack_options());
        let request = merge(file, options);
        // The packages of both are in the request.
        let with = request.stack_options().with;
        Merged {
            file_options: without(StackOptions { with, ..file_stack }, options, request.base_image.is_some()),
            cli_options: StackOptions {
                with: Vec::new(),
                compile: options.compile.is_some(),
                ..option_stack
            },
            request,
        }
    }

    /// The system of the base image, which replaces that of the request.
    pub fn set_system(&mut self, system: &str) {
        self.request.os = Some(system.to_owned());
        self.file_options.os = None;
        self.cli_options.os = Some(system.to_owned());
    }

    /// The requirements of the file and of the options, in the words of each.
    pub fn requirements(&self, universe: &Universe) -> Result<Parsed, Error> {
        let file = parse::requirements(universe, &self.file_options).map_err(|error| self.in_file(error))?;
        let options = parse::requirements(universe, &self.cli_options)?;
        let mut warnings: Vec<Warning> = file.warnings;
        warnings.extend(options.warnings);
        let mut requirements = file.requirements;
        for requirement in &mut requirements {
            if let Source::Given { naming, .. } = &mut requirement.source {
                *naming = Naming::Keys;
            }
        }
        requirements.extend(options.requirements);
        requirements.extend(self.request.own_base());
        Ok(Parsed { requirements, warnings })
    }

    fn in_file(&self, error: ParameterError) -> Error {
        let message = error.message(Naming::Keys);
        let message = match self.request.origin.as_deref() {
            None | Some("") => message,
            Some(name) => format!("{name}: {message}"),
        };
        Error { kind: Kind::Usage, message, hints: error.hints }
    }
}

/// What a file requires of the stack, without what an option replaces.
fn without(file: StackOptions, options: &ImageRequest, own_base: bool) -> StackOptions {
    let keep = |value: Option<String>, option: bool| value.filter(|_| !option);
    StackOptions {
        cuda: keep(file.cuda, options.cuda.is_some()),
        python: keep(file.python, options.python.is_some()),
        torch: keep(file.torch, options.torch.is_some()),
        deepspeed: keep(file.deepspeed, options.deepspeed.is_some()),
        driver: keep(file.driver, options.driver.is_some()),
        os: keep(file.os, options.os.is_some()),
        arch: keep(file.arch, !options.architectures.is_empty()),
        base: keep(file.base, options.base.is_some() || own_base),
        gpu: if options.gpus.is_empty() { file.gpu } else { Vec::new() },
        ..file
    }
}

/// The keys of `options` put over those of `file`.
fn merge(file: ImageRequest, options: &ImageRequest) -> ImageRequest {
    let mut request = file;
    single_values(&mut request, options);
    lists(&mut request, options);
    let mirrors = &options.mirrors;
    put(&mirrors.preset, &mut request.mirrors.preset);
    put(&mirrors.pip_index, &mut request.mirrors.pip_index);
    put(&mirrors.apt, &mut request.mirrors.apt);
    put(&mirrors.python, &mut request.mirrors.python);
    request.mirrors.extra_index.extend(mirrors.extra_index.iter().cloned());
    request.mirrors.from_host |= mirrors.from_host;
    request
}

fn put<T: Clone>(option: &Option<T>, field: &mut Option<T>) {
    if option.is_some() {
        field.clone_from(option);
    }
}

fn single_values(request: &mut ImageRequest, options: &ImageRequest) {
    put(&options.name, &mut request.name);
    put(&options.cuda, &mut request.cuda);
    put(&options.python, &mut request.python);
    put(&options.torch, &mut request.torch);
    put(&options.deepspeed, &mut request.deepspeed);
    put(&options.driver, &mut request.driver);
    put(&options.os, &mut request.os);
    put(&options.base_image, &mut request.base_image);
    put(&options.base_python, &mut request.base_python);
    put(&options.base_nvcc, &mut request.base_nvcc);
    put(&options.base_digest, &mut request.base_digest);
    put(&options.base_devel, &mut request.base_devel);
    put(&options.python_from, &mut request.python_from);
    put(&options.wheels, &mut request.wheels);
    put(&options.proxy, &mut request.proxy);
    put(&options.user, &mut request.user);
    put(&options.workdir, &mut request.workdir);
    put(&options.ca_certificates, &mut request.ca_certificates);
    put(&options.cache, &mut request.cache);
    request.compile = request.compile.or(options.compile);
    if options.base.is_some() {
        request.base.clone_from(&options.base);
        request.base_image = None;
    }
}

fn lists(request: &mut ImageRequest, options: &ImageRequest) {
    for (option, field) in [
        (&options.deepspeed_ops, &mut request.deepspeed_ops),
        (&options.architectures, &mut request.architectures),
        (&options.gpus, &mut request.gpus),
        (&options.from, &mut request.from),
    ] {
        if !option.is_empty() {
            field.clone_from(option);
        }
    }
    for package in &options.packages {
        let name = parse::package_name(package);
        request.packages.retain(|other| parse::package_name(other) != name);
        request.packages.push(package.clone());
    }
    request.presets.extend(options.presets.iter().cloned());
    request.apt.extend(options.apt.iter().cloned());
    request.copy.extend(options.copy.iter().cloned());
    request.env.extend(options.env.clone());
    request.labels.extend(options.labels.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> ImageRequest {
        ImageRequest::parse("r.yaml", text).unwrap()
    }

    fn sources(file: &str, options: &str) -> Vec<String> {
        let merged = Merged::new(request(file), &request(options));
        let requirements = merged.requirements(resolve::testing::universe()).unwrap();
        requirements.requirements.into_iter().map(|requirement| requirement.source.to_string()).collect()
    }

    #[test]
    fn option_overrides_the_key_and_is_the_reported_source() {
        let file = "cuda: 12.1\ntorch: 2.5\npackages: [numpy<2]\n";
        assert_eq!(sources(file, "cuda: 12.4\n"), ["torch 2.5", "packages numpy<2", "--cuda 12.4"]);
        assert_eq!(sources(file, "packages: [numpy]\n"), ["cuda 12.1", "torch 2.5", "packages numpy"]);
        assert_eq!(sources("gpus: [h100]\n", "gpus: [a100]\n"), ["--gpu a100"]);
    }

    #[test]
    fn lists_are_joined_and_single_values_replaced() {
        let file = request("user: ann\napt: [git]\nenv: {A: x, B: y}\nmirrors: {preset: tuna}\n");
        let options =
            request("user: bob\napt: [vim]\nenv: {B: z}\nmirrors: {from_host: true}\ncache: false\n");
        let merged = Merged::new(file, &options).request;
        assert_eq!((merged.user.as_deref(), merged.apt.join(" ")), (Some("bob"), "git vim".into()));
        assert_eq!(merged.env.values().collect::<Vec<_>>(), ["x", "z"]);
        assert!(merged.mirrors.from_host && merged.mirrors.preset.is_some() && !merged.uses_cache());
    }

    #[test]
    fn base_option_overrides_base_image_of_the_file() {
        let merged = Merged::new(request("base_image: team/base:1\n"), &request("base: cuda\n"));
        assert_eq!((merged.request.base_image, merged.request.base.as_deref()), (None, Some("cuda")));
    }

    #[test]
    fn a_mistake_in_the_file_names_the_file_and_the_key() {
        let mut file = request("gpus: [no-such-gpu]\n");
        file.origin = Some("r.yaml".into());
        let error = Merged::new(file, &ImageRequest::default())
            .requirements(resolve::testing::universe())
            .unwrap_err();
        assert!(error.message.starts_with("r.yaml: gpus: unknown GPU"), "{error}");
    }
}
