//! Tests on whole gatherings and on the corpus.

use super::*;
use crate::testing::Sparse;
use catalog::testing::catalog;
use host::Missing;

const OUTPUTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs/docker/");

#[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
fn output(name: &str) -> String {
    std::fs::read_to_string(format!("{OUTPUTS}{name}")).unwrap()
}

fn gathered(readings: &[(&str, &str)]) -> Docker {
    gather(&Sparse::new(readings), catalog())
}

const SOCKET: &str =
    r#"{"kind":"socket","mode":"0660","uid":0,"gid":999,"size":0,"mtime":1,"path":"/run/docker.sock"}"#;

#[test]
fn a_machine_without_an_engine_has_none() {
    let docker = gathered(&[]);
    for absent in [&docker.program, &docker.daemon_program, &docker.podman_socket, &docker.unit_file] {
        assert_eq!(*absent, Fact::Absent);
    }
    assert_eq!(docker.info, Fact::Absent);
    assert_eq!(docker.idle, Fact::Known(false));
    assert_eq!(docker.endpoint.known().unwrap().from.to_string(), "default");
}

#[test]
fn the_endpoint_is_found_as_the_docker_program_finds_it() {
    let meta = r#"{"Name":"gpu","Metadata":{},"Endpoints":{"docker":{"Host":"ssh://root@gpu"}}}"#;
    let mut readings = vec![
        ("environment", "HOME=/home/a\nXDG_RUNTIME_DIR=/run/user/1000"),
        ("read /home/a/.docker/config.json", r#"{"auths":{},"currentContext":"gpu"}"#),
        ("list /home/a/.docker/contexts/meta", "0a1b"),
        ("read /home/a/.docker/contexts/meta/0a1b/meta.json", meta),
    ];
    let docker = gathered(&readings);
    let endpoint = docker.endpoint.known().unwrap();
    assert_eq!(
        (endpoint.url.as_str(), endpoint.from.to_string().as_str(), endpoint.elsewhere),
        ("ssh://root@gpu", "context gpu", true)
    );
    assert_eq!(docker.asked, Fact::Known(Endpoint::default()));

    readings[1].1 = r#"{"currentContext":"other"}"#;
    assert!(matches!(gathered(&readings).endpoint, Fact::Unknown(why) if why.detail.contains("other")));

    let path = "/home/a/.docker/contexts/meta/0a1b/meta.json";
    let unread = Sparse::new(&readings).failing(&[(&format!("read {path}"), Missing::denied())]);
    let why = format!("context other (currentContext): {path}: permission denied");
    assert_eq!(
        gather(&unread, catalog()).endpoint,
        Fact::Unknown(Missing { detail: why, ..Missing::denied() })
    );

    readings[0].1 = "HOME=/home/a\nDOCKER_HOST=tcp://127.0.0.1:2375";
    assert_eq!(gathered(&readings).endpoint.known().unwrap().from.to_string(), "DOCKER_HOST");

    readings[0].1 = "HOME=/home/b\nXDG_RUNTIME_DIR=/run/user/1000";
    readings.push(("stat /run/user/1000/docker.sock", SOCKET));
    assert_eq!(gathered(&readings).endpoint.known().unwrap().from.to_string(), "rootless");
}

#[test]
fn socket_activated_idle_engine_is_not_queried() {
    let mut readings = vec![
        ("stat /var/run/docker.sock", SOCKET),
        ("stat /run/systemd/system", SOCKET),
        ("stat /lib/systemd/system/docker.socket", SOCKET),
        ("engine unix:///var/run/docker.sock /info", "{}"),
    ];
    // Whether somebody listens cannot be read: not known, and not asked either.
    let docker = gathered(&readings);
    assert!(matches!(&docker.idle, Fact::Unknown(why) if why.detail.contains("/proc/net/unix")));
    assert!(matches!(docker.info, Fact::Unknown(_)));
    let denied = Sparse::new(&readings).failing(&[("read /proc/net/unix", Missing::denied())]);
    let docker = gather(&denied, catalog());
    assert!(
        matches!((&docker.idle, &docker.info), (Fact::Unknown(one), Fact::Unknown(_)) if one.is_denied())
    );
    // docker.socket is stopped too: its file stayed, and nobody listens.
    readings
        .push(("read /proc/net/unix", "Num\n0: 00000003 00000000 00000000 0001 03 25012 /run/docker.sock\n"));
    assert_eq!(gathered(&readings).idle, Fact::Known(false));
    readings
        .push(("read /proc/net/unix", "Num\n0: 00000002 00000000 00010000 0001 01 24519 /run/docker.sock\n"));
    let docker = gathered(&readings);
    assert_eq!(docker.idle, Fact::Known(true));
    assert_eq!(docker.info, Fact::Unknown(IDLE.into()));
    readings.push(("read /var/run/docker.pid", "77"));
    readings.push(("read /proc/77/cmdline", "/usr/bin/dockerd\0-H\0fd://\0"));
    let docker = gathered(&readings);
    assert_eq!(docker.idle, Fact::Known(false));
    assert!(docker.info.known().is_some());
}

/// Without its process id the engine is neither running nor idle, and a question might start it.
#[test]
fn engine_that_cannot_be_looked_for_is_not_queried() {
    let readings = [
        ("stat /var/run/docker.sock", SOCKET),
        ("stat /run/systemd/system", SOCKET),
        ("stat /lib/systemd/system/docker.socket", SOCKET),
        ("engine unix:///var/run/docker.sock /info", "{}"),
        ("read /proc/net/unix", "Num\n0: 00000002 00000000 00010000 0001 01 24519 /run/docker.sock\n"),
    ];
    let denied = |readings: &[(&str, &str)]| {
        let host = Sparse::new(readings).failing(&[("read /var/run/docker.pid", Missing::denied())]);
        gather(&host, catalog())
    };
    let docker = denied(&readings);
    assert!(matches!(&docker.idle, Fact::Unknown(why) if why.is_denied()));
    assert!(matches!(&docker.info, Fact::Unknown(why) if why.is_denied()));
    // Systemd started it, or nobody listens: a question starts nothing.
    let service = ("stat /sys/fs/cgroup/system.slice/docker.service", SOCKET);
    let nobody =
        ("read /proc/net/unix", "Num\n0: 00000003 00000000 00000000 0001 03 25012 /run/docker.sock\n");
    for sign in [service, nobody] {
        let docker = denied(&[&readings[..], &[sign]].concat());
        assert_eq!(docker.idle, Fact::Known(false));
        assert!(docker.info.known().is_some());
    }
}

/// A denied reading becomes neither absence nor a default.
#[test]
fn denied_readings_are_unknown() {
    let user = ("environment", "HOME=/home/b\nXDG_RUNTIME_DIR=/run/user/1000");
    let denied =
        |key: &'static str| gather(&Sparse::new(&[user]).failing(&[(key, Missing::denied())]), catalog());
    let docker = denied("stat /run/user/1000/docker.sock");
    assert!(matches!(docker.endpoint, Fact::Unknown(why) if why.is_denied()));
    let docker = denied("stat /run/user/1000/podman/podman.sock");
    assert!(matches!(docker.podman_socket, Fact::Unknown(why) if why.is_denied()));
    let docker = denied("environment");
    assert!(matches!(docker.podman_socket, Fact::Unknown(why) if why.is_denied()));
    for program in ["program docker", "program dockerd"] {
        assert!(matches!(denied(program).snap, Fact::Unknown(why) if why.is_denied()), "{program}");
    }
}

#[test]
fn a_running_daemon_is_described() {
    let docker = gathered(&[
        ("stat /var/run/docker.sock", SOCKET),
        ("read /var/run/docker.pid", "77\n"),
        ("read /proc/77/cmdline", "/usr/bin/dockerd\0-H\0fd://\0--config-file=/etc/docker/other.json\0"),
        ("read /proc/77/stat", "77 (dockerd) S 1 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 45 0 6000 1 2"),
        ("read /proc/stat", "cpu  1 2 3\nbtime 1760000000\n"),
        (
            "read /etc/docker/other.json",
            r#"{"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}"#,
        ),
        ("stat /usr/bin/nvidia-container-runtime", SOCKET),
        ("engine unix:///var/run/docker.sock /info", &output("docker-info-no-swarm.json")),
        ("engine unix:///var/run/docker.sock /version", r#"{"ApiVersion":"1.30"}"#),
        ("space /var/lib/docker", r#"{"total":100,"available":40}"#),
        ("read /etc/group", "root:x:0:\ndocker:x:999:alice,bob\n"),
        (
            "read /var/lib/kubelet/config.yaml",
            "apiVersion: kubelet.config.k8s.io/v1beta1\ncgroupDriver: systemd\n",
        ),
    ]);
    assert_eq!(docker.started, Fact::Known(1_760_000_060));
    assert_eq!(docker.daemon_json.known().unwrap().path, "/etc/docker/other.json");
    let runtime = &docker.runtime_paths.known().unwrap()[0];
    assert_eq!(runtime.found, Fact::Known("/usr/bin/nvidia-container-runtime".into()));
    assert_eq!(docker.info_text(&["ServerVersion"]), Fact::Known("17.06.1-ce".into()));
    assert_eq!(docker.data_root.known().unwrap().path, "/var/lib/docker");
    assert_eq!(docker.proxies, Fact::Known(vec![]));
    assert_eq!(docker.group.known().unwrap().members, ["alice", "bob"]);
    assert_eq!(docker.kubelet_cgroup_driver, Fact::Known("systemd".into()));
}

#[test]
fn images_of_the_containerd_store_lie_in_containerds_root() {
    let info = serde_json::json!({
        "Driver": "overlayfs", "DockerRootDir": "/var/lib/docker",
        "DriverStatus": [["driver-type", "io.containerd.snapshotter.v1"]],
        "Containerd": {"Address": "/run/containerd/containerd.sock"},
    });
    assert_eq!(images_directory(&info), "/var/lib/containerd");
    let info = serde_json::json!({"Driver": "overlay2", "DockerRootDir": "/data/docker",
        "Containerd": {"Address": "/run/containerd/containerd.sock"}});
    assert_eq!(images_directory(&info), "/data/docker");
}

/// Every JSON output of an engine in the corpus: its version, default runtime, storage driver and CDI
/// directories.
#[test]
fn every_info_of_the_corpus_is_read() {
    let cases = [
        ("docker-info-daemon-warnings.json", "17.06.1-ce", "runc", "overlay2", 2),
        ("docker-info-no-swarm.json", "17.06.1-ce", "runc", "overlay2", 2),
        ("docker-info-plugins.json", "17.06.1-ce", "runc", "overlay2", 2),
        ("docker-info-with-devices.json", "17.06.1-ce", "runc", "overlay2", 2),
        ("docker-info-with-swarm.json", "17.06.1-ce", "runc", "overlay2", 2),
        ("info-17.09-devicemapper.json", "17.09.0-ce", "", "devicemapper", 0),
    ];
    for (name, version, runtime, driver, cdi) in cases {
        let docker = gathered(&[
            ("stat /var/run/docker.sock", SOCKET),
            ("engine unix:///var/run/docker.sock /info", &output(name)),
        ]);
        for (key, expected) in [("ServerVersion", version), ("Driver", driver)] {
            assert_eq!(docker.info_text(&[key]), Fact::Known(expected.into()), "{name}");
        }
        let absent = docker.info_text(&["DefaultRuntime"]) == Fact::Absent;
        assert!(absent == runtime.is_empty(), "{name}");
        assert_eq!(docker.cdi_directories().known().unwrap().len(), cdi, "{name}");
        assert_eq!(docker.rootless(), Fact::Known(false), "{name}");
    }
    let broken = gathered(&[
        ("stat /var/run/docker.sock", SOCKET),
        (
            "engine unix:///var/run/docker.sock /info",
            &output("docker-info-25.0.0-desktop-containerd-snapshotter.txt"),
        ),
    ]);
    assert!(matches!(broken.info, Fact::Unknown(why) if why.detail.contains("unexpected JSON")));
}

#[test]
fn every_daemon_json_of_the_corpus_is_read() {
    let value = daemon_json::parse(&output("daemon-json-default-runtime-nvidia.json")).unwrap();
    assert_eq!(value["default-runtime"], "nvidia");
    let host = output("docker-status-and-runtimes-of-host-with-failing-gpu-containers.txt");
    let cut = &host[host.rfind("\n{").unwrap() + 1..];
    let error = daemon_json::parse(cut).unwrap_err();
    assert!(error.message.contains("} is missing at its end"), "{error:?}");
}

#[test]
fn a_rootless_engine_has_files_of_its_own() {
    let docker = gathered(&[
        ("environment", "HOME=/home/b\nXDG_RUNTIME_DIR=/run/user/1000"),
        ("stat /run/user/1000/docker.sock", SOCKET),
        ("engine unix:///run/user/1000/docker.sock /info", r#"{"SecurityOptions":["name=rootless"]}"#),
        ("read /run/user/1000/docker.pid", "88"),
        ("read /proc/88/cmdline", "dockerd\0"),
        ("read /home/b/.config/docker/daemon.json", "{\"debug\": true}"),
        ("read /etc/docker/daemon.json", "broken"),
    ]);
    assert_eq!(docker.daemon_json.known().unwrap().path, "/home/b/.config/docker/daemon.json");
    assert_eq!(docker.command_line, Fact::Known(vec!["dockerd".into()]));
    assert_eq!(docker.rootless(), Fact::Known(true));
}

#[test]
fn distinguishes_podman_from_docker() {
    let socket = "unix:///var/run/docker.sock";
    let docker = gathered(&[
        ("stat /var/run/docker.sock", SOCKET),
        (&format!("engine {socket} /info"), r#"{"ServerVersion":"4.9.3"}"#),
        (
            &format!("engine {socket} /version"),
            r#"{"Components":[{"Name":"Podman Engine","Version":"4.9.3"}]}"#,
        ),
    ]);
    assert!(docker.is_podman());
    assert!(matches!(docker.answering(), Err(crate::Unavailable::Absent(_))));
}
