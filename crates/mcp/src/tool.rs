//! A tool: its name, its schemas, and the function behind it.

use std::sync::Arc;

use diagnostic::error::{Error, Kind};
use rmcp::model::{self, JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::bounded::Cut;

/// Limits of `max_bytes`, and what it is where a call does not say it.
pub const MIN_BYTES: usize = 8 << 10;
pub const MAX_BYTES_DEFAULT: usize = 64 << 10;
pub const MAX_BYTES: usize = 1 << 20;

/// What a tool answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The document, as the command prints it with `--format json`.
    pub document: Value,
    /// The same for people.
    pub text: String,
}

impl Answer {
    /// # Errors
    /// The document is not JSON: a map with keys that are no texts.
    pub fn new(document: &impl Serialize, text: String) -> Result<Answer, Error> {
        let document = serde_json::to_value(document)
            .map_err(|error| Error::new(Kind::File, format!("cannot write JSON: {error}")))?;
        Ok(Answer { document, text })
    }
}

/// What clients and models read of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What it does and when to use it.
    pub text: &'static str,
    /// The lists of the document that may be cut, as JSON pointers: the first in parts that a cursor
    /// continues, the others at their end, the last of them first.
    pub lists: &'static [&'static str],
    /// Whether an argument makes it use the network.
    pub network: bool,
}

type Run = Box<dyn Fn(Value) -> Result<Answer, Error> + Send + Sync>;

/// A tool that only reads.
pub struct Tool {
    pub(crate) name: &'static str,
    pub(crate) lists: &'static [&'static str],
    pub(crate) listed: model::Tool,
    run: Run,
}

impl Tool {
    /// A tool whose arguments are an `A`, and whose document is a `D`. Unknown fields of `A` must be errors.
    pub fn new<A: DeserializeOwned + JsonSchema, D: JsonSchema>(
        description: Description,
        run: impl Fn(A) -> Result<Answer, Error> + Send + Sync + 'static,
    ) -> Tool {
        let Description { name, title, text, lists, network } = description;
        let annotations = ToolAnnotations::with_title(title)
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(network);
        let listed = model::Tool::new(name, text, input_schema::<A>(!lists.is_empty()))
            .with_title(title)
            .with_raw_output_schema(Arc::new(output_schema::<D>()))
            .with_annotations(annotations);
        let run = move |arguments| {
            let arguments = serde_json::from_value(arguments)
                .map_err(|error| Error::new(Kind::Usage, format!("arguments of {name}: {error}")))?;
            run(arguments)
        };
        Tool { name, lists, listed, run: Box::new(run) }
    }

    pub(crate) fn run(&self, arguments: Value) -> Result<Answer, Error> {
        (self.run)(arguments)
    }
}

/// A schema without references, which not every client resolves in arguments, and with each description in
/// one line.
fn inlined<T: JsonSchema>() -> JsonObject {
    let mut schema = root::<T>();
    unwrap_descriptions(&mut schema);
    schema
}

fn unwrap_descriptions(schema: &mut JsonObject) {
    for (key, value) in schema {
        match value {
            Value::String(text) if key == "description" => *text = text.replace('\n', " "),
            Value::Object(inner) => unwrap_descriptions(inner),
            Value::Array(entries) => {
                entries.iter_mut().filter_map(Value::as_object_mut).for_each(unwrap_descriptions);
            }
            _ => {}
        }
    }
}

fn root<T: JsonSchema>() -> JsonObject {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    object(settings.into_generator().into_root_schema_for::<T>().to_value())
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

fn input_schema<A: JsonSchema>(parts: bool) -> JsonObject {
    let mut schema = inlined::<A>();
    schema.remove("title");
    schema.remove("description");
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        properties.insert(
            "max_bytes".into(),
            json!({
                "type": "integer", "minimum": MIN_BYTES, "maximum": MAX_BYTES, "default": MAX_BYTES_DEFAULT,
                "description": "Limit of the answer's JSON in bytes; its text adds at most a quarter of \
                                that. What is left out is stated in `cut` and in the text.",
            }),
        );
        if parts {
            properties.insert(
                "cursor".into(),
                json!({
                    "type": "string",
                    "description": "`cut.next_cursor` of an answer: returns its next part.",
                }),
            );
        }
    }
    schema
}

/// The schema of the document, as docs/schemas has it, and of the statement about what was left out.
fn output_schema<D: JsonSchema>() -> JsonObject {
    let mut schema = object(schemars::schema_for!(D).to_value());
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let mut cut = inlined::<Cut>();
        cut.remove("title");
        properties.insert("cut".into(), Value::Object(cut));
    }
    schema
}
