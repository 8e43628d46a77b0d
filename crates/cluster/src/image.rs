//! One image on every node: who has it, who gets it, and from where.

use super::observed_state::ObservedState;
use super::plan::{ClusterPlan, Image};
use super::problem::{Problem, Step};
use crate::worker::bundle;
use diagnostic::Fix;
use docker::image::Identity;
use docker::reference::registry;

const STEP: Step = Step::Image;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Every node has the same.
    Same(Identity),
    /// The image is built on the first node, and comes to the others from there.
    Build,
    /// No node has it: every node pulls it.
    Pull,
    /// One has it; these (by their places) lack it, or have another of the name.
    Send {
        /// Place of the node that has it.
        from: usize,
        /// Places of those that get it.
        to: Vec<usize>,
        /// Whether its name says a registry, which is asked first.
        registry: bool,
    },
}

/// Decides. `current` says whether an image that is to be built is on the first node as its request wants it.
pub fn decide(plan: &ClusterPlan, observed: &[ObservedState], current: bool) -> Decision {
    let built = matches!(plan.image, Image::Built { .. });
    if built && (!current || observed.first().is_none_or(|first| first.image.is_none())) {
        return Decision::Build;
    }
    let Some((from, image)) =
        observed.iter().enumerate().find_map(|(index, node)| node.image.as_ref().map(|image| (index, image)))
    else {
        return Decision::Pull;
    };
    let differs = |node: &ObservedState| !node.image.as_ref().is_some_and(|other| other.same(image));
    let to: Vec<usize> =
        observed.iter().enumerate().filter(|(_, node)| differs(node)).map(|(index, _)| index).collect();
    match to.is_empty() {
        true => Decision::Same(image.clone()),
        false => {
            let registry = plan.registry.is_some() || !built && of_registry(plan.image_name());
            Decision::Send { from, to, registry }
        }
    }
}

/// Whether a name says in which registry the image is: Docker Hub's short names are also those of images that
/// were built here.
fn of_registry(name: &str) -> bool {
    registry(name) != "docker.io"
}

/// An image of another processor than a node's would end with "exec format error".
pub fn misfits(image: &Identity, observed: &[ObservedState]) -> Vec<Problem> {
    let Some(of_image) = &image.architecture else { return Vec::new() };
    let misfit = |node: &&ObservedState| {
        node.machine.architecture.as_deref().is_some_and(|of_node| kernel(of_node) != kernel(of_image))
    };
    let problem = |node: &ObservedState| {
        let machine = node.machine.architecture.as_deref().unwrap_or_default();
        Problem::of(
            STEP,
            &node.name,
            format!("the image is built for {of_image}, but {} is {machine}", node.name),
        )
        .fix(Fix::manual("Build the image for that platform, or remove the node from cluster.yaml"))
    };
    observed.iter().filter(misfit).map(problem).collect()
}

/// Whether envdoc's worker runs in it.
pub fn worker_fits(image: &Identity) -> Result<(), Problem> {
    bundle::fits(image.architecture.as_deref().unwrap_or(std::env::consts::ARCH)).map_err(|why| {
        Problem::new(STEP, format!("envdoc's worker cannot run in this image: {why}"))
            .fix(Fix::manual("Run envdoc on a machine with the image's CPU architecture"))
    })
}

fn kernel(architecture: &str) -> &str {
    match architecture {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, id: Option<&str>) -> ObservedState {
        let image = id.map(|id| Identity {
            id: id.into(),
            architecture: Some("amd64".into()),
            ..Identity::default()
        });
        ObservedState { name: name.into(), image, ..ObservedState::default() }
    }

    #[test]
    fn recognizes_image_names_with_a_registry() {
        for name in
            ["registry.example.org/team/train:1", "localhost:5000/train", "r.example:5000/a/b@sha256:00"]
        {
            assert!(of_registry(name), "{name}");
        }
        for name in ["train:envdoc", "team/train:1", "lab"] {
            assert!(!of_registry(name), "{name}");
        }
    }

    #[test]
    fn who_gets_the_image_from_whom() {
        let text =
            "name: abc\nimage: IMAGE\nnodes: [{address: 10.0.0.1, gpus: 1}, {address: 10.0.0.2, gpus: 1}]\n";
        let plan = |image: &str| {
            let request = crate::request::ClusterRequest::parse("x", &text.replace("IMAGE", image)).unwrap();
            crate::validate::validate(&request).unwrap()
        };
        let both = [node("node1", Some("sha256:1")), node("node2", Some("sha256:1"))];
        assert!(matches!(decide(&plan("train:1"), &both, true), Decision::Same(_)));
        let second = [node("node1", None), node("node2", Some("sha256:1"))];
        assert_eq!(
            decide(&plan("train:1"), &second, true),
            Decision::Send { from: 1, to: vec![0], registry: false }
        );
        let unlike = [node("node1", Some("sha256:1")), node("node2", Some("sha256:2"))];
        let send = Decision::Send { from: 0, to: vec![1], registry: true };
        assert_eq!(decide(&plan("r.example/train:1"), &unlike, true), send);
        assert_eq!(decide(&plan("train:1"), &[node("node1", None)], true), Decision::Pull);
    }

    #[test]
    fn reports_nodes_of_another_architecture_than_the_image() {
        let mut arm = node("node2", None);
        arm.machine.architecture = Some("aarch64".into());
        let image = node("node1", Some("sha256:1")).image.unwrap();
        assert_eq!(misfits(&image, &[node("node1", None), arm]).len(), 1);
    }
}
