//! Whole requests.

use super::answer::{Answer, Stack};
use super::request::{Request, Want, Wish};
use super::{resolve, world::World};

/// A request from words as on the command line: `cuda 12.1`, `python 3.12`, `torch 2.5`, `numpy <2`.
fn request(words: &[&str]) -> Request {
    let wish = |text: &&str| {
        let (part, versions) = text.split_once(' ').unwrap_or((text, ""));
        let versions = versions.parse().unwrap();
        let want = match part {
            "cuda" => Want::Cuda(versions),
            "python" => Want::Python(versions),
            "torch" => Want::Torch(versions),
            name => Want::Package(name.to_owned(), versions),
        };
        Wish { says: format!("--{text}"), want }
    };
    Request { wishes: words.iter().map(wish).collect(), today: "2026-11-21".into(), ..Request::default() }
}

fn stack(words: &[&str]) -> Stack {
    match resolve(World::get(), &request(words)) {
        Answer::Found(resolution) => resolution.stack,
        Answer::None(conflict) => panic!("{words:?}: {conflict:?}"),
    }
}

#[test]
fn cuda_12_1_with_python_3_12() {
    let stack = stack(&["cuda 12.1", "python 3.12"]);
    assert_eq!((stack.torch.as_str(), stack.torch_build.as_str()), ("2.5.1", "cu121"));
    assert_eq!(stack.base_image.as_deref(), Some("nvidia/cuda:12.1.1-base-ubuntu22.04"));
    assert_ne!(stack.python_from, "apt");
}
