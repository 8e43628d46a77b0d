//! The commands that install a stack.

use super::answer::Stack;

/// Commands for the active environment, in order: first what must be there before the next one is built.
pub fn commands(stack: &Stack) -> Vec<String> {
    let mut packages = vec![format!("torch=={}", stack.torch)];
    let partners = [("torchvision", &stack.torchvision), ("torchaudio", &stack.torchaudio)];
    packages
        .extend(partners.iter().filter_map(|(name, version)| Some(format!("{name}=={}", version.as_ref()?))));
    let rest = stack.packages.iter().map(|(name, version)| format!("{name}=={version}"));
    let index = stack.index_url.as_ref().map_or(String::new(), |url| format!(" --index-url {url}"));
    vec![
        format!("pip install{index} {}", packages.join(" ")),
        format!("pip install {}", rest.collect::<Vec<_>>().join(" ")),
    ]
}
