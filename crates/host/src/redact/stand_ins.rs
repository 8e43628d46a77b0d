//! Stand-ins that keep answers findable and comparable.

use super::tests::{redacted, text};
use crate::MissingKind;
use crate::Reading;
use crate::snapshot::{Kept, Snapshot};
use std::collections::BTreeMap;

/// `LD_LIBRARY_PATH=/s/hf_…/lib envdoc snapshot` kept the token in its questions.
#[test]
fn answers_are_found_by_the_name_before_and_after_redaction() {
    let token = ["h", "f_OBExMtnYWftHKrmUeUKjuZSibyToBcCcRt"].concat();
    let path = format!("/s/{token}/lib");
    let mut readings: BTreeMap<String, Reading> = BTreeMap::new();
    let mut add = |ask: &str, text: &str| readings.insert(ask.to_owned(), Reading::Text(text.to_owned()));
    add("environment", &format!("LD_LIBRARY_PATH={path}:/mnt/alice@corp.example/lib\n"));
    add(&format!("find {path} libnccl.so"), "libnccl.so.2");
    add("find /mnt/alice@corp.example/lib libnccl.so", "libnccl.so.3");
    let host = Snapshot::of(readings).redact().host();
    let Reading::Text(environment) = host.environment() else { panic!("no environment") };
    let value = environment.trim().strip_prefix("LD_LIBRARY_PATH=").unwrap();
    let found: Vec<Reading> = value.split(':').map(|path| host.find(path, &["libnccl.so"])).collect();
    assert_eq!(found, ["libnccl.so.2", "libnccl.so.3"].map(|text| Reading::Text(text.to_owned())));
    assert_eq!(host.find(&path, &["libnccl.so"]), Reading::Text("libnccl.so.2".to_owned()));
    assert!(!environment.contains(&token) && !environment.contains("alice"), "{environment}");
}

#[test]
fn two_paths_that_become_one_are_not_known() {
    let [one, other] = ["AKIA0123456789ABCDEF", "AKIA0123456789ABCDEG"];
    let asks = [format!("read /proc/{one}/x"), format!("read /proc/{other}/x")];
    let differ = redacted(&[(&asks[0], "1"), (&asks[1], "2")]);
    assert_eq!(differ.keys().collect::<Vec<_>>(), ["read /proc/***/x"]);
    assert!(matches!(&differ["read /proc/***/x"], Kept::Failed(why) if why.kind == MissingKind::NotRecorded));
    let same = redacted(&[(&asks[0], "1"), (&asks[1], "1")]);
    assert_eq!(text(&same, "read /proc/***/x"), "1");
}

/// `docker:x:1001:` became `user-1`, and nobody was in the group docker any more.
#[test]
fn the_group_of_docker_keeps_its_name() {
    let readings = redacted(&[("read /etc/group", "docker:x:1001:alice\nalice:x:1000:\nagents:x:50:\n")]);
    assert_eq!(text(&readings, "read /etc/group"), "docker:x:1001:user-1\nuser-1:x:1000:\ngroup-1:x:50:\n");
}

/// The engine's labels and mirrors are compared with those of the file.
#[test]
fn what_the_file_and_the_engine_share_is_shared_still() {
    let readings = redacted(&[
        (
            "read /etc/docker/daemon.json",
            r#"{"labels":["team=vision"],"registry-mirrors":["https://bob:geheim@mirror.corp.example/"]}"#,
        ),
        (
            "engine unix:///var/run/docker.sock /info",
            r#"{"Labels":["team=vision"],
                "RegistryConfig":{"Mirrors":["https://bob:geheim@mirror.corp.example/"]}}"#,
        ),
    ]);
    let parsed = |ask: &str| serde_json::from_str::<serde_json::Value>(text(&readings, ask)).unwrap();
    let (file, engine) =
        (parsed("read /etc/docker/daemon.json"), parsed("engine unix:///var/run/docker.sock /info"));
    assert_eq!(file["labels"], engine["Labels"]);
    assert_eq!(file["registry-mirrors"], engine["RegistryConfig"]["Mirrors"]);
    assert_eq!(file["labels"][0], "label-1");
}

/// A root user's snapshot had the MAC addresses of network adapters in `hex …/config`.
#[test]
fn the_serial_number_of_a_device_is_zero() {
    let mut bytes = vec!["00".to_owned(); 512];
    // AER at 0x100, the serial number behind it at 0x140.
    for (at, header) in [(0x100, "01000214"), (0x140, "03000100")] {
        (0..4).for_each(|byte| bytes[at + byte] = header[byte * 2..byte * 2 + 2].to_owned());
    }
    let whole = |serial: &str| {
        let mut bytes = bytes.clone();
        (0..8).for_each(|byte| bytes[0x144 + byte] = serial[byte * 2..byte * 2 + 2].to_owned());
        bytes[0x14c] = "ab".to_owned();
        bytes.concat()
    };
    let ask = "hex /sys/bus/pci/devices/0000:41:00.0/config";
    let readings = redacted(&[(ask, &whole("5634120003cefab8"))]);
    assert_eq!(text(&readings, ask), whole("0000000000000000"));
    for odd in ["", "00", "é", &"ff".repeat(400), &"03000010".repeat(200)] {
        assert_eq!(text(&redacted(&[(ask, odd)]), ask).len(), odd.len());
    }
}

/// The questions that every machine is asked stay, whatever its users are called.
#[test]
fn folders_of_every_machine_are_no_users() {
    let readings = redacted(&[
        ("environment", "USER=dev\nHOME=/home/dev"),
        ("read /etc/group", "video:x:44:docker,lib,zoe\n"),
        ("stat /dev/nvidia0", "{}"),
        ("find /usr/lib libcuda.so", "libcuda.so.1"),
        ("stat /snap/docker", "{}"),
        ("space /scratch/zoe", "{}"),
    ]);
    for ask in ["stat /dev/nvidia0", "find /usr/lib libcuda.so", "stat /snap/docker"] {
        assert!(readings.contains_key(ask), "{ask} is gone from {:?}", readings.keys());
    }
    assert!(!readings.contains_key("space /scratch/zoe"));
    assert!(text(&readings, "environment").contains("HOME=/home/user-"));
}

/// The error of an engine that cannot be reached repeated `DOCKER_HOST=hunter2`.
#[test]
fn an_endpoint_without_a_scheme_is_nowhere() {
    let ask = "engine hunter2 /info";
    let failed = Reading::failed("no connection: unsupported endpoint hunter2");
    let readings = BTreeMap::from([
        ("environment".to_owned(), Reading::Text("DOCKER_HOST=hunter2".to_owned())),
        (ask.to_owned(), failed),
    ]);
    let host = Snapshot::of(readings).redact();
    let all = format!("{:?}", host.readings);
    assert!(!all.contains("hunter2") && host.readings.contains_key("engine *** /info"), "{all}");
}
