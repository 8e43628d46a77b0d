//! Files of the system and of packages: of each only the keys that facts read.

use serde_json::Value;

use super::{HIDDEN, listed};

/// Keys of os-release(5) that name the system.
const OS_RELEASE: &str = "\
    NAME ID ID_LIKE VERSION VERSION_ID VERSION_CODENAME UBUNTU_CODENAME PRETTY_NAME PLATFORM_ID CPE_NAME";
/// Services and actions of nsswitch.conf(5).
const NAME_SERVICES: &str = "\
    passwd: group: shadow: gshadow: hosts: networks: protocols: services: ethers: rpc: netgroup: subid: \
    automount: aliases: bootparams: netmasks: publickey: initgroups: sudoers: \
    files db dns compat systemd myhostname mymachines resolve nis nisplus ldap sss winbind wins mdns \
    mdns4 mdns6 mdns_minimal mdns4_minimal mdns6_minimal extrausers altfiles usrfiles hesiod libvirt \
    libvirt_guest cache [NOTFOUND=return] [!UNAVAIL=return] [SUCCESS=merge] [UNAVAIL=return] \
    [SUCCESS=return] [TRYAGAIN=continue] [NOTFOUND=continue]";

/// Lines `KEY=value` of the keys that name the system.
pub(super) fn os_release(text: &str) -> String {
    kept(text, |line| line.split_once('=').is_some_and(|(key, _)| listed(OS_RELEASE, key.trim())))
}

/// pyvenv.cfg: the interpreter and its version.
pub(super) fn virtual_environment(text: &str) -> String {
    const KEYS: &str = "home include-system-site-packages version version_info uv implementation executable";
    kept(text, |line| line.split_once('=').is_some_and(|(key, _)| listed(KEYS, key.trim())))
}

/// Words that are no service become `***`.
pub(super) fn name_services(text: &str) -> String {
    let lines = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        let (database, services) = words.split_first()?;
        let shown = services.iter().map(|word| if listed(NAME_SERVICES, word) { *word } else { HIDDEN });
        listed(NAME_SERVICES, database).then(|| format!("{database} {}", shown.collect::<Vec<_>>().join(" ")))
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// ld.so.conf: directories and includes, without comments.
pub(super) fn loader(text: &str) -> String {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let known = lines.filter(|line| line.starts_with('/') || line.starts_with("include "));
    known.collect::<Vec<_>>().join("\n") + "\n"
}

/// METADATA of a Python package, and dpkg's status: names and versions.
pub(super) fn package(text: &str) -> String {
    const KEYS: &str = "\
        Metadata-Version Name Version Requires-Dist Requires-Python Provides-Extra Package Status \
        Architecture Source Depends";
    let keep =
        |line: &str| line.split_once(": ").is_some_and(|(key, _)| listed(KEYS, key)) || line.is_empty();
    kept(text, keep)
}

/// torch/version.py: assignments of versions.
pub(super) fn torch_version(text: &str) -> String {
    kept(text, |line| {
        let name = line.split([' ', ':', '=']).next().unwrap_or_default();
        let value = line.rsplit('=').next().unwrap_or_default().trim();
        let inner = value.trim_matches(['\'', '"']);
        let version = inner.len() < 48
            && inner.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-_".contains(&byte));
        match name {
            "__version__" | "cuda" | "hip" => version,
            "debug" => ["True", "False"].contains(&value),
            _ => false,
        }
    })
}

/// A script of pyenv: which installation it belongs to.
pub(super) fn shim(text: &str) -> String {
    kept(text, |line| line.starts_with("#!") || line.trim_start().starts_with("export PYENV_ROOT="))
}

/// A file that holds a word a line, such as `.python-version`.
pub(super) fn word_lines(text: &str) -> String {
    kept(text, |line| {
        line.len() < 80 && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/+:~-".contains(&byte))
    })
}

/// ufw's rules: what they let in, without the comments of persons, which ufw writes in hexadecimal.
pub(super) fn firewall_rules(text: &str) -> String {
    let lines = text.lines().filter_map(|line| {
        let line = line.split(" comment=").next().unwrap_or_default();
        let rule = line.starts_with("### tuple ### ") || line.starts_with("-A ") || line.starts_with('*');
        (rule || !line.starts_with('#')).then(|| line.to_owned())
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

fn kept(text: &str, keep: impl Fn(&str) -> bool) -> String {
    text.lines().filter(|line| keep(line)).collect::<Vec<_>>().join("\n") + "\n"
}

/// JSON in which only these keys hold texts; a text that is no JSON is hidden.
pub(super) fn json(text: &str, keys: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return HIDDEN.to_owned() };
    keep_keys(&mut value, keys);
    value.to_string()
}

fn keep_keys(value: &mut Value, keys: &str) {
    match value {
        Value::Object(map) => {
            map.retain(|key, inner| listed(keys, key) || inner.is_object() || inner.is_boolean());
            map.values_mut().for_each(|inner| keep_keys(inner, keys));
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| keep_keys(inner, keys)),
        _ => {}
    }
}

/// A context of the docker program: `{"Name":"gpu","Endpoints":{"docker":{"Host":"ssh://root@gpu"}}}`
pub(super) fn docker_context(text: &str) -> String {
    let Ok(meta) = serde_json::from_str::<Value>(text) else { return HIDDEN.to_owned() };
    let endpoint = meta.pointer("/Endpoints/docker").cloned().unwrap_or_default();
    let mut shown = serde_json::Map::new();
    if let Some(host) = endpoint.get("Host").and_then(Value::as_str).filter(|host| host.contains("://")) {
        shown.insert("Host".to_owned(), host.into());
    }
    if let Some(skips) = endpoint.get("SkipTLSVerify").filter(|skips| skips.is_boolean()) {
        shown.insert("SkipTLSVerify".to_owned(), skips.clone());
    }
    let name = meta.get("Name").filter(|name| name.is_string()).cloned().unwrap_or_default();
    serde_json::json!({ "Name": name, "Endpoints": { "docker": shown } }).to_string()
}
