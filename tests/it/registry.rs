//! Registries that lie, and registries that ask for what they should not get.
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use docker::digest::sha256;
use serde_json::{Value, json};

/// One request: its first line with all headers, and its body.
struct Request {
    head: String,
    body: String,
}

/// One answer: its status, more headers, its body.
struct Response {
    status: u16,
    headers: String,
    body: Vec<u8>,
}

fn response(status: u16, headers: &str, body: impl Into<Vec<u8>>) -> Response {
    Response { status, headers: headers.to_owned(), body: body.into() }
}

/// Serves until the test process ends; its port, and everything that it was asked.
fn serve(answer: impl Fn(&str) -> Response + Send + 'static) -> (u16, Arc<Mutex<Vec<Request>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            exchange(stream.unwrap(), &answer, &log);
        }
    });
    (port, asked)
}

fn exchange(mut stream: TcpStream, answer: &impl Fn(&str) -> Response, log: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let Some(path) = head.split(' ').nth(1).map(str::to_owned) else { return };
    // Before the answer: who has read the answer finds it in the log.
    log.lock().unwrap().push(Request { head: head.clone(), body: String::from_utf8(body).unwrap() });
    let Response { status, headers, body } = answer(&path);
    let headers = format!(
        "HTTP/1.1 {status} x\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(headers.as_bytes()).and_then(|()| stream.write_all(&body));
}

/// What a registry stores for one image.
struct Stored {
    index: Vec<u8>,
    manifest: Vec<u8>,
    configuration: Vec<u8>,
}

fn stored(layer_size: &Value) -> Stored {
    let configuration = json!({"architecture": "amd64", "os": "linux", "config": {"Env": ["A=configured"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:1"]}, "history": [{"created_by": "ADD rootfs /"}]});
    let configuration = configuration.to_string().into_bytes();
    let config = json!({"mediaType": "application/vnd.oci.image.config.v1+json",
        "digest": sha256(&configuration), "size": configuration.len()});
    let layer = json!({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
        "digest": sha256(b"layer"), "size": layer_size});
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": [layer]});
    let manifest = manifest.to_string().into_bytes();
    let platform = json!({"os": "linux", "architecture": "amd64"});
    let entry = json!({"digest": sha256(&manifest), "size": manifest.len(), "platform": platform});
    let index = json!({"schemaVersion": 2, "manifests": [entry]}).to_string().into_bytes();
    Stored { index, manifest, configuration }
}

fn inspect(port: u16, name: &str, home: &std::path::Path) -> Output {
    let image = format!("127.0.0.1:{port}/team/{name}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
    command.args(["inspect", &image, "--remote", "--plain-http"]).current_dir(home);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home).env("DOCKER_CONFIG", home);
    command.output().unwrap()
}

/// Both streams of a failed run.
fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn content_must_match_its_digest() {
    let home = tempfile::tempdir().unwrap();
    let good = stored(&json!(1000));
    let (wanted, of_image, of_config) =
        (sha256(&good.index), sha256(&good.manifest), sha256(&good.configuration));
    let name = format!("app@{wanted}");
    // What the registry does to an answer: of which path, its body, and the digest that its header tells.
    type Lie = fn(&str, &mut Vec<u8>, &mut String);
    let zeros = format!("sha256:{:064}", 0);
    let honest: Lie = |_, _, _| {};
    let lies: [(&str, Lie, [&str; 2]); 6] = [
        (
            "index",
            |path, body, _| {
                if path.contains("app/manifests") {
                    body.push(b'\n')
                }
            },
            [&wanted, ""],
        ),
        (
            "index with the header of the one that was asked for",
            |path, body, header| {
                if path.contains("/manifests/") {
                    *header = path.rsplit('/').next().unwrap().to_owned();
                    body.insert(1, b' ');
                }
            },
            [&wanted, ""],
        ),
        ("header", |_, _, header| *header = format!("sha256:{:064}", 0), [&wanted, &zeros]),
        (
            "image",
            |_, body, _| {
                if body.windows(9).any(|some| some == b"\"config\":") {
                    body.push(b' ')
                }
            },
            [&of_image, ""],
        ),
        (
            "configuration",
            |path, body, _| {
                if path.contains("/blobs/") {
                    body.push(b'\n')
                }
            },
            [&of_config, ""],
        ),
        (
            "index that names a tag",
            |_, body, header| {
                if body.windows(11).any(|some| some == b"\"manifests\"") {
                    let text = String::from_utf8(body.clone()).unwrap();
                    let at = text.find("sha256:").unwrap();
                    *body = text.replace(&text[at..at + 71], "../../other").into_bytes();
                    *header = String::new();
                }
            },
            ["", ""],
        ),
    ];
    let serving = |lie: Lie| {
        let good = stored(&json!(1000));
        serve(move |path| {
            let (index, manifest) = (sha256(&good.index), sha256(&good.manifest));
            let of = path.rsplit('/').next().unwrap();
            let body = match path {
                _ if path.contains("/blobs/") => &good.configuration,
                _ if of == manifest => &good.manifest,
                _ if of == index || of == "1" => &good.index,
                _ => return response(404, "", "{}"),
            };
            let (mut body, mut header) = (body.clone(), sha256(body));
            lie(path, &mut body, &mut header);
            response(200, &format!("Docker-Content-Digest: {header}\r\n"), body)
        })
    };
    let output = inspect(serving(honest).0, &name, home.path());
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains(&of_image), "{output:?}");
    for (what, lie, digests) in lies {
        let text = refused(&inspect(serving(lie).0, &name, home.path()));
        assert!(!text.contains("configured"), "{what}: {text}");
        assert!(digests.iter().all(|digest| text.contains(digest)), "{what}: {text}");
        let both = text.matches("sha256:").count() >= 2;
        assert!(both || what == "index that names a tag", "{what}: {text}");
    }
    // By a tag there is no digest to compare with but the registry's own header.
    let lie: Lie = |_, _, header| *header = format!("sha256:{:064}", 0);
    let text = refused(&inspect(serving(lie).0, "app:1", home.path()));
    assert!(text.contains(&zeros) && text.contains(&wanted), "{text}");
    let no_header: Lie = |_, _, header| header.clear();
    assert!(inspect(serving(no_header).0, "app:1", home.path()).status.success());
}

#[test]
fn absurd_sizes_are_unknown() {
    let home = tempfile::tempdir().unwrap();
    for (size, known) in
        [(json!(1_000_000), true), (json!(9_223_372_036_854_775_807_u64), false), (json!(-5), false)]
    {
        let kept = stored(&size);
        let (port, _) = serve(move |path| match path.contains("/blobs/") {
            true => response(200, "", kept.configuration.clone()),
            false => response(200, "", kept.manifest.clone()),
        });
        let output = inspect(port, "app:1", home.path());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{output:?}");
        let row = text.lines().find(|line| line.trim_start().starts_with("size")).unwrap();
        assert_eq!(row.contains("not known"), !known, "{text}");
        assert!(!text.contains("TB") && !text.contains("TiB") && !text.contains("EB"), "{text}");
    }
}

/// A registry's login in a Docker configuration.
fn login(home: &std::path::Path, port: u16, entry: &Value) {
    let config = json!({"auths": {format!("127.0.0.1:{port}"): entry}});
    std::fs::write(home.join("config.json"), config.to_string()).unwrap();
}

#[test]
fn credentials_stay_with_the_host_that_they_are_for() {
    let password = json!({"username": "alice", "password": "S3cretPw"});
    let identity = json!({"identitytoken": "IDTOKEN-SECRET"});
    for entry in [&password, &identity] {
        let home = tempfile::tempdir().unwrap();
        let (thief, stolen) = serve(|_| response(200, "", r#"{"token":"t"}"#));
        // A token server on another host, without TLS.
        let challenge = format!("WWW-Authenticate: Bearer realm=\"http://localhost:{thief}/steal\"\r\n");
        let (port, _) = serve(move |_| response(401, &challenge, ""));
        login(home.path(), port, entry);
        let text = refused(&inspect(port, "app:1", home.path()));
        assert!(
            text.contains("without TLS") && text.contains(&format!("http://localhost:{thief}")),
            "{text}"
        );
        assert_eq!(stolen.lock().unwrap().len(), 0, "the other host was asked");
        // A token server on the registry's own host that redirects; 307 would have a form sent again.
        let location = format!("Location: http://localhost:{thief}/steal\r\n");
        let (tokens, asked) = serve(move |_| response(307, &location, ""));
        let challenge = format!("WWW-Authenticate: Bearer realm=\"http://127.0.0.1:{tokens}/token\"\r\n");
        let (own, _) = serve(move |_| response(401, &challenge, ""));
        login(home.path(), own, entry);
        refused(&inspect(own, "app:1", home.path()));
        assert_eq!(asked.lock().unwrap().len(), 1, "its own token server is asked");
        assert_eq!(stolen.lock().unwrap().len(), 0, "a redirect of the token server was followed");
    }
}

#[test]
fn redirects_of_a_registry_carry_no_credentials() {
    let home = tempfile::tempdir().unwrap();
    let kept = stored(&json!(1000));
    let (configuration, manifest) = (kept.configuration, kept.manifest);
    // Blobs lie in an object store on another host, as those of most registries do.
    let (store, stored_asked) = serve(move |_| response(200, "", configuration.clone()));
    let location = format!("Location: http://localhost:{store}/object\r\n");
    let first = AtomicBool::new(true);
    let (front, front_asked) = serve(move |path| match path {
        _ if first.swap(false, Ordering::SeqCst) => {
            response(401, "WWW-Authenticate: Basic realm=\"r\"\r\n", "")
        }
        _ if path.contains("/blobs/") => response(307, &location, ""),
        _ => response(200, "", manifest.clone()),
    });
    login(home.path(), front, &json!({"username": "alice", "password": "S3cretPw"}));
    let output = inspect(front, "app:1", home.path());
    assert!(output.status.success(), "{output:?}");
    let has = |request: &Request| request.head.to_ascii_lowercase().contains("\nauthorization:");
    assert!(front_asked.lock().unwrap().iter().any(has), "the registry itself gets the login");
    let there = stored_asked.lock().unwrap();
    assert!(there.len() == 1 && !there.iter().any(|one| has(one) || one.body.contains("S3cret")));

    // Another host, to which the registry redirects, asks for the login: it is not its to ask.
    let (evil, evil_asked) = serve(|_| response(401, "WWW-Authenticate: Basic realm=\"r\"\r\n", ""));
    let location = format!("Location: http://localhost:{evil}/v2/\r\n");
    let (port, asked) = serve(move |_| response(307, &location, ""));
    login(home.path(), port, &json!({"username": "alice", "password": "S3cretPw"}));
    let text = refused(&inspect(port, "app:1", home.path()));
    assert!(text.contains(&format!("localhost:{evil}")), "{text}");
    let all = [asked.lock().unwrap(), evil_asked.lock().unwrap()];
    assert!(!all.iter().flat_map(|some| some.iter()).any(has));
}
