//! Clients of all kinds, over real pipes: orderly ones, and ones that send anything.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use diagnostic::error::{Error, Kind};
use proptest::collection::vec;
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::{Answer, Description, Entry, LINE_LIMIT_BYTES, Server, Tool, Topic, serve};

/// Longer than any test takes: what waits that long, hangs.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Repeat {
    text: String,
    #[serde(default)]
    count: u64,
}

#[derive(Serialize, JsonSchema)]
struct Repeated {
    texts: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wait {
    milliseconds: u64,
}

fn tools() -> Vec<Tool> {
    let description =
        |name| Description { name, title: name, text: name, lists: &["/texts"], network: false };
    let repeat = |Repeat { text, count }| {
        if text == "bad" {
            return Err(Error::new(Kind::Usage, "bad text").hint("write another"));
        }
        let texts = (0..count.min(5000)).map(|i| format!("{text} {i}")).collect();
        Answer::new(&Repeated { texts }, format!("{count} texts\n"))
    };
    let wait = |Wait { milliseconds }| {
        std::thread::sleep(Duration::from_millis(milliseconds));
        Answer::new(&Repeated { texts: vec!["waited".into()] }, "waited\n".into())
    };
    vec![
        Tool::new::<Repeat, Repeated>(description("repeat"), repeat),
        Tool::new::<Wait, Repeated>(description("wait"), wait),
    ]
}

fn server() -> Server {
    let entry = |number: usize| Entry { id: format!("fault-{number}"), summary: "A fault".into() };
    let topic = Topic {
        name: "check",
        title: "Checks",
        entries: (0..450).map(entry).collect(),
        page: Box::new(|id| Some(format!("# {id}\n"))),
    };
    let instructions = "Read me".to_owned();
    Server { name: "test", version: "1", instructions, tools: tools(), topics: vec![topic] }
}

struct Client {
    input: Option<PipeWriter>,
    output: BufReader<PipeReader>,
    stop: Option<oneshot::Sender<()>>,
    ended: mpsc::Receiver<Result<(), Error>>,
}

impl Client {
    fn start() -> Client {
        diagnostic::terminal::be_quiet();
        let (server_input, input) = std::io::pipe().unwrap();
        let (output, server_output) = std::io::pipe().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (send, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let stopped = async {
                // A client that only drops its end stops nothing.
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let _ = send.send(runtime.block_on(serve(server(), server_input, server_output, stopped)));
        });
        Client { input: Some(input), output: BufReader::new(output), stop: Some(stop), ended }
    }

    fn initialized() -> Client {
        let mut client = Client::start();
        client.send(&initialize());
        assert_eq!(client.receive()["result"]["serverInfo"]["name"], "test");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        self.send(&call(json!(id), tool, arguments));
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Closes the input, and returns everything that came before the end.
    fn end(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        self.ended.recv_timeout(PATIENCE).expect("the server hangs").unwrap();
        rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}
    }})
}

fn call(id: Value, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
           "params": {"name": tool, "arguments": arguments}})
}

fn cancel(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

#[test]
fn tools_answer_with_documents_and_errors() {
    let mut client = Client::initialized();
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let listed = client.receive();
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 2);
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], true);
    assert_eq!(tools[0]["inputSchema"]["additionalProperties"], false);
    assert!(tools[0]["inputSchema"]["properties"]["max_bytes"]["maximum"].is_number());
    assert!(tools[0]["outputSchema"]["properties"]["cut"]["properties"]["next_cursor"].is_object());
    let answer = client.call(2, "repeat", json!({"text": "a", "count": 2}));
    assert_eq!(answer["result"]["structuredContent"], json!({"texts": ["a 0", "a 1"]}));
    assert_eq!(answer["result"]["content"][0]["text"], "2 texts\n");
    let answer = client.call(3, "repeat", json!({"text": "bad"}));
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["content"][0]["text"], "error: bad text\nhint: write another");
    let answer = client.call(4, "repeat", json!({"texd": "a"}));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("error: unknown argument \"texd\"\nhint: did you mean text?\n"), "{text}");
    let answer = client.call(5, "repeat", json!({}));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("missing field `text`"), "{text}");
    assert_eq!(client.call(6, "nothing", json!({}))["error"]["code"], -32602);
    assert!(client.end().is_empty());
}

#[test]
fn long_answers_come_in_parts() {
    let mut client = Client::initialized();
    let (mut texts, mut cursor, mut id) = (Vec::new(), Value::Null, 1);
    loop {
        let arguments = json!({"text": "text", "count": 3000, "max_bytes": 9000, "cursor": cursor});
        let answer = client.call(id, "repeat", arguments);
        assert!(answer["result"]["structuredContent"].to_string().len() <= 9000);
        let cut = &answer["result"]["structuredContent"]["cut"];
        assert_eq!(cut["lists"][0]["first"], texts.len());
        assert_eq!(cut["lists"][0]["total"], 3000);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("Partial answer: /texts: entries "), "{text}");
        let part = answer["result"]["structuredContent"]["texts"].as_array().unwrap().clone();
        assert!(!part.is_empty());
        texts.extend(part);
        cursor = cut["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
        id += 1;
    }
    assert_eq!(texts.len(), 3000);
    assert_eq!(texts[2999], "text 2999");
    client.end();
}

#[test]
fn resources_are_listed_read_and_completed() {
    let mut client = Client::initialized();
    let mut request = |id: u64, method: &str, params: Value| {
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        client.receive()
    };
    let first = request(1, "resources/list", json!({}));
    assert_eq!(first["result"]["resources"].as_array().unwrap().len(), 200);
    assert_eq!(first["result"]["resources"][0]["uri"], "envdoc://check/fault-0");
    let last = request(2, "resources/list", json!({"cursor": "400"}));
    assert_eq!(last["result"]["resources"].as_array().unwrap().len(), 50);
    assert!(last["result"].get("nextCursor").is_none());
    assert_eq!(request(3, "resources/list", json!({"cursor": "x"}))["error"]["code"], -32602);
    let page = request(4, "resources/read", json!({"uri": "envdoc://check/fault-7"}));
    assert_eq!(page["result"]["contents"][0]["text"], "# fault-7\n");
    assert_eq!(page["result"]["contents"][0]["mimeType"], "text/markdown");
    for uri in ["envdoc://check/fault-450", "envdoc://rule/fault-7", "file:///etc/passwd", ""] {
        assert_eq!(request(5, "resources/read", json!({"uri": uri}))["error"]["code"], -32002, "{uri}");
    }
    let templates = request(6, "resources/templates/list", json!({}));
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "envdoc://check/{id}");
    let completed = request(
        7,
        "completion/complete",
        json!({"ref": {"type": "ref/resource", "uri": "envdoc://check/{id}"},
               "argument": {"name": "id", "value": "fault-44"}}),
    );
    assert_eq!(completed["result"]["completion"]["values"][0], "fault-44");
    assert_eq!(completed["result"]["completion"]["total"], 11);
    client.end();
}

#[test]
fn a_cancelled_call_gets_no_answer_and_holds_nothing_up() {
    let mut client = Client::initialized();
    client.send(&call(json!(1), "wait", json!({"milliseconds": 20_000})));
    client.send(&cancel(1));
    assert_eq!(client.call(2, "repeat", json!({"text": "a", "count": 1}))["id"], 2);
    let start = Instant::now();
    assert!(client.end().is_empty());
    assert!(start.elapsed() < Duration::from_secs(15), "the end waited for a cancelled call");
}

#[test]
fn calls_that_run_at_the_end_of_the_input_are_answered() {
    let mut client = Client::initialized();
    client.send(&call(json!(1), "wait", json!({"milliseconds": 500})));
    let rest = client.end();
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0]["result"]["structuredContent"]["texts"][0], "waited");
}

#[test]
fn a_stop_ends_the_session_while_a_call_runs() {
    let mut client = Client::initialized();
    client.send(&call(json!(1), "wait", json!({"milliseconds": 20_000})));
    let start = Instant::now();
    client.stop.take().unwrap().send(()).unwrap();
    client.ended.recv_timeout(PATIENCE).unwrap().unwrap();
    assert!(start.elapsed() < Duration::from_secs(15));
}

#[test]
fn a_client_that_reads_nothing_more_ends_the_session() {
    let Client { input, output, stop, ended } = Client::initialized();
    drop(output);
    let mut input = input.unwrap();
    let _ = input.write_all(format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).as_bytes());
    ended.recv_timeout(PATIENCE).unwrap().unwrap();
    drop(stop);
}

#[test]
fn too_many_requests_and_used_ids_are_refused() {
    let mut client = Client::initialized();
    for id in 0..33 {
        client.send(&call(json!(id), "wait", json!({"milliseconds": 20_000})));
    }
    let refused = client.receive();
    assert_eq!(refused["id"], 32);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("too many pending requests (limit 32)"), "{message}");
    client.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}));
    let refused = client.receive();
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("request id is already in use"),
        "{refused}"
    );
    for id in 0..33 {
        client.send(&cancel(id));
    }
    client.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}));
    let refused = client.receive();
    assert!(refused["error"]["message"].as_str().unwrap().contains("a cancelled request"), "{refused}");
    client.send(&json!({"jsonrpc": "2.0", "id": 40, "method": "ping"}));
    assert_eq!(client.receive(), json!({"jsonrpc": "2.0", "id": 40, "result": {}}));
    client.end();
}

#[test]
fn lines_that_are_no_messages_are_refused_and_the_session_goes_on() {
    let mut client = Client::start();
    let lines: [(Vec<u8>, i64, Value); 9] = [
        (b"no json".to_vec(), -32700, Value::Null),
        (vec![b'['; 100_000], -32700, Value::Null),
        (vec![b'x'; LINE_LIMIT_BYTES + 1], -32600, Value::Null),
        (b"\xff\xfe{}".to_vec(), -32700, Value::Null),
        (b"[]".to_vec(), -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":4,"method":5}"#.to_vec(), -32600, json!(4)),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#.to_vec(), -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#.to_vec(), -32600, json!(5)),
        (br#"{"jsonrpc":"2.0","id":6,"method":"initialize","params":{"a":1}}"#.to_vec(), -32600, json!(6)),
    ];
    for (line, code, id) in lines {
        let input = client.input.as_mut().unwrap();
        input.write_all(&line).unwrap();
        input.write_all(b"\n").unwrap();
        let answer = client.receive();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{answer}");
    }
    // No answer to notifications and blank lines.
    let input = client.input.as_mut().unwrap();
    input
        .write_all(b"\n  \r\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":7}\n")
        .unwrap();
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.send(&initialize());
    assert_eq!(client.receive()["id"], "hello");
    client.end();
}

/// Values that no schema expects.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("9".repeat(400))),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[a-zA-Z_]{1,8}|id|method|params|jsonrpc", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

const METHODS: &[&str] = &[
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "completion/complete",
    "prompts/get",
    "logging/setLevel",
    "subscriptions/listen",
    "tasks/get",
    "tasks/cancel",
    "notifications/cancelled",
    "notifications/initialized",
    "notifications/progress",
    "notifications/roots/list_changed",
];

fn methods() -> impl Strategy<Value = String> {
    prop_oneof![4 => proptest::sample::select(METHODS).prop_map(str::to_owned), 1 => ".{0,20}"]
}

/// Parameters that are nearly right.
fn parameters() -> impl Strategy<Value = Value> {
    let arguments = prop_oneof![
        Just(json!({"text": "a", "count": 9})),
        Just(json!({"text": "a", "count": 4000, "max_bytes": 8192})),
        Just(json!({"text": "a", "cursor": "1.10"})),
        Just(json!({"milliseconds": 1})),
        values(),
    ];
    let tool = prop_oneof![Just("repeat".to_owned()), Just("wait".to_owned()), ".{0,9}"];
    prop_oneof![
        (tool, arguments).prop_map(|(name, arguments)| json!({"name": name, "arguments": arguments})),
        values().prop_map(|id| json!({ "requestId": id })),
        values().prop_map(|cursor| json!({ "cursor": cursor })),
        ".{0,30}".prop_map(|uri| json!({"uri": format!("envdoc://check/{uri}")})),
        values().prop_map(|meta| json!({"_meta": {"io.modelcontextprotocol/protocolVersion": meta}})),
        values(),
    ]
}

/// One line of a client that has gone wrong, which may have no end.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let ids = prop_oneof![3 => (0_u64..4).prop_map(Value::from), 1 => values()];
    let message = (ids, methods(), parameters())
        .prop_map(|(id, method, params)| {
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string().into_bytes()
        })
        .boxed();
    let notification = (methods(), parameters())
        .prop_map(|(method, params)| json!({"jsonrpc": "2.0", "method": method, "params": params}));
    let response =
        (values(), values()).prop_map(|(id, result)| json!({"jsonrpc": "2.0", "id": id, "result": result}));
    let whole = prop_oneof![
        6 => message.clone(),
        2 => notification.prop_map(|message| message.to_string().into_bytes()),
        1 => response.prop_map(|message| message.to_string().into_bytes()),
        1 => values().prop_map(|value| value.to_string().into_bytes()),
        2 => vec(any::<u8>(), 0..80),
        // A half line, and two in one.
        1 => (message.clone(), 0_usize..60).prop_map(|(line, end)| line[..end.min(line.len())].to_vec()),
        1 => (message.clone(), message).prop_map(|(one, other)| [one, other].concat()),
        1 => (1_usize..60_000).prop_map(|depth| [b"{\"a\":".repeat(depth / 5), b"[".repeat(depth)].concat()),
        1 => (1_usize..3).prop_map(|times| vec![b'"'; times * LINE_LIMIT_BYTES + 7]),
    ];
    (whole, prop_oneof![8 => Just("\n"), 1 => Just("\r\n"), 1 => Just("")])
        .prop_map(|(line, end)| [line, end.as_bytes().to_vec()].concat())
}

/// Sends everything, then a request that must be answered, and checks every answer.
fn talk(before: &[Vec<u8>], after: &[Vec<u8>]) -> Result<(), TestCaseError> {
    let mut client = Client::start();
    let mut input = client.input.take().unwrap();
    let hello = format!("\n{}\n", initialize()).into_bytes();
    let last = format!("\n{}\n", json!({"jsonrpc": "2.0", "id": "last", "method": "ping"})).into_bytes();
    let all = [before.concat(), hello, after.concat(), last].concat();
    let writing = std::thread::spawn(move || input.write_all(&all));
    let mut answers = String::new();
    client.output.read_to_string(&mut answers).unwrap();
    writing.join().unwrap().unwrap();
    client.ended.recv_timeout(PATIENCE).expect("the server hangs").unwrap();
    let mut seen_last = false;
    for line in answers.lines() {
        let answer: Value = serde_json::from_str(line)
            .map_err(|error| TestCaseError::fail(format!("not JSON: {error}: {line}")))?;
        prop_assert_eq!(&answer["jsonrpc"], "2.0");
        prop_assert!(line.len() < 2 << 20);
        seen_last |= answer["id"] == "last";
    }
    prop_assert!(seen_last, "no answer to the last request: {}", answers);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_client_ends_the_server(before in vec(lines(), 0..6), after in vec(lines(), 0..24)) {
        talk(&before, &after)?;
    }
}
