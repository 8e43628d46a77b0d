//! A template of Helm that renders no YAML.

use crate::read::template::Template;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "helm-template-invalid",
    severity: Severity::Error,
    summary: "what templates of Helm insert begins on its own line with its own indentation",
    explain: include_str!("helm_template_invalid.md"),
    judge: Judge::Template(judge),
    fires: &[
        named(
            "templates/deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name \
             }}\nspec:\n  template:\n    \
             spec:\n      tolerations:\n        {{- toYaml .Values.tolerations | indent 8 }}\n",
        ),
        named(
            "templates/pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name \
             }}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n      resources:\n        {{ toYaml .Values.resources | indent 8 }}\n",
        ),
        named(
            "templates/pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name \
             }}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n      resources:\n        {{- toYaml .Values.resources | nindent 4 }}\n",
        ),
        named(
            "templates/pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  {{- if \
             .Values.gpu }}\n  \
             runtimeClassName: nvidia\n  containers:\n    - {name: a, image: b}\n",
        ),
        named(
            "templates/deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name \
             }}\nspec:\n  template:\n    spec:\n      containers:\n        - name: a\n          image: \
             b\n          resources:\n{{ toYaml .Values.resources | indent 8 }}\n",
        ),
        named(
            "templates/pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name \
             }}\nspec:\n  containers:\n    - name: a\n      image: b\n      env:\n{{- with .Values.env \
             }}\n{{ toYaml . | indent 4 }}\n{{- end }}\n",
        ),
    ],
    silent: &[
        named(
            "templates/pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name \
             }}\nspec:\n  containers:\n    - env:\n{{ toYaml .Values.env | indent 6 }}\n      image: \
             b\n      args:\n{{- if .Values.args }}\n{{ toYaml .Values.args | indent 9 }}\n{{- end }}\n",
        ),
        named(
            "templates/config.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  a.yaml: \
             |\n{{ toYaml .Values.config | indent 1 }}\n",
        ),
        named(
            "templates/pod.yaml",
            "{{- if .Values.enabled }}\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n  \
             labels:\n    {{- include \"a.labels\" . | nindent 4 }}\nspec:\n  containers:\n    - name: \
             a\n      \
             image: b\n      args:\n        {{- range .Values.args }}\n        - {{ . | quote \
             }}\n        {{- end \
             }}\n      resources:\n        {{- toYaml .Values.resources | nindent 8 \
             }}\n  tolerations:\n  {{- \
             toYaml .Values.tolerations | nindent 2 }}\n{{- end }}\n",
        ),
        named(
            "templates/pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Release.Name \
             }}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n      resources:\n{{ toYaml .Values.resources | indent 8 }}\n{{/* if this \
             is no \
             block */}}\n",
        ),
    ],
};

fn judge(template: &Template) -> Vec<Found> {
    let lines: Vec<&str> = template.text.lines().collect();
    let mut found: Vec<Found> =
        lines.iter().enumerate().filter_map(|(at, line)| inserted(&lines, at, line)).collect();
    found.extend(open_block(template));
    found
}

/// A line that inserts the text of a value.
fn inserted(lines: &[&str], at: usize, line: &str) -> Option<Found> {
    let own = line.trim_start();
    let column = line.len() - own.len();
    let inner = own.strip_prefix("{{")?.trim_end().strip_suffix("}}")?.trim_end_matches('-').trim();
    let eats = inner.starts_with('-');
    let (what, filter) = inner.trim_start_matches('-').trim().rsplit_once('|')?;
    let mut words = filter.split_whitespace();
    let (name, count) = (words.next()?, words.next()?.parse::<usize>().ok()?);
    // The text of one line needs no indentation of its own.
    let several =
        ["toYaml", "include", "tpl"].iter().any(|word| what.split_whitespace().any(|one| one == *word));
    if !several || words.next().is_some() {
        return None;
    }
    let key = lines[..at].iter().rev().find(|line| !line.trim().is_empty() && !opens_block(line))?;
    let text = key.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '-');
    // The column of the key, behind the dash of a list.
    let key_column = match key.trim_start().starts_with("- ") {
        true => key.len() - text.len(),
        false => key.len() - key.trim_start().len(),
    };
    let is_key = key.trim_end().ends_with(':') && !key.trim_start().starts_with('#');
    let shown = key.trim();
    match name {
        "indent" if eats && is_key => {
            let message = format!(
                "`{{{{-` removes the line break behind `{shown}`, and `indent` adds none: the first line \
                 of the value \
                 is on the line of the key, and Helm reports a YAML parse error"
            );
            // Where the value is empty and a block around it leaves the key out, nothing fails.
            Some(Found::warning(at + 1, message, format!("Use `nindent {count}`")))
        }
        "indent" if !eats && column > 0 && count > 0 => {
            let message = format!(
                "the first line of the value is indented by {} columns (these {column} and the {count} of \
                 `indent`), \
                 the others by {count}; Helm reports a YAML parse error where it has several lines",
                column + count
            );
            let fix =
                format!("Write `{{{{- … | nindent {count} }}}}`, or begin the line in the first column");
            Some(Found::warning(at + 1, message, fix))
        }
        "nindent" | "indent"
            if is_key && count < key_column && (name == "nindent" || !eats && column == 0) =>
        {
            let message = format!(
                "the value is indented by {count} columns, less than its key `{shown}` (column \
                 {key_column}); it is no \
                 part of the key, and the YAML is broken or means something else"
            );
            Some(Found::error(at + 1, message, format!("Use `{name} {}`", key_column + 2)))
        }
        _ => None,
    }
}

/// Whether a line has nothing but the beginning of a block: `{{- with .Values.affinity }}`.
fn opens_block(line: &str) -> bool {
    let inner = line.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    let inner = inner.map(|inner| inner.trim_matches('-').trim());
    inner.is_some_and(|inner| ["if ", "with "].iter().any(|word| inner.starts_with(word)))
}

/// A block without its end, or an end without a block.
fn open_block(template: &Template) -> Option<Found> {
    let mut open: Vec<(usize, String)> = Vec::new();
    for (line, action) in template.actions() {
        let word = action.split([' ', '\t', '\n', '(']).next().unwrap_or_default();
        match word {
            "if" | "with" | "range" | "define" | "block" => open.push((line, word.to_owned())),
            "end" if open.pop().is_none() => {
                let message = "this `end` closes no block; Helm reports `unexpected {{end}}`";
                return Some(Found::error(line, message, "Remove it, or add the block that it closes"));
            }
            _ => {}
        }
    }
    let (line, word) = open.last()?;
    let message = format!("the block `{word}` has no `end`; Helm reports `unexpected EOF`");
    Some(Found::error(*line, message, "Add `{{- end }}`"))
}
