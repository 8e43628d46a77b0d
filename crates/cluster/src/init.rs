//! A first `cluster.yaml`, filled from what was found on the machines. It has what `cluster up` requires, or
//! is not written.

use std::collections::BTreeMap;

use serde::Serialize;

use diagnostic::error::{Error, Kind};
use diagnostic::visible;
use facts::docker::Endpoint;
use facts::{Fact, Facts};
use image::render::fill;

use crate::validate::value::{self, At, Rule};

const TEMPLATE: &str = include_str!("../../../templates/cluster/cluster.yaml.hbs");

/// The request of an image for several nodes, for who has none.
pub const IMAGE_REQUEST: &str = include_str!("../../../images/multi-node/request.yaml");

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The cluster's name.
    pub name: Option<String>,
    /// The image that every node runs.
    pub image: Option<String>,
    /// The file from which the image is built where none is named, relative to cluster.yaml.
    pub build: String,
    /// The GPUs of each machine of which they could not be read.
    pub gpus: Option<u32>,
    /// The user of the machines' ssh.
    pub user: Option<String>,
    /// What was found on each machine.
    pub nodes: Vec<Found>,
}

/// What was found on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The address that cluster.yaml gets: an IP address or a host name.
    pub address: String,
    /// Whether it is this machine.
    pub own: bool,
    /// How many GPUs; `None`: not known.
    pub gpus: Option<u32>,
    /// Whether it has an InfiniBand or RoCE port that is up; `None`: not known.
    pub rdma: Option<bool>,
    /// What a reader may want to know, each a line.
    pub remarks: Vec<String>,
}

impl Found {
    /// A machine that was not looked at, and why.
    pub fn unseen(address: &str, own: bool, why: &str) -> Found {
        let remarks = vec![format!("not inspected: {why}")];
        Found { address: address.into(), own, gpus: None, rdma: None, remarks }
    }

    /// What matters of a machine's facts.
    pub fn of(address: &str, own: bool, facts: &Facts) -> Found {
        let mut found = Found { address: address.into(), own, gpus: None, rdma: None, remarks: Vec::new() };
        found.gpus(facts);
        found.interface(facts);
        match facts.rdma.fabric() {
            Fact::Known(there) => found.rdma = Some(there),
            Fact::Absent => found.rdma = Some(false),
            Fact::Unknown(why) => found.remarks.push(format!("InfiniBand: unknown ({why})")),
        }
        found
    }

    fn gpus(&mut self, facts: &Facts) {
        match &facts.gpu.list {
            Fact::Known(list) => {
                let mut models: BTreeMap<&str, u32> = BTreeMap::new();
                for gpu in list {
                    *models.entry(gpu.name.as_str()).or_default() += 1;
                }
                let models: Vec<String> =
                    models.iter().map(|(model, count)| format!("{count} x {model}")).collect();
                self.gpus = u32::try_from(list.len()).ok();
                self.remarks.push(if models.is_empty() {
                    "nvidia-smi shows no GPU".into()
                } else {
                    models.join(", ")
                });
            }
            // Without a GPU there is no nvidia-smi as a rule.
            Fact::Absent => match facts.has_gpu() {
                Fact::Known(false) => {
                    self.gpus = Some(0);
                    self.remarks.push("no NVIDIA GPU on the PCI bus".into());
                }
                _ => self.remarks.push("GPUs: unknown (no nvidia-smi)".into()),
            },
            Fact::Unknown(why) => self.remarks.push(format!("GPUs: unknown ({why})")),
        }
    }

    /// The interface that has the machine's address.
    fn interface(&mut self, facts: &Facts) {
        let has = |addresses: &[String]| {
            addresses.iter().any(|one| one.split('/').next() == Some(self.address.as_str()))
        };
        match &facts.network.interfaces {
            Fact::Known(list) => {
                let one =
                    list.iter().find(|one| has(&one.ipv6) || one.ipv4.known().is_some_and(|list| has(list)));
                self.remarks.push(match one {
                    Some(one) => format!("{} is on {}, mtu {}", self.address, one.name, one.mtu),
                    None => format!("no interface with the address {} found", self.address),
                });
            }
            Fact::Absent => {}
            Fact::Unknown(why) => self.remarks.push(format!("interfaces: unknown ({why})")),
        }
    }
}

#[derive(Debug, Serialize)]
struct Values {
    header: String,
    name: Vec<String>,
    image: Vec<String>,
    build: String,
    nodes: Vec<NodeValues>,
    infiniband: bool,
    infiniband_unknown: bool,
}

#[derive(Debug, Serialize)]
struct NodeValues {
    address: String,
    engine: String,
    gpus: u32,
    remarks: Vec<String>,
}

/// Refuses what was asked for where cluster.yaml could not have it. `directory`: the name of the file's
/// directory, which is the cluster's where none is given.
pub fn check(asked: &Asked, directory: Option<&str>) -> Result<(), Error> {
    if asked.name.is_none() {
        let fits =
            At("the name of the directory".to_owned()).fits(&value::CLUSTER, directory.unwrap_or_default());
        fits.map_err(|error| error.hint("pass --name"))?;
    }
    check_options(asked)
}

fn check_options(asked: &Asked) -> Result<(), Error> {
    let fits = |option: &str, rule: &Rule, value: &Option<String>| match value {
        Some(value) => At(option.to_owned()).fits(rule, value).map(drop),
        None => Ok(()),
    };
    fits("--name", &value::CLUSTER, &asked.name)?;
    fits("--image", &value::IMAGE, &asked.image)?;
    fits("--user", &value::SSH_USER, &asked.user)
}

/// The text of the file.
///
/// # Errors
/// How many GPUs a machine has is unknown: then nobody knows how many processes a job has there.
pub fn text(asked: &Asked) -> Result<String, Error> {
    check_options(asked)?;
    let (mut nodes, mut unknown) = (Vec::new(), Vec::new());
    for found in &asked.nodes {
        let Some(gpus) = found.gpus.or(asked.gpus) else {
            unknown.push(found);
            continue;
        };
        let engine = match found.own {
            true => Endpoint::default(),
            false => Endpoint::over_ssh(asked.user.as_deref(), &found.address),
        };
        nodes.push(NodeValues {
            address: quoted(&found.address),
            engine: quoted(engine.as_str()),
            gpus,
            remarks: found.remarks.iter().map(|line| one_line(line)).collect(),
        });
    }
    if !unknown.is_empty() {
        return Err(gpus_unknown(&unknown));
    }
    let values = Values {
        header: format!("written by envdoc {}", env!("CARGO_PKG_VERSION")),
        name: asked.name.iter().map(|name| quoted(name)).collect(),
        image: asked.image.iter().map(|image| quoted(image)).collect(),
        build: quoted(&asked.build),
        nodes,
        infiniband: asked.nodes.iter().all(|node| node.rdma == Some(true)),
        infiniband_unknown: asked.nodes.iter().any(|node| node.rdma.is_none()),
    };
    fill("cluster/cluster.yaml.hbs", TEMPLATE, &values)
}

fn gpus_unknown(nodes: &[&Found]) -> Error {
    let of = |found: &&Found| format!("\n  {}: {}", found.address, one_line(&found.remarks.join("; ")));
    let nodes: String = nodes.iter().map(of).collect();
    let nodes = visible::block(&nodes).into_owned();
    Error::new(Kind::Network, format!("cannot write the cluster file: the number of GPUs is unknown{nodes}"))
        .hint("pass --gpus COUNT (0 for none), or fix access to the machines and run the command again")
}

/// A text that YAML reads as that text; bare where it may be.
fn quoted(text: &str) -> String {
    let bare = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._/:@[]-".contains(c))
        && !text.ends_with(':');
    if bare { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// A comment must not end before its line does.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::ClusterRequest;
    use crate::validate::validate;

    fn inspected(address: &str, gpus: u32, rdma: bool) -> Found {
        Found {
            address: address.into(),
            own: false,
            gpus: Some(gpus),
            rdma: Some(rdma),
            remarks: vec!["8 x H100".into()],
        }
    }

    #[test]
    fn generated_cluster_yaml_validates() {
        let nodes =
            vec![Found { own: true, ..inspected("10.0.18.1", 8, true) }, inspected("fd00::2", 8, true)];
        let asked = Asked {
            name: Some("two".into()),
            image: Some("train:1".into()),
            user: Some("ops".into()),
            nodes,
            ..Default::default()
        };
        let text = text(&asked).unwrap();
        let plan = validate(&ClusterRequest::parse("cluster.yaml", &text).unwrap()).unwrap();
        assert_eq!((plan.world_size(), plan.network.infiniband), (16, true));
        assert_eq!(plan.nodes[0].engine.as_str(), "unix:///var/run/docker.sock");
        assert_eq!(plan.nodes[1].engine.as_str(), "ssh://ops@[fd00::2]");
    }

    #[test]
    fn names_that_cluster_yaml_refuses_are_refused_by_option() {
        let of = |asked: Asked| text(&asked).unwrap_err().message;
        for image in ["a\nb", "a b", "$(x)", "-a", "", "a\u{9b}b", "a\u{202e}b", "a\u{7f}b"] {
            let message = of(Asked { image: Some(image.into()), ..Default::default() });
            assert!(message.starts_with("--image: "), "{image:?}: {message}");
        }
        for name in ["$(x) ../", "A", "", "a\nb", "-a"] {
            let message = of(Asked { name: Some(name.into()), ..Default::default() });
            assert!(message.starts_with("--name: "), "{name:?}: {message}");
        }
        for user in ["-oProxyCommand=x", "a b", "a@b/", "a\nb", ""] {
            let message = of(Asked { user: Some(user.into()), ..Default::default() });
            assert!(message.starts_with("--user: "), "{user:?}: {message}");
        }
    }

    #[test]
    fn without_the_number_of_gpus_there_is_no_file() {
        let unseen = Found::unseen("10.0.18.2", false, "ssh: connect to host\n10.0.18.2: refused");
        let asked = Asked {
            name: Some("two".into()),
            image: Some("a".into()),
            nodes: vec![inspected("10.0.18.1", 8, true), unseen],
            ..Default::default()
        };
        let error = super::text(&asked).unwrap_err();
        let line = "\n  10.0.18.2: not inspected: ssh: connect to host 10.0.18.2: refused";
        assert!(error.message.ends_with(&format!("is unknown{line}")), "{error}");
        let text = super::text(&Asked { gpus: Some(4), ..asked }).unwrap();
        assert!(text.contains("# not inspected: ssh: connect to host 10.0.18.2: refused"), "{text}");
        let request = ClusterRequest::parse("cluster.yaml", &text).unwrap();
        assert!(!request.network.infiniband, "InfiniBand of all nodes is not known\n{text}");
        let plan = validate(&request).unwrap();
        assert_eq!((plan.nodes[0].slots, plan.nodes[1].slots), (8, 4));
    }

    #[test]
    fn a_machine_without_nvidia_smi_has_no_gpu_where_the_bus_shows_none() {
        use facts::testing::{Sparse, sparse::host};
        let mut facts = host(&Sparse::new(&[]));
        facts.gpu.list = Fact::Absent;
        let of = |facts: &Facts| Found::of("10.0.18.1", true, facts).gpus;
        facts.pci.devices = Fact::Unknown("denied".into());
        assert_eq!(of(&facts), None);
        facts.pci.devices = Fact::Known(Vec::new());
        facts.driver.device_nodes = Fact::Absent;
        assert_eq!(of(&facts), Some(0));
        facts.pci.devices = Fact::Known(vec![facts::testing::pci::gpu("0000:1b:00.0")]);
        assert_eq!(of(&facts), None, "there is one, and nobody can count its like");
    }

    #[test]
    fn without_an_image_the_file_names_the_request() {
        let asked = Asked {
            name: Some("two".into()),
            build: "request.yaml".into(),
            nodes: vec![inspected("10.0.18.1", 8, true), inspected("10.0.18.2", 8, true)],
            ..Default::default()
        };
        let request = ClusterRequest::parse("cluster.yaml", &text(&asked).unwrap()).unwrap();
        assert_eq!(request.build.as_deref(), Some("request.yaml"));
        assert!(::image::request::ImageRequest::parse("request.yaml", IMAGE_REQUEST).is_ok());
    }
}
