//! The pages of Python package indexes, in both of their forms.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::error::Error;
use docker::registry::join;

/// One file of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DistFile {
    /// `torch-2.5.1-cp312-cp312-manylinux1_x86_64.whl`.
    pub name: String,
    /// Absolute.
    pub url: String,
    /// `Requires-Python`.
    pub requires_python: Option<String>,
    /// Whether the index marks it as yanked.
    pub yanked: bool,
    /// The day of its upload, where the page tells.
    pub uploaded: Option<String>,
    /// Whether its metadata can be had on its own.
    pub metadata: bool,
}

/// The day of a time stamp.
pub(super) fn day(time: &str) -> Option<String> {
    let day = time.get(..10)?;
    day.parse::<jiff::civil::Date>().is_ok().then(|| day.to_owned())
}

/// The address of a link; none of another scheme than the web's, as `file:` or `data:`.
fn web(base: &str, target: &str) -> Option<String> {
    join(base, target).filter(|url| url.starts_with("https://") || url.starts_with("http://"))
}

/// A page of PEP 691.
pub fn from_json(text: &str, base: &str) -> Result<Vec<DistFile>, Error> {
    #[derive(Deserialize)]
    struct Page {
        files: Vec<File>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct File {
        filename: String,
        url: String,
        requires_python: Option<String>,
        #[serde(default)]
        yanked: serde_json::Value,
        upload_time: Option<String>,
        #[serde(default)]
        core_metadata: serde_json::Value,
        #[serde(default)]
        dist_info_metadata: serde_json::Value,
    }
    // `false`, `true`, or an object of hashes, or the reason: everything but false and nothing says yes.
    let says_yes = |value: &serde_json::Value| {
        !matches!(value, serde_json::Value::Null | serde_json::Value::Bool(false))
    };
    let page: Page = serde_json::from_str(text).map_err(Error::Page)?;
    let file = |file: File| {
        Some(DistFile {
            url: web(base, &file.url)?,
            name: file.filename,
            requires_python: file.requires_python.filter(|text| !text.trim().is_empty()),
            yanked: says_yes(&file.yanked),
            uploaded: file.upload_time.as_deref().and_then(day),
            metadata: says_yes(&file.core_metadata) || says_yes(&file.dist_info_metadata),
        })
    };
    Ok(page.files.into_iter().filter_map(file).collect())
}

/// A page of PEP 503.
pub fn from_html(text: &str, base: &str) -> Vec<DistFile> {
    static ANCHOR: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?is)<a\s([^>]*)>(.*?)</a\s*>").ok());
    let Some(anchor) = &*ANCHOR else { return Vec::new() };
    let file = |found: regex::Captures<'_>| {
        let attributes = &found[1];
        let url = web(base, &attribute(attributes, "href")?)?;
        let url = url.split('#').next()?.to_owned();
        // The text of a link is the file's name by PEP 503; some indexes shorten it, so the address counts.
        let name = percent_decoded(url.split('?').next()?.rsplit('/').next()?);
        Some(DistFile {
            name,
            url,
            requires_python: attribute(attributes, "data-requires-python")
                .filter(|text| !text.trim().is_empty()),
            yanked: attribute(attributes, "data-yanked").is_some(),
            uploaded: attribute(attributes, "data-upload-time").as_deref().and_then(day),
            metadata: ["data-core-metadata", "data-dist-info-metadata"]
                .iter()
                .any(|name| attribute(attributes, name).is_some_and(|value| value != "false")),
        })
    };
    anchor.captures_iter(text).filter_map(file).collect()
}

/// The value of an attribute; empty for one without a value.
fn attribute(attributes: &str, name: &str) -> Option<String> {
    static EACH: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?s)([\w-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?"#).ok());
    let mut all = EACH.as_ref()?.captures_iter(attributes);
    let found = all.find(|found| found[1].eq_ignore_ascii_case(name))?;
    let value =
        found.get(2).or_else(|| found.get(3)).or_else(|| found.get(4)).map_or("", |value| value.as_str());
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&amp;", "&")];
    Some(
        entities.iter().fold(value.to_owned(), |value, (entity, character)| value.replace(entity, character)),
    )
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code =
            after.get(..2).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match code {
            Some(code) if byte == b'%' => {
                bytes.push(code);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_of_another_scheme_is_no_file() {
        let base = "https://127.0.0.1/simple/x/";
        let html = r#"<a href="ur01t00:x-1.0.whl#sha256=0">x</a><a href="file:///etc/x-1.0.whl">x</a>"#;
        assert_eq!(from_html(html, base), Vec::new());
        let json = r#"{"files": [{"filename": "x-1.0.whl", "url": "data:x-1.0.whl"}]}"#;
        assert_eq!(from_json(json, base).unwrap(), Vec::new());
    }

    #[test]
    fn pages_in_both_forms() {
        let html = r##"<!DOCTYPE html><html><body><h1>Links for torch</h1>
<a href="../../files/torch-2.5.1%2Bcu121-cp312-cp312-linux_x86_64.whl#sha256=00"
    data-requires-python="&gt;=3.8.0" data-dist-info-metadata="sha256=11"
    data-upload-time="2024-10-29T17:38:54.123Z">torch-2.5.1+cu...</a><br/>
<A HREF='https://files.example.org/torch-2.5.0.tar.gz' data-yanked="">torch-2.5.0.tar.gz</A>
</body></html>"##;
        let files = from_html(html, "https://example.org/simple/torch/");
        let expected = DistFile {
            name: "torch-2.5.1+cu121-cp312-cp312-linux_x86_64.whl".into(),
            url: "https://example.org/files/torch-2.5.1%2Bcu121-cp312-cp312-linux_x86_64.whl".into(),
            requires_python: Some(">=3.8.0".into()),
            yanked: false,
            uploaded: Some("2024-10-29".into()),
            metadata: true,
        };
        assert_eq!(files[0], expected);
        assert!(files[1].yanked && !files[1].metadata && files[1].requires_python.is_none());

        let json = r#"{"meta":{"api-version":"1.1"},"name":"torch","files":[
            {"filename":"torch-2.5.1+cu121-cp312-cp312-linux_x86_64.whl","hashes":{},"yanked":false,
             "url":"../../files/torch-2.5.1%2Bcu121-cp312-cp312-linux_x86_64.whl","requires-python":">=3.8.0",
             "upload-time":"2024-10-29T17:38:54Z","core-metadata":{"sha256":"11"}},
            {"filename":"torch-2.5.0.tar.gz","url":"https://files.example.org/torch-2.5.0.tar.gz",
             "yanked":"broken"}]}"#;
        let files = from_json(json, "https://example.org/simple/torch/").unwrap();
        assert_eq!(files[0], expected);
        assert!(files[1].yanked && !files[1].metadata);
        assert!(from_json("<html>", "https://example.org/").is_err());
        assert_eq!(from_html("nothing here", "https://example.org/"), []);
    }
}
