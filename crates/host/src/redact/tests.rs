use super::*;
use crate::Reading;
use crate::snapshot::{Kept, Snapshot};
use std::collections::BTreeMap;

pub(super) fn redacted(readings: &[(&str, &str)]) -> BTreeMap<String, Kept> {
    let readings = readings.iter().map(|(ask, text)| ((*ask).to_owned(), Reading::Text((*text).to_owned())));
    Snapshot::of(readings.collect()).redact().readings
}

pub(super) fn text<'r>(readings: &'r BTreeMap<String, Kept>, ask: &str) -> &'r str {
    match &readings[ask] {
        Kept::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn replaces_user_and_machine_names_and_keeps_the_rest() {
    let readings = redacted(&[
        ("read /proc/sys/kernel/hostname", "gpu-17.corp.lan\n"),
        ("read /etc/hosts", "127.0.0.1 localhost\n10.20.30.41 gpu-17 gpu-17.corp.lan\n10.20.30.42 storage\n"),
        (
            "environment",
            "HOME=/home/alice\nHTTPS_PROXY=http://alice:geheim@proxy.corp.lan:3128\nUSER=alice\n\
             SLURM_JOB_ID=7\nSLURM_JOB_NAME=secret",
        ),
        ("read /etc/group", "root:x:0:\ndocker:x:998:alice,bob\nalice:x:1000:\n"),
        (
            "run nvidia-smi -q -x",
            "<driver_version>550.90.07</driver_version><serial>1322621008</serial><uuid>\
             GPU-5a2b6f10-0d6c-4f3b-9c1e-0123456789ab</uuid>",
        ),
        (
            "read /proc/net/if_inet6",
            "fe80000000000000021a4afffe160102 02 40 20 80     eth0\n00000000000000000000000000000001 01 80 \
                10 80 lo\n",
        ),
        ("read /proc/net/route", "Iface\tDestination\tGateway \tFlags\neth0\t00000000\t011E140A\t0003\n"),
        ("read /sys/class/net/eth0/address", "52:54:00:12:34:56\n"),
        (
            "engine unix:///var/run/docker.sock /info",
            r#"{"ID":"AAAA:BBBB","Name":"gpu-17","ServerVersion":"27.3.1",
                "Swarm":{"NodeAddr":"10.20.30.41","NodeID":"x"}}"#,
        ),
        ("find /usr/lib libnccl", "libnccl.so.2.21.5"),
        ("read /home/alice/.venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.3\n"),
        ("run dpkg-query -W", "libcudnn9-cuda-12 9.1.0.70-1\n"),
    ]);
    let all: String = readings.iter().map(|(ask, kept)| format!("{ask} {kept:?}\n")).collect();
    for secret in [
        "gpu-17",
        "corp",
        "alice",
        "bob",
        "geheim",
        "10.20.30",
        "1322621008",
        "5a2b6f10",
        "52:54",
        "AAAA",
        "storage",
        "secret",
        "021a4a",
        "011E140A",
    ] {
        assert!(!all.contains(secret), "{secret} is left in\n{all}");
    }
    for kept in [
        "550.90.07",
        "27.3.1",
        "127.0.0.1",
        "libnccl.so.2.21.5",
        "9.1.0.70-1",
        "SLURM_JOB_ID=7",
        "docker:x:998:",
        "3.12.3",
    ] {
        assert!(all.contains(kept), "{kept} was taken out of\n{all}");
    }
    assert_eq!(
        text(&readings, "read /etc/hosts"),
        "127.0.0.1\tlocalhost\n10.1.30.41\thost-1 host-1\n10.1.30.42\tpeer-1\n"
    );
    assert!(
        text(&readings, "engine unix:///var/run/docker.sock /info").contains(r#""NodeAddr":"10.1.30.41""#)
    );
    assert!(text(&readings, "environment").contains("http://***@server-1.example:3128"));
    assert!(readings.contains_key("read /home/user-1/.venv/pyvenv.cfg"));
    let route = text(&readings, "read /proc/net/route");
    assert!(route.contains("eth0\t00000000\t011E010A\t0003"), "{route}");
}

/// Each reading as it was found to leak before (`DOCKER_PASS=hunter2 envdoc snapshot`).
#[test]
fn credentials_survive_nowhere() {
    let readings = redacted(&[
        (
            "environment",
            "DOCKER_AUTH_CONFIG={\"auths\":{\"r\":{\"auth\":\"YWxpY2U6UzNj\"}}}\nDOCKER_PASS=hunter2\n\
             DOCKER_PAT=dckr_pat_x1\n\
             NVIDIA_KEY=nvapi-0123456789\nNCCL_X=hf_AAAABBBBCCCC\n\
             PIP_EXTRA_INDEX_URL=https://i.example.net/s?token=Qq1\n\
             HTTP_PROXY=bob:pw77@proxy:3128\nUV_INDEX_URL=https://bob:p/w:S3cret@i.example.net/simple\n\
             PIP_INDEX_URL=https://bob:S3c@ret2@i.example.net/simple\nPIP_SURPRISE=hunter2\n\
             MASTER_ADDR=gpunode7.corp.example\nNO_PROXY=localhost,.svc,intra.corp.example\n\
             DOCKER_HOST=tcp://bastion:2375",
        ),
        (
            "read /etc/environment",
            "HF_TOKEN=abcdef1\nWANDB_API_KEY=\"abcdef1\"\nNCCL_DEBUG=INFO\nOTHER=hunter2\n",
        ),
        (
            "read /lib/systemd/system/docker.service",
            "[Service]\nEnvironment=DOCKER_PASSWORD=hunter2\nExecStart=/usr/bin/dockerd -H fd:// \\\n  \
                --log-opt splunk-token=hunter2\n",
        ),
        (
            "read /etc/docker/daemon.json",
            r#"{"log-opts":{"splunk-token":"hunter2","max-size":"10m"},"labels":["team=hunter2"],
            "data-root":"/data/docker","insecure-registries":["registry.corp.example:5000"],
            "runtimes":{"nvidia":{"path":"nvidia-container-runtime"}}}"#,
        ),
        (
            "read /proc/cmdline",
            "root=/dev/sda1 rd.iscsi.password=hunter2 luks.key=hunter2 ip=203.0.113.7::203.0.113.1: quiet",
        ),
        ("read /etc/pip.conf", "[global]\nindex-url = https://i/simple\npassword = hunter2\n"),
        (
            "read /etc/uv/uv.toml",
            "[[index]]\nurl = \"https://i/simple?token=hunter2\"\ntoken = \"hunter2\"\n",
        ),
        (
            "read /var/lib/kubelet/config.yaml",
            "cgroupDriver: systemd\nstaticPodURLHeader:\n  Authorization: [Bearer hunter2]\n",
        ),
        ("read /etc/nccl.conf", "NCCL_DEBUG=INFO\nSECRET=hunter2\n"),
        ("read /root/.docker/config.json", r#"{"auths":{"r":{"auth":"hunter2"}},"currentContext":"gpu"}"#),
        ("read /srv/notes", "hunter2"),
        ("run cat /srv/notes", "hunter2"),
        ("read /etc/resolv.conf", "search corp.example\nnameserver 10.0.0.2\n"),
        ("run dmesg", "[1.0] mail alice@corp.example -----BEGIN PRIVATE KEY-----\nhunter2\n"),
    ]);
    let all: String = readings.iter().map(|(ask, kept)| format!("{ask} {kept:?}\n")).collect();
    for secret in [
        "hunter2",
        "YWxpY2U6UzNj",
        "dckr_pat",
        "nvapi-",
        "hf_AAAA",
        "Qq1",
        "pw77",
        "S3cret",
        "S3c@",
        "ret2",
        "abcdef1",
        "corp",
        "bastion",
        "alice",
    ] {
        assert!(!all.contains(secret), "{secret} is left in\n{all}");
    }
    for kept in [
        "NCCL_DEBUG=INFO",
        "localhost,.svc,",
        "10m",
        "/data/docker",
        "nvidia-container-runtime",
        "cgroupDriver: systemd",
    ] {
        assert!(all.contains(kept), "{kept} was taken out of\n{all}");
    }
    assert_eq!(text(&readings, "read /proc/cmdline"), "root=/dev/sda1 *** *** ip=*** quiet\n");
    assert!(text(&readings, "read /lib/systemd/system/docker.service").contains("dockerd -H fd://"), "{all}");
    assert_eq!(text(&readings, "read /root/.docker/config.json"), r#"{"currentContext":"gpu"}"#);
}

#[test]
fn a_file_that_is_no_json_keeps_its_form() {
    let readings = redacted(&[(
        "read /etc/docker/daemon.json",
        "{\n  \"data-root\": \"/srv/alpha\"\n  \"debug\": true\n}",
    )]);
    assert_eq!(
        text(&readings, "read /etc/docker/daemon.json"),
        "{\n  \"data-root\": \"/xxx/xxxxx\"\n  \"xxxxx\": true\n}"
    );
}

#[test]
fn a_log_holds_no_credentials_and_no_names() {
    let text = log(
        "RuntimeError: out of memory HF_TOKEN=hf_AAAABBBBCCCC password=hunter2\n\
         A service rejected the credentials: api_key=0123abcd. Bearer eyJabcdefghij ghp_0123456789 \
         ?token=abc\n\
         gpunode8: /data/users/alice/train.py alice@corp.example step 3 tokens=4096 10.20.0.8:29500",
        &["gpunode8".to_owned()],
    );
    for secret in ["hf_AAAA", "hunter2", "0123abcd", "eyJ", "ghp_", "token=abc", "gpunode8", "alice", "10.20"]
    {
        assert!(!text.contains(secret), "{secret} is left in\n{text}");
    }
    assert!(text.contains("RuntimeError: out of memory") && text.contains("tokens=4096"), "{text}");
}

#[test]
fn host_named_like_a_distribution_keeps_the_distribution_id() {
    let ask = "read /proc/sys/kernel/hostname";
    assert_eq!(text(&redacted(&[(ask, "localhost\n")]), ask), "localhost\n");
    let readings = redacted(&[
        ("read /etc/hosts", "127.0.1.1 ubuntu\n"),
        ("read /proc/sys/kernel/hostname", "ubuntu\n"),
        ("read /etc/os-release", "ID=ubuntu\n"),
    ]);
    assert_eq!(text(&readings, "read /etc/os-release"), "ID=ubuntu\n");
    assert_eq!(text(&readings, "read /etc/hosts"), "127.0.1.1\thost-1\n");
    assert_eq!(text(&readings, "read /proc/sys/kernel/hostname"), "host-1\n");
}

#[test]
fn replacements_are_consistent_and_idempotent() {
    let once = redacted(&[(
        "read /proc/net/fib_trie",
        "|-- 10.0.18.1\n|-- 10.0.18.2\n|-- 10.0.19.1\n|-- 10.0.18.1\n",
    )]);
    assert_eq!(
        text(&once, "read /proc/net/fib_trie"),
        "|-- 10.1.18.1\n|-- 10.1.18.2\n|-- 10.1.19.1\n|-- 10.1.18.1\n"
    );
    let twice = redacted(&[("read /proc/net/fib_trie", text(&once, "read /proc/net/fib_trie"))]);
    assert_eq!(text(&twice, "read /proc/net/fib_trie"), text(&once, "read /proc/net/fib_trie"));
}

#[test]
fn a_network_stays_one_network() {
    let trie = "+-- 172.18.0.0/16 2 0 2\n|-- 172.18.0.1\n|-- 172.18.255.255\n|-- 10.0.0.0\n|-- 8.8.8.8\n";
    let readings = redacted(&[("read /proc/net/fib_trie", trie)]);
    let expected = "+-- 10.1.0.0/16 2 0 2\n|-- 10.1.0.1\n|-- 10.1.255.255\n|-- 10.0.0.0\n|-- 10.2.8.8\n";
    assert_eq!(text(&readings, "read /proc/net/fib_trie"), expected);
}

#[derive(serde::Deserialize)]
pub(super) struct Secret {
    pub(super) id: String,
    #[serde(default)]
    pub(super) keys: Vec<String>,
    pub(super) parts: Vec<String>,
    /// The part from which on it must not survive.
    pub(super) hide: usize,
    #[serde(default)]
    pub(super) lines: bool,
}

#[derive(serde::Deserialize)]
struct Place {
    id: String,
    text: String,
    keeps: Vec<String>,
    /// Gives values away that nothing else does, also in a message of a report.
    #[serde(default)]
    telling: bool,
}

/// Every kind of secret at every place; docs/measurements/redaction.md has the numbers.
#[test]
fn no_secret_survives_at_any_place() {
    let read = |text| serde_yaml::from_str::<Vec<Secret>>(text).unwrap();
    let secrets = read(include_str!("../../../../tests/redaction/secrets.yaml"));
    let places = include_str!("../../../../tests/redaction/places.yaml");
    let places: Vec<Place> = serde_yaml::from_str(places).unwrap();
    let (mut planted, mut left, mut damaged) = (0, Vec::new(), Vec::new());
    for secret in &secrets {
        let value = secret.parts.concat();
        let hidden = secret.parts[secret.hide..].concat();
        for (at, place) in places.iter().enumerate() {
            let has_key = place.text.contains("{K}");
            // A key of several lines is no value of one line.
            let fits = match (place.telling, secret.lines) {
                (true, _) => !secret.keys.is_empty() && value.contains(|c: char| c.is_ascii_digit()),
                (false, true) => !has_key,
                (false, false) => has_key || secret.keys.is_empty(),
            };
            if !fits {
                continue;
            }
            let key = secret.keys.get(at % secret.keys.len().max(1)).map_or("NOTE", String::as_str);
            let text = place.text.replace("{K}", key).replace("{S}", &value);
            let message = if place.telling { hide_named_credentials(&text) } else { String::new() };
            let shown = log(&text, &[]) + &message;
            planted += 1;
            let parts =
                [hidden.as_str(), &hidden[..hidden.len().min(8)], &hidden[hidden.len().saturating_sub(8)..]];
            if parts.iter().any(|part| shown.contains(part)) {
                left.push(format!("{} in {}: {shown}", secret.id, place.id));
            }
            if let Some(lost) = place.keeps.iter().find(|kept| !shown.contains(*kept)) {
                damaged.push(format!("{} in {}: {lost:?} is gone: {shown}", secret.id, place.id));
            }
        }
    }
    assert!(planted > 2900, "{planted}");
    let found = format!("{planted} planted, {} left, {} places damaged", left.len(), damaged.len());
    assert!(left.is_empty() && damaged.is_empty(), "{found}\n{}\n{}", left.join("\n"), damaged.join("\n"));
}

#[test]
fn of_a_proxy_scheme_and_port_stay() {
    let variables = "HTTP_PROXY=server-1.example/srv/hunter2xyz/lib\nNCCL_PROXY=h.example:80/hunter2xyz\n\
        PIP_PROXY=http://h:3128/\nALL_PROXY=h:hunter2xyz\nhttps_proxy=http://[fd00::7]:3128/?k=hunter2xyz";
    let readings = redacted(&[("environment", variables)]);
    let text = text(&readings, "environment");
    assert!(!text.contains("hunter2"), "{text}");
    assert!(text.contains(":80/***") && text.contains(":3128/\n") && text.contains("]:3128/***"), "{text}");
}

#[test]
fn harmless_lines_stay() {
    let lines: Vec<String> =
        serde_yaml::from_str(include_str!("../../../../tests/redaction/harmless.yaml")).unwrap();
    let changed: Vec<String> =
        lines.iter().filter(|line| log(line, &[]) != **line).map(|line| log(line, &[])).collect();
    assert!(changed.is_empty(), "{} of {}\n{}", changed.len(), lines.len(), changed.join("\n"));
}

/// Lines of hostile logs: one shape many times.
#[test]
fn long_lines_of_one_shape_take_linear_time() {
    let shapes = [
        "password={",
        "password=[",
        "password=(",
        "authorization: x",
        "<a>",
        "Cookie: a=1; ",
        "password=\\",
        "password='",
        "token=\"",
        "x=&",
        "password: |",
        "-p ",
        "--password ",
        "https://a:b@",
        "a,b;",
        "ghp_",
        "Bearer ",
        "[[",
        "=",
        "password=Secret(",
        "aws configure set ",
        "user@host:",
        "ssh: connect to host ",
        "\\\"password\\\":",
        "eyJ.",
        "0a:",
    ];
    for shape in shapes {
        let text = shape.repeat(60_000 / shape.len());
        let start = std::time::Instant::now();
        log(&text, &[]);
        hide_credentials(text);
        let seconds = start.elapsed().as_secs_f64();
        assert!(seconds < 10.0, "{shape:?}: {seconds} s");
    }
}
