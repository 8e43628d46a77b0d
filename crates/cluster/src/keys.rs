//! The cluster's SSH keys: one of the clients, one of each node's server, made ahead so that every node knows
//! every other before the first connection. ed25519; on disk as OpenSSH writes them, 0600 in a directory of
//! 0700.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ssh_key::rand_core::OsRng;
use ssh_key::{Algorithm, LineEnding, PrivateKey};

use super::plan::{ClusterPlan, Node, Ssh};
use super::request::NetworkKind;
use diagnostic::error::{Error, Kind};
use host::file;

/// Name of the clients' key.
pub const CLIENT: &str = "id_ed25519";

/// All keys of a cluster. What is private is not shown by `Debug`.
#[derive(Debug, Clone)]
pub struct Keys {
    /// The clients': every node logs in with it on every other.
    pub client: PrivateKey,
    /// The servers', by node.
    pub hosts: BTreeMap<String, PrivateKey>,
}

/// Where the keys of a cluster lie that a file describes: `.envdoc/ssh` next to it.
pub fn directory(origin: Option<&str>) -> PathBuf {
    let above = origin.and_then(|origin| Path::new(origin).parent()).unwrap_or(Path::new(""));
    above.join(".envdoc").join("ssh")
}

/// The keys in a directory; those that are missing are made and written there.
pub fn load_or_make(dir: &Path, plan: &ClusterPlan) -> Result<Keys, Error> {
    prepare(dir)?;
    let client = one(dir, CLIENT, &client_comment(plan))?;
    let mut hosts = BTreeMap::new();
    for node in &plan.nodes {
        hosts.insert(node.name.clone(), one(dir, &host_file(&node.name), &host_comment(plan, node))?);
    }
    Ok(Keys { client, hosts })
}

/// New keys in place of those in a directory.
pub fn rotate(dir: &Path, plan: &ClusterPlan) -> Result<Keys, Error> {
    prepare(dir)?;
    // All are made before the first is written: either there is a new set or the old one stays.
    let keys = make(plan)?;
    save(&dir.join(CLIENT), &keys.client)?;
    for (name, key) in &keys.hosts {
        save(&dir.join(host_file(name)), key)?;
    }
    Ok(keys)
}

/// The keys in a directory; `None` where one is missing. Nothing is written.
pub fn load(dir: &Path, plan: &ClusterPlan) -> Result<Option<Keys>, Error> {
    let Some(client) = existing(dir, CLIENT)? else { return Ok(None) };
    let mut hosts = BTreeMap::new();
    for node in &plan.nodes {
        let Some(key) = existing(dir, &host_file(&node.name))? else { return Ok(None) };
        hosts.insert(node.name.clone(), key);
    }
    Ok(Some(Keys { client, hosts }))
}

/// Removes the host key of a node that is no longer in the cluster. A key that another cluster's node of the
/// same name has is kept.
pub fn forget(dir: &Path, plan: &ClusterPlan, node: &Node) -> Result<(), Error> {
    let name = host_file(&node.name);
    let Some(key) = existing(dir, &name)? else { return Ok(()) };
    if key.comment() == host_comment(plan, node) {
        file::remove_file(&dir.join(&name))?;
        file::remove_file(&dir.join(&name).with_extension("pub"))?;
    }
    Ok(())
}

/// Removes the keys of a cluster: those of its clients, and of every node that it has or had.
pub fn remove(dir: &Path, plan: &ClusterPlan) -> Result<(), Error> {
    for path in file::entries(dir) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let node = name.strip_prefix("host_").and_then(|rest| rest.strip_suffix("_ed25519"));
        let named =
            node.zip(plan.nodes.first()).map(|(node, first)| Node { name: node.into(), ..first.clone() });
        if let Some(node) = named {
            forget(dir, plan, &node)?;
        }
    }
    file::remove_file(&dir.join(CLIENT))?;
    file::remove_file(&dir.join(CLIENT).with_extension("pub"))
}

/// New keys, nowhere written.
pub fn make(plan: &ClusterPlan) -> Result<Keys, Error> {
    let mut hosts = BTreeMap::new();
    for node in &plan.nodes {
        hosts.insert(node.name.clone(), new(&host_comment(plan, node))?);
    }
    Ok(Keys { client: new(&client_comment(plan))?, hosts })
}

fn client_comment(plan: &ClusterPlan) -> String {
    format!("envdoc {}", plan.name)
}

fn host_file(node: &str) -> String {
    format!("host_{node}_ed25519")
}

fn host_comment(plan: &ClusterPlan, node: &Node) -> String {
    format!("envdoc {} {}", plan.name, node.name)
}

/// The directory, for its owner alone, and kept out of git.
fn prepare(dir: &Path) -> Result<(), Error> {
    let above = dir.parent().unwrap_or(dir);
    file::private_directory(above)?;
    file::private_directory(dir)?;
    let ignore = above.join(".gitignore");
    if file::read(&ignore)?.is_none() {
        file::write(&ignore, "# Keys and state of the cluster: do not commit.\n*\n", false)?;
    }
    Ok(())
}

/// A key from its file, or a new one that is written there.
fn one(dir: &Path, name: &str, comment: &str) -> Result<PrivateKey, Error> {
    if let Some(key) = existing(dir, name)? {
        return Ok(key);
    }
    let key = new(comment)?;
    // Another run may have made one meanwhile, which is in use then.
    file::create_with_mode(&dir.join(name), private(&key)?.as_bytes(), 0o600)?;
    save_public(&dir.join(name), &key)?;
    Ok(key)
}

/// A key from its file; `None` where there is none.
fn existing(dir: &Path, name: &str) -> Result<Option<PrivateKey>, Error> {
    let path = dir.join(name);
    let Some(text) = file::read_private(&path)? else { return Ok(None) };
    let wrong = |why: String| {
        Error::new(Kind::File, format!("{}: {why}", path.display()))
            .hint("replace the keys on all nodes: `envdoc cluster rotate-keys`")
    };
    let key =
        PrivateKey::from_openssh(&text).map_err(|error| wrong(format!("not a private key: {error}")))?;
    match key.algorithm() {
        Algorithm::Ed25519 if !key.is_encrypted() => Ok(Some(key)),
        Algorithm::Ed25519 => Err(wrong(
            "the key has a passphrase; ssh between the nodes runs unattended and needs a key \
                without one"
                .into(),
        )),
        other => Err(wrong(format!("the key is {other}, not ed25519"))),
    }
}

fn new(comment: &str) -> Result<PrivateKey, Error> {
    let mut key = PrivateKey::random(&mut OsRng, Algorithm::Ed25519)
        .map_err(|error| Error::new(Kind::File, format!("cannot generate a key: {error}")))?;
    key.set_comment(comment);
    Ok(key)
}

/// Writes both halves: the private one 0600.
fn save(path: &Path, key: &PrivateKey) -> Result<(), Error> {
    file::write_with_mode(path, private(key)?.as_bytes(), 0o600)?;
    save_public(path, key)
}

fn save_public(path: &Path, key: &PrivateKey) -> Result<(), Error> {
    let public = path.with_extension("pub");
    file::write_with_mode(&public, format!("{}\n", self::public(key)?).as_bytes(), 0o644)
}

/// A private key as OpenSSH writes it.
pub fn private(key: &PrivateKey) -> Result<String, Error> {
    key.to_openssh(LineEnding::LF).map(|text| text.to_string()).map_err(unwritable)
}

/// A public key in one line.
pub fn public(key: &PrivateKey) -> Result<String, Error> {
    key.public_key().to_openssh().map_err(unwritable)
}

fn unwritable(error: ssh_key::Error) -> Error {
    Error::new(Kind::File, format!("cannot encode a key: {error}"))
}

impl Keys {
    /// Whether they were made for this cluster: several clusters may share a directory.
    pub fn are_of(&self, plan: &ClusterPlan) -> bool {
        self.client.comment() == client_comment(plan)
    }

    /// The file `known_hosts`: each node under every name that ssh looks it up by.
    pub fn known_hosts(&self, plan: &ClusterPlan, ssh: &Ssh) -> Result<String, Error> {
        let mut text = String::new();
        for node in &plan.nodes {
            let Some(key) = self.hosts.get(&node.name) else { continue };
            let mut names = vec![looked_up(&node.name, ssh.port)];
            if plan.network.kind == NetworkKind::Host {
                names.push(looked_up(&node.address, ssh.port));
            }
            let bare = ssh_key::PublicKey::new(key.public_key().key_data().clone(), "");
            let line = bare.to_openssh().map_err(unwritable)?;
            text.push_str(&format!("{} {}\n", names.join(","), line.trim_end()));
        }
        Ok(text)
    }

    /// The file `authorized_keys`: the clients' key, without forwarding of any kind; a terminal is allowed.
    /// Where the overlay's addresses are settled, only from there.
    pub fn authorized_keys(&self, plan: &ClusterPlan) -> Result<String, Error> {
        let from = plan.network.subnet.as_ref().map_or(String::new(), |subnet| format!(",from=\"{subnet}\""));
        Ok(format!("restrict,pty{from} {}\n", public(&self.client)?))
    }
}

/// A host as known_hosts names it: `[node1]:2222`, or bare on ssh's own port.
fn looked_up(host: &str, port: u16) -> String {
    if port == 22 { host.to_owned() } else { format!("[{host}]:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::two_nodes as plan;

    #[test]
    fn keys_are_made_once_kept_and_rotated() {
        let dir = tempfile::tempdir().unwrap();
        let ssh = directory(Some(&format!("{}/cluster.yaml", dir.path().display())));
        let plan = plan("");
        let first = load_or_make(&ssh, &plan).unwrap();
        let again = load_or_make(&ssh, &plan).unwrap();
        assert_eq!(public(&first.client).unwrap(), public(&again.client).unwrap());
        assert_eq!(first.hosts["node2"].public_key(), again.hosts["node2"].public_key());
        let loaded = load(&ssh, &plan).unwrap().unwrap();
        assert_eq!(public(&first.client).unwrap(), public(&loaded.client).unwrap());
        let rotated = rotate(&ssh, &plan).unwrap();
        assert_ne!(public(&first.client).unwrap(), public(&rotated.client).unwrap());
        assert_eq!(
            public(&load_or_make(&ssh, &plan).unwrap().client).unwrap(),
            public(&rotated.client).unwrap()
        );
        assert!(file::read(&dir.path().join(".envdoc/.gitignore")).unwrap().unwrap().ends_with("\n*\n"));
        assert_eq!(file::mode(&ssh), Some(0o700));
        assert_eq!(file::mode(&ssh.join("id_ed25519")), Some(0o600));
        assert_eq!(file::mode(&ssh.join("host_node1_ed25519.pub")), Some(0o644));
        let other = ClusterPlan { name: "other".into(), ..plan.clone() };
        forget(&ssh, &other, &plan.nodes[1]).unwrap();
        assert!(load(&ssh, &plan).unwrap().is_some(), "it belongs to another cluster");
        forget(&ssh, &plan, &plan.nodes[1]).unwrap();
        assert!(load(&ssh, &plan).unwrap().is_none());
        assert!(!file::exists(&ssh.join("host_node2_ed25519.pub")));
        // A node that left the file has its key still; that of another cluster stays.
        let third = |plan: &ClusterPlan, name: &str| {
            let node = Node { name: name.into(), ..plan.nodes[0].clone() };
            let with = ClusterPlan { nodes: vec![node], ..plan.clone() };
            load_or_make(&ssh, &with).unwrap();
        };
        third(&plan, "node3");
        third(&other, "node4");
        remove(&ssh, &plan).unwrap();
        let left: Vec<_> =
            file::entries(&ssh).into_iter().filter(|path| path.extension().is_none()).collect();
        assert_eq!(left, [ssh.join("host_node4_ed25519")]);
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let ssh = dir.path().join(".envdoc/ssh");
        load_or_make(&ssh, &plan("")).unwrap();
        let text = file::read(&ssh.join(CLIENT)).unwrap().unwrap();
        file::write_with_mode(&ssh.join(CLIENT), text.as_bytes(), 0o644).unwrap();
        let error = load_or_make(&ssh, &plan("")).unwrap_err();
        assert!(error.message.contains("0644") && error.hints[0].contains("chmod 600"), "{error:?}");
        file::write_with_mode(&ssh.join(CLIENT), b"nothing", 0o600).unwrap();
        let error = load_or_make(&ssh, &plan("")).unwrap_err();
        assert!(error.message.contains("not a private key"), "{error:?}");
    }

    #[test]
    fn known_hosts_has_the_names_ssh_looks_up() {
        let overlay = plan("");
        let keys = make(&overlay).unwrap();
        let known = keys.known_hosts(&overlay, overlay.ssh.as_ref().unwrap()).unwrap();
        assert!(known.starts_with("[node1]:2222 ssh-ed25519 AAAA") && known.lines().count() == 2, "{known}");
        let host = plan("network: {kind: host}");
        let known = keys.known_hosts(&host, host.ssh.as_ref().unwrap()).unwrap();
        assert!(known.contains("[node2]:2222,[10.0.0.2]:2222 ssh-ed25519"), "{known}");
        assert!(!format!("{keys:?}").contains("PRIVATE"));
    }

    #[test]
    fn authorized_key_forbids_forwarding() {
        let plan = plan("network: {subnet: 10.20.0.0/24}");
        let text = make(&plan).unwrap().authorized_keys(&plan).unwrap();
        assert!(text.starts_with("restrict,pty,from=\"10.20.0.0/24\" ssh-ed25519 AAAA"), "{text}");
        assert!(text.ends_with(" envdoc two-node\n"), "{text}");
    }
}
