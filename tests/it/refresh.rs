//! `envdoc catalog refresh` against a real HTTP server on loopback, with real wheels.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run the program")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

/// What a path answers.
#[derive(Clone)]
enum Page {
    /// A body of this kind.
    Body(&'static str, Vec<u8>),
    /// Only with this token; without it the address to get one from.
    Locked(&'static str, Vec<u8>, String),
}

/// A server of static files.
struct Server {
    url: String,
    /// Every request line, and how many bytes were sent in answer.
    log: Arc<Mutex<Vec<(String, usize)>>>,
}

/// Serves until the test process ends. `pages` gets the server's own address.
fn serve(ranges: bool, pages: impl FnOnce(&str) -> BTreeMap<String, Page>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let pages = pages(&url);
    let log = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&log);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), ranges, &pages, &kept);
        }
    });
    Server { url, log }
}

fn answer(
    mut stream: TcpStream,
    ranges: bool,
    pages: &BTreeMap<String, Page>,
    log: &Mutex<Vec<(String, usize)>>,
) {
    let mut lines = Vec::new();
    for line in BufReader::new(&stream).lines() {
        match line {
            Ok(line) if !line.is_empty() => lines.push(line),
            _ => break,
        }
    }
    let Some(path) = lines.first().and_then(|line| line.split(' ').nth(1)) else { return };
    let header = |name: &str| {
        lines.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    let page = pages.get(path).or_else(|| pages.get(path.split('?').next().unwrap()));
    let (status, more, body) = match page {
        None => ("404 Not Found", String::new(), Vec::new()),
        Some(Page::Locked(_, _, challenge)) if header("authorization").as_deref() != Some("Bearer t0ken") => {
            ("401 Unauthorized", format!("WWW-Authenticate: {challenge}\r\n"), Vec::new())
        }
        Some(Page::Locked(more, body, _)) => ("200 OK", (*more).to_owned(), body.clone()),
        Some(Page::Body(kind, body)) => match header("range").filter(|_| ranges) {
            None => ("200 OK", format!("Content-Type: {kind}\r\n"), body.clone()),
            Some(range) => {
                let (start, end) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
                let (start, end) = match start {
                    "" => (body.len().saturating_sub(end.parse().unwrap()), body.len()),
                    start => (start.parse().unwrap(), (end.parse::<usize>().unwrap() + 1).min(body.len())),
                };
                let more = format!("Content-Range: bytes {start}-{}/{}\r\n", end - 1, body.len());
                ("206 Partial Content", more, body[start..end].to_vec())
            }
        },
    };
    log.lock().unwrap().push((lines[0].clone(), body.len()));
    let head =
        format!("HTTP/1.1 {status}\r\n{more}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}

/// A wheel whose metadata has these lines, and a megabyte of other content.
fn wheel(name: &str, version: &str, lines: &str) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = zip::ZipWriter::new(&mut bytes);
    let options = zip::write::SimpleFileOptions::default();
    let stored = options.compression_method(zip::CompressionMethod::Stored);
    writer.start_file(format!("{name}/weights.bin"), stored).unwrap();
    writer.write_all(&vec![7; 1 << 20]).unwrap();
    writer.start_file(format!("{name}-{version}.dist-info/METADATA"), options).unwrap();
    writeln!(writer, "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{lines}\n\nA text.").unwrap();
    writer.finish().unwrap();
    bytes.into_inner()
}

/// A project page in HTML and the files that it links to: file name, attributes of the link, content.
fn project(pages: &mut BTreeMap<String, Page>, root: &str, name: &str, files: &[(&str, &str, Vec<u8>)]) {
    let links = files.iter().map(|(file, attributes, _)| {
        format!(
            "<a href=\"../../files/{}#sha256=00\" {attributes}>{file}</a><br/>\n",
            file.replace('+', "%2B")
        )
    });
    let page = format!("<!DOCTYPE html><html><body>\n{}</body></html>", links.collect::<String>());
    pages.insert(format!("{root}/{name}/"), Page::Body("text/html", page.into_bytes()));
    for (file, _, content) in files {
        let base = root.rsplit_once('/').map_or("", |(base, _)| base);
        pages.insert(
            format!("{base}/files/{}", file.replace('+', "%2B")),
            Page::Body("application/octet-stream", content.clone()),
        );
    }
}

fn envdoc(cache: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
    for name in
        ["ENVDOC_INDEX_URL", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"]
    {
        command.env_remove(name);
    }
    command.args(arguments).env("ENVDOC_CATALOG_DIR", cache).env("NO_PROXY", "127.0.0.1").output().unwrap()
}

/// Refreshes from a server: exit code, standard output, standard error.
fn refresh(server: &Server, cache: &Path, arguments: &[&str]) -> (i32, String, String) {
    let (index, wheels) = (format!("{}/simple", server.url), format!("{}/whl/{{build}}", server.url));
    let mut all = vec!["catalog", "refresh", "--index-url", &index, "--wheel-index", &wheels];
    all.extend(["--registry", &server.url]);
    all.extend(arguments);
    let output = envdoc(cache, &all);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn accelerate(pages: &mut BTreeMap<String, Page>) {
    let requires =
        "Requires-Dist: torch>=2.9\nRequires-Dist: numpy<3,>=1.17\nRequires-Dist: rich; extra == \"rich\"";
    let file = |version: &str| wheel("accelerate", version, requires);
    let python = "data-requires-python=\"&gt;=3.11\"";
    let day = format!("{python} data-upload-time=\"2099-02-03T04:05:06Z\"");
    let yanked = format!("{day} data-yanked=\"broken\"");
    project(
        pages,
        "/simple",
        "accelerate",
        &[
            ("accelerate-99.0.0-py3-none-any.whl", &day, file("99.0.0")),
            ("accelerate-99.0.1-py3-none-any.whl", python, file("99.0.1")),
            ("accelerate-99.1.0rc1-py3-none-any.whl", &day, file("99.1.0rc1")),
            ("accelerate-99.2.0-py3-none-any.whl", &yanked, file("99.2.0")),
        ],
    );
}

#[test]
fn new_releases_become_rows_exactly_once() {
    let server = serve(true, |_| {
        let mut pages = BTreeMap::new();
        accelerate(&mut pages);
        pages
    });
    let cache = tempfile::tempdir().unwrap();
    let dir = cache.path().join("deep/er");
    let (code, dry, _) = refresh(&server, &dir, &["--only", "accelerate", "--dry-run"]);
    assert_eq!(code, 0, "{dry}");
    assert!(dry.contains("nothing was written") && !dir.exists(), "{dry}");

    let (code, diff, progress) = refresh(&server, &dir, &["--only", "accelerate"]);
    assert_eq!(code, 0, "{diff}{progress}");
    assert!(diff.contains("+ packages/accelerate 99.0.0, 99.0.1\n"), "{diff}");
    assert!(diff.contains("{\"99.0.0\": 2099-02-03, \"99.0.1\": \"\"}"), "{diff}");
    assert!(diff.contains("requires: {numpy: \">=1.17,<3\", torch: \">=2.9\"}"), "{diff}");
    assert!(!diff.contains("rc1"), "{diff}");
    assert!(diff.contains("+ packages/accelerate 99.2.0\n") && diff.contains("yanked: true"), "{diff}");
    assert!(progress.contains("(--index-url)"), "{progress}");
    let largest = server.log.lock().unwrap().iter().map(|(_, bytes)| *bytes).max().unwrap();
    assert!(largest < 300 << 10, "no wheel was fetched whole: {largest} bytes");

    let shown = envdoc(&dir, &["catalog", "show", "accelerate", "99.0.1"]);
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("cached: ") && text.contains("package index: metadata"), "{text}");
    assert_eq!(envdoc(&dir, &["catalog", "verify"]).status.code(), Some(0));
    let (code, again, _) = refresh(&server, &dir, &["--only", "accelerate"]);
    assert_eq!((code, again.as_str()), (0, "nothing new\n"));
    let names: Vec<String> = fs::read_dir(dir.join("packages"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["accelerate.yaml"], "nothing is left next to it");
}

#[test]
fn prefers_metadata_files_and_reads_json_pages() {
    let server = serve(false, |_| {
        let page = r#"{"meta":{"api-version":"1.1"},"name":"peft","files":[
            {"filename":"peft-99.0.0-py3-none-any.whl","url":"/files/peft-99.0.0-py3-none-any.whl",
             "hashes":{},
             "upload-time":"2099-01-01T00:00:00Z","core-metadata":true,"yanked":false}]}"#;
        let metadata =
            b"Metadata-Version: 2.1\nName: peft\nVersion: 99.0.0\nRequires-Dist: torch>=1.13.0\n".to_vec();
        BTreeMap::from([
            ("/simple/peft/".into(), Page::Body("application/vnd.pypi.simple.v1+json", page.into())),
            ("/files/peft-99.0.0-py3-none-any.whl.metadata".into(), Page::Body("text/plain", metadata)),
        ])
    });
    let cache = tempfile::tempdir().unwrap();
    let (code, diff, _) = refresh(&server, cache.path(), &["--only", "peft"]);
    assert_eq!(code, 0);
    assert!(diff.contains("+ packages/peft 99.0.0\n") && diff.contains("torch: \">=1.13.0\""), "{diff}");
}

#[test]
fn server_without_range_requests_adds_no_row() {
    let server = serve(false, |_| {
        let mut pages = BTreeMap::new();
        accelerate(&mut pages);
        pages
    });
    let cache = tempfile::tempdir().unwrap();
    let (code, diff, _) = refresh(&server, cache.path(), &["--only", "accelerate"]);
    assert_eq!(code, 0);
    assert!(diff.contains("99.0.0: no row added: the server does not support range requests"), "{diff}");
    assert!(diff.ends_with("nothing new\n"), "{diff}");
}

/// The wheels of a torch release for Python 3.13 with an NCCL.
fn torch(pages: &mut BTreeMap<String, Page>, version: &str, nccl: &str) {
    let requires = format!(
        "Requires-Dist: cuda-toolkit[cublas]==13.2.2; platform_system == \"Linux\"\n\
         Requires-Dist: nvidia-nccl-cu13=={nccl}; platform_system == \"Linux\"\n\
         Requires-Dist: nvidia-cudnn-cu13==9.26.0.51; platform_system == \"Linux\"\n\
         Requires-Dist: triton~=3.9.0; platform_system == \"Linux\" and python_version < \"3.16\""
    );
    let file = format!("torch-{version}-cp313-cp313-manylinux_2_28_x86_64.whl");
    let attributes = "data-requires-python=\"&gt;=3.11\" data-upload-time=\"2099-03-01T00:00:00Z\"";
    project(pages, "/simple", "torch", &[(&file, attributes, wheel("torch", version, &requires))]);
    let vision = wheel("torchvision", "99.5.0", &format!("Requires-Dist: torch=={version}"));
    let file = "torchvision-99.5.0-cp312-cp312-manylinux_2_28_x86_64.whl";
    project(pages, "/simple", "torchvision", &[(file, "", vision)]);
}

#[test]
fn a_new_torch_is_a_row_with_what_its_metadata_pins() {
    let server = serve(true, |_| {
        let mut pages = BTreeMap::new();
        torch(&mut pages, "99.0.0", "2.30.7");
        for build in ["cu130", "cu132"] {
            let file = format!("torch-99.0.0+{build}-cp313-cp313-manylinux_2_28_x86_64.whl");
            let older = format!("torch-2.15.0+{build}-cp312-cp312-manylinux_2_28_x86_64.whl");
            project(
                &mut pages,
                &format!("/whl/{build}"),
                "torch",
                &[(&file, "", vec![]), (&older, "", vec![])],
            );
        }
        pages
    });
    let cache = tempfile::tempdir().unwrap();
    let (code, diff, _) = refresh(&server, cache.path(), &["--only", "torch"]);
    assert_eq!(code, 0, "{diff}");
    for part in [
        "+ torch 99.0.0\n",
        "released: 2099-03-01",
        "pypi_build: cu132",
        "pythons: [\"3.13\"]",
        "glibc_min: \"2.28\"",
        "torchvision: \"99.5.0\"",
        "torchvision_lacks: [\"3.13\"]",
        "triton: \"~=3.9.0\"",
        "triton_python_below: \"3.16\"",
        "builds_complete: false",
        "- {build: cu132, cuda: \"13.2\", nccl: \"2.30.7\", cudnn: \"9.26.0.51\"}",
        "- {build: cu130, cuda: \"13.0\", pythons: [\"3.13\"]",
    ] {
        assert!(diff.contains(part), "{part}: {diff}");
    }
    let verified = envdoc(cache.path(), &["catalog", "verify"]);
    assert_eq!(verified.status.code(), Some(0), "{}", String::from_utf8_lossy(&verified.stdout));
    let (_, again, _) = refresh(&server, cache.path(), &["--only", "torch"]);
    assert_eq!(again, "nothing new\n");
}

#[test]
fn a_row_that_breaks_a_rule_is_refused_and_the_rest_goes_on() {
    let server = serve(true, |_| {
        let mut pages = BTreeMap::new();
        torch(&mut pages, "99.0.0", "99.9.9");
        accelerate(&mut pages);
        pages
    });
    let cache = tempfile::tempdir().unwrap();
    let (code, diff, _) = refresh(&server, cache.path(), &["--only", "torch,accelerate"]);
    assert_eq!(code, 0, "{diff}");
    assert!(
        diff.contains("rejected: torch.yaml 99.0.0: reference: ") && diff.contains("no NCCL 99.9.9"),
        "{diff}"
    );
    assert!(diff.contains("+ packages/accelerate 99.0.0"), "{diff}");
    assert!(!cache.path().join("torch.yaml").exists());
}

#[test]
fn in_the_repository_only_lines_are_added() {
    let server = serve(true, |_| {
        let mut pages = BTreeMap::new();
        accelerate(&mut pages);
        pages
    });
    let repository = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog");
    assert!(Command::new("cp").arg("-r").arg(&source).arg(repository.path()).status().unwrap().success());
    let repository_path = repository.path().to_str().unwrap();
    let (code, _, error) =
        refresh(&server, Path::new(""), &["--only", "accelerate", "--in-repo", repository_path]);
    assert_eq!(code, 0, "{error}");
    let read = |root: &Path| fs::read_to_string(root.join("packages/accelerate.yaml")).unwrap();
    let (before, after) = (read(&source), read(&repository.path().join("catalog")));
    assert!(after.len() > before.len());
    let mut lines = after.lines();
    assert!(before.lines().all(|line| lines.any(|other| other == line)), "{after}");

    let (code, _, error) = refresh(&server, Path::new(""), &["--in-repo", "/"]);
    assert_eq!(code, 2);
    assert!(error.contains("has no catalog/torch.yaml"), "{error}");
}

#[test]
fn tags_are_read_with_the_token_that_the_registry_asks_for() {
    let server = serve(true, |url| {
        let challenge = format!(
            "Bearer realm=\"{url}/token\",service=\"registry\",scope=\"repository:nvidia/cuda:pull\""
        );
        let first = Page::Locked(
            "Link: </v2/nvidia/cuda/tags/list?n=1000&last=b>; rel=\"next\"\r\n",
            br#"{"name":"nvidia/cuda","tags":["12.4.1-devel-ubuntu22.04"]}"#.to_vec(),
            challenge.clone(),
        );
        let second = Page::Locked(
            "",
            br#"{"name":"nvidia/cuda","tags":["99.1.0-devel-ubuntu30.04"]}"#.to_vec(),
            challenge,
        );
        BTreeMap::from([
            ("/v2/nvidia/cuda/tags/list?n=1000".into(), first),
            ("/v2/nvidia/cuda/tags/list?n=1000&last=b".into(), second),
            ("/token".into(), Page::Body("application/json", br#"{"token":"t0ken"}"#.to_vec())),
        ])
    });
    let cache = tempfile::tempdir().unwrap();
    let (code, diff, _) = refresh(&server, cache.path(), &["--only", "images"]);
    assert_eq!(code, 0, "{diff}");
    assert!(
        diff.contains("nvidia/cuda has 1 tags that are not in the catalog: 99.1.0-devel-ubuntu30.04"),
        "{diff}"
    );
    assert!(diff.contains("could not query the tags of pytorch/pytorch: HTTP status 404"), "{diff}");
    let log = server.log.lock().unwrap();
    assert!(log.iter().any(|(line, _)| line.contains(
        "/token?service=registry&\
     scope=repository%3Anvidia%2Fcuda%3Apull"
    )));
}

#[test]
fn unreachable_index_exits_with_2_and_changes_nothing() {
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let server = Server { url: closed, log: Arc::default() };
    let cache = tempfile::tempdir().unwrap();
    let (code, diff, error) = refresh(&server, &cache.path().join("x"), &[]);
    assert_eq!((code, diff.as_str()), (2, ""));
    assert!(error.contains("no source was reachable") && error.contains("refused"), "{error}");
    assert!(!cache.path().join("x").exists());

    for (arguments, expected) in
        [(&["--only", "drivers"][..], "cannot be refreshed"), (&["--timeout", "0"], "greater than 0")]
    {
        let (code, _, error) = refresh(&server, cache.path(), arguments);
        assert_eq!(code, 2);
        assert!(error.contains(expected), "{error}");
    }
    let (code, _, error) = refresh(&server, Path::new(""), &[]);
    assert_eq!(code, 2);
    assert!(error.contains("no cache directory for catalog files"), "{error}");
}

#[test]
#[ignore = "asks the package index; tests/run.sh runs it as a step of its own"]
fn the_real_index() {
    let cache = tempfile::tempdir().unwrap();
    // Rows of their own make no difference to what the index says: a catalog without the newest accelerate
    // gets it back.
    let source =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog/packages/accelerate.yaml"))
            .unwrap();
    let last = source.rfind("\n- {").unwrap();
    fs::create_dir(cache.path().join("packages")).unwrap();
    let older = source[..=last].to_owned();
    fs::write(cache.path().join("packages/accelerate.yaml"), &older).unwrap();
    let output = envdoc(cache.path(), &["catalog", "refresh", "--only", "accelerate", "--timeout", "60"]);
    let error = String::from_utf8(output.stderr).unwrap();
    let diff = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(diff.contains("+ packages/accelerate") && !diff.contains("refused"), "{diff}");
    // What was cut off is what came back: the same requirements for the same releases. There may be newer
    // ones by now.
    let rows = |text: &str| -> Vec<serde_yaml::Value> {
        let file: serde_yaml::Value = serde_yaml::from_str(text).unwrap();
        file["rows"].as_sequence().unwrap().clone()
    };
    let expected = rows(&source).pop().unwrap();
    let after = rows(&fs::read_to_string(cache.path().join("packages/accelerate.yaml")).unwrap());
    for (release, day) in expected["releases"].as_mapping().unwrap() {
        let row = after.iter().find(|row| row["releases"].get(release).is_some()).unwrap();
        assert_eq!(&row["releases"][release], day, "{release:?}");
        for field in ["python", "pythons", "glibc", "requires", "aarch64", "yanked"] {
            assert_eq!(row[field], expected[field], "{release:?} {field}");
        }
    }
    assert_eq!(envdoc(cache.path(), &["catalog", "verify"]).status.code(), Some(0));
}
