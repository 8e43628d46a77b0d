//! The requests of a client: tools are listed and run, pages are listed, read and completed.

use std::sync::{Arc, Mutex, PoisonError};

use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ContentBlock, ErrorData, Implementation, InitializeResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceContents, ServerCapabilities,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value};
use tokio::sync::{Semaphore, oneshot};

use crate::arguments::{self, Common};
use crate::bounded::{self, Cut};
use crate::pages::Pages;
use crate::resources;
use crate::server::Server;
use crate::tool::{Answer, MAX_BYTES, Tool};

/// The tools that run at once; further calls wait.
const RUNNING_MAX: usize = 4;
/// As much as the main thread has, on which the commands run.
const STACK_BYTES: usize = 8 << 20;
/// The pages that one answer lists.
const LISTED_MAX: usize = 200;

/// What answers the requests of a client.
pub(crate) struct Handler {
    server: Arc<Server>,
    running: Arc<Semaphore>,
    pages: Mutex<Pages>,
}

impl Handler {
    pub(crate) fn new(server: Server) -> Handler {
        Handler {
            server: Arc::new(server),
            running: Arc::new(Semaphore::new(RUNNING_MAX)),
            pages: Mutex::default(),
        }
    }

    fn pages(&self) -> std::sync::MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer of a tool, or of an earlier call that a cursor names.
    async fn answer(
        &self,
        index: usize,
        given: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, Error> {
        let tool = &self.server.tools[index];
        let (common, arguments) = arguments::checked(tool.name, &tool.listed.input_schema, given)?;
        if let Some(cursor) = &common.cursor {
            let (answer, number, from) = self.pages().find(tool.name, &arguments, cursor)?;
            return result(tool, &answer, &common, from, |next| format!("{number}.{next}"));
        }
        let run = self.run(index, Value::Object(arguments.clone()));
        let answer = tokio::select! {
            answer = run => Arc::new(answer?),
            () = context.ct.cancelled() => return Err(Error::new(Kind::Interrupted, "cancelled")),
        };
        let kept = answer.clone();
        result(tool, &answer, &common, 0, |next| {
            let number = self.pages().keep(tool.name, arguments, kept);
            format!("{number}.{next}")
        })
    }

    /// Runs a tool on a thread of its own. When the call is cancelled, the thread ends by its own deadlines;
    /// until then it counts as running. A panic in a tool is an error only where panics unwind, as in tests:
    /// in release builds it ends the process.
    async fn run(&self, index: usize, arguments: Value) -> Result<Answer, Error> {
        let ended = || Error::new(Kind::File, "the tool ended without an answer");
        let permit = self.running.clone().acquire_owned().await.map_err(|_| ended())?;
        let (send, answer) = oneshot::channel();
        let server = self.server.clone();
        let run = move || {
            let _ = send.send(server.tools[index].run(arguments));
            drop(permit);
        };
        let thread = std::thread::Builder::new().name("mcp tool".into()).stack_size(STACK_BYTES);
        thread
            .spawn(run)
            .map_err(|error| Error::new(Kind::File, format!("cannot start a thread: {error}")))?;
        answer.await.map_err(|_| ended())?
    }
}

/// The part of an answer from entry `from` on. `cursor` makes the cursor of the next part.
fn result(
    tool: &Tool,
    answer: &Answer,
    common: &Common,
    from: usize,
    cursor: impl FnOnce(usize) -> String,
) -> Result<CallToolResult, Error> {
    let part = bounded::part(&answer.document, tool.lists, from, common.max_bytes).map_err(|needed| {
        let limit = common.max_bytes;
        let error = Error::new(Kind::Usage, format!("the answer does not fit into {limit} bytes"));
        match needed <= MAX_BYTES {
            true => error.hint(format!("pass max_bytes of at least {needed}")),
            false => error.hint("use the command line: it has no limit"),
        }
    })?;
    let mut document = part.document;
    let mut text = bounded::text(&answer.text, common.max_bytes / 4);
    if !part.lists.is_empty() {
        let cut = Cut { lists: part.lists, next_cursor: part.next.map(cursor) };
        text.insert_str(0, &cut.text(MAX_BYTES));
        if let (Value::Object(document), Ok(cut)) = (&mut document, serde_json::to_value(&cut)) {
            document.insert("cut".into(), cut);
        }
    }
    let mut result = CallToolResult::structured(document);
    result.content = vec![ContentBlock::text(text)];
    Ok(result)
}

impl ServerHandler for Handler {
    fn get_info(&self) -> InitializeResult {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_completions().build();
        let Server { name, version, instructions, .. } = &*self.server;
        InitializeResult::new(capabilities)
            .with_server_info(Implementation::new(*name, *version))
            .with_instructions(instructions)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listed = self.server.tools.iter().map(|tool| tool.listed.clone());
        Ok(ListToolsResult::with_all_items(listed.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(index) = self.server.tools.iter().position(|tool| tool.name == request.name) else {
            return Err(ErrorData::invalid_params(format!("unknown tool: {:?}", request.name), None));
        };
        let answer = self.answer(index, request.arguments.unwrap_or_default(), &context).await;
        Ok(answer.unwrap_or_else(|error| failed(&error)).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let topics = &self.server.topics;
        let total = resources::count(topics);
        let from = match request.and_then(|request| request.cursor) {
            None => 0,
            Some(cursor) => cursor
                .parse()
                .ok()
                .filter(|from| *from < total)
                .ok_or_else(|| ErrorData::invalid_params(format!("invalid cursor {cursor:?}"), None))?,
        };
        let listed = resources::listed(topics, from, LISTED_MAX);
        let end = from + listed.len();
        let mut result = ListResourcesResult::with_all_items(listed);
        result.next_cursor = (end < total).then(|| end.to_string());
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.server.topics.iter().map(resources::Topic::listed_template);
        Ok(ListResourceTemplatesResult::with_all_items(templates.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let page = resources::read(&self.server.topics, &request.uri)
            .ok_or_else(|| ErrorData::resource_not_found(format!("no resource {:?}", request.uri), None))?;
        let contents = ResourceContents::text(page, request.uri).with_mime_type(resources::MARKDOWN);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let template = request.r#ref.as_resource_uri().unwrap_or_default();
        let mut ids = match request.argument.name.as_str() {
            "id" => resources::completions(&self.server.topics, template, &request.argument.value),
            _ => Vec::new(),
        };
        let total = ids.len();
        ids.truncate(CompletionInfo::MAX_VALUES);
        let more = ids.len() < total;
        let completion = CompletionInfo::with_pagination(ids, u32::try_from(total).ok(), more)
            .map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(completion))
    }
}

/// An error of a tool, in the words of the command.
fn failed(error: &Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(terminal::plain_error(error))])
}
