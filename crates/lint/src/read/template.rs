//! A template from which Helm renders a manifest.

/// A template, as it is written.
#[derive(Debug)]
pub(crate) struct Template {
    pub text: String,
}

impl Template {
    /// The actions between `{{` and `}}`, with their lines from 1; comments and texts in quotes are left out.
    pub(crate) fn actions(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let (mut from, mut line) = (0, 1);
        while let Some(offset) = self.text[from..].find("{{") {
            let at = from + offset + 2;
            let Some(length) = end(&self.text[at..]) else { break };
            let inner = self.text[at..at + length].trim_matches('-').trim();
            line += self.text[from..at].matches('\n').count();
            if !inner.starts_with("/*") {
                found.push((line, inner.to_owned()));
            }
            line += self.text[at..at + length].matches('\n').count();
            from = at + length + 2;
        }
        found
    }
}

/// Where an action ends: at the braces outside of quotes and comments.
fn end(text: &str) -> Option<usize> {
    if text.trim_start_matches('-').trim_start().starts_with("/*") {
        let close = text.find("*/")?;
        return Some(close + text[close..].find("}}")?);
    }
    let mut quote = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (Some('"'), '\\') => {
                letters.next();
            }
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '`') => quote = Some(letter),
            (None, '}') if text[at..].starts_with("}}") => return Some(at),
            (None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Template;

    #[test]
    fn actions_of_a_template() {
        let text = "a: {{ .X }}\n{{- /* if */ -}}\n{{- if eq .A \"}}\" }}\n{{- end -}}\n{{ open";
        let actions = Template { text: text.to_owned() }.actions();
        let expected = [(1, ".X"), (3, "if eq .A \"}}\""), (4, "end")];
        assert_eq!(actions, expected.map(|(line, text)| (line, text.to_owned())));
    }
}
