//! Pages of Markdown by topic and id: `envdoc://check/driver-missing`.

use rmcp::model::{Resource, ResourceTemplate};

/// Type of all pages.
pub(crate) const MARKDOWN: &str = "text/markdown";

/// One page of a topic.
#[derive(Debug, Clone)]
pub struct Entry {
    pub id: String,
    /// What it is about, in a line.
    pub summary: String,
}

/// Makes the page of an id as Markdown.
pub type Page = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Pages of one kind.
pub struct Topic {
    /// The first part of their addresses: `check`.
    pub name: &'static str,
    /// What the pages are, for people.
    pub title: &'static str,
    /// All pages, in the order of the list.
    pub entries: Vec<Entry>,
    pub page: Page,
}

/// The scheme and what follows it.
const SCHEME: &str = "envdoc://";

impl Topic {
    pub(crate) fn template(&self) -> String {
        format!("{SCHEME}{}/{{id}}", self.name)
    }

    pub(crate) fn listed_template(&self) -> ResourceTemplate {
        ResourceTemplate::new(self.template(), self.name).with_title(self.title).with_mime_type(MARKDOWN)
    }

    fn resource(&self, entry: &Entry) -> Resource {
        Resource::new(format!("{SCHEME}{}/{}", self.name, entry.id), &entry.id)
            .with_description(&entry.summary)
            .with_mime_type(MARKDOWN)
    }
}

/// The pages of all topics from `from` on, at most `count`.
pub(crate) fn listed(topics: &[Topic], from: usize, count: usize) -> Vec<Resource> {
    let all = topics.iter().flat_map(|topic| topic.entries.iter().map(move |entry| topic.resource(entry)));
    all.skip(from).take(count).collect()
}

pub(crate) fn count(topics: &[Topic]) -> usize {
    topics.iter().map(|topic| topic.entries.len()).sum()
}

/// The page at an address.
pub(crate) fn read(topics: &[Topic], address: &str) -> Option<String> {
    let (name, id) = address.strip_prefix(SCHEME)?.split_once('/')?;
    let topic = topics.iter().find(|topic| topic.name == name)?;
    let known = topic.entries.iter().any(|entry| entry.id == id);
    known.then(|| (topic.page)(id)).flatten()
}

/// The ids of the topic that a template names which contain `typed`; those that begin with it come first.
pub(crate) fn completions(topics: &[Topic], template: &str, typed: &str) -> Vec<String> {
    let Some(topic) = topics.iter().find(|topic| topic.template() == template) else { return Vec::new() };
    let typed = typed.to_ascii_lowercase();
    let ids = || topic.entries.iter().map(|entry| &entry.id).filter(|id| id.contains(&typed));
    let (first, then): (Vec<&String>, Vec<&String>) = ids().partition(|id| id.starts_with(&typed));
    first.into_iter().chain(then).cloned().collect()
}
