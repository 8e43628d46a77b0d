//! The sentence of a signature, filled with the captures of a line.

/// Fills a sentence: `{name}` is what `value` has for it. A part in `[…]` is left out where something in it
/// is missing. Names that follow each other without anything between are one value that any of
/// several captures may hold: one suffices. `None` where something outside of brackets is missing.
pub fn fill<'v>(template: &str, value: &dyn Fn(&str) -> Option<&'v str>) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some(start) = rest.find('[') {
        let Some(length) = rest[start..].find(']') else { break };
        text.push_str(&part(&rest[..start], value)?);
        text.push_str(&part(&rest[start + 1..start + length], value).unwrap_or_default());
        rest = &rest[start + length + 1..];
    }
    text.push_str(&part(rest, value)?);
    Some(text)
}

/// A text without brackets, filled.
fn part<'v>(template: &str, value: &dyn Fn(&str) -> Option<&'v str>) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let mut found = None;
        while let Some(name) = rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            found = found.or_else(|| value(name.0).filter(|value| !value.trim().is_empty()));
            rest = name.1;
        }
        text.push_str(found?.trim());
    }
    text.push_str(rest);
    Some(text)
}

/// A sentence of which no line is known: the parts in brackets are left out, and names stand for their
/// values.
pub fn general(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, bracket)) = rest.split_once('[') {
        let Some((_, after)) = bracket.split_once(']') else { break };
        text.push_str(before);
        rest = after;
    }
    text.push_str(rest);
    // Of names that follow each other one suffices.
    while let Some((before, after)) = text.split_once("}{") {
        text = format!("{before}}}{}", after.split_once('}').map_or("", |(_, rest)| rest));
    }
    text.replace('{', "<").replace('}', ">")
}

#[cfg(test)]
mod tests {
    use super::{fill, general};

    fn value(name: &str) -> Option<&'static str> {
        [("host", "node-2"), ("port", "22"), ("odd", "[a] {b}"), ("empty", " ")]
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    }

    #[test]
    fn fills_message_templates() {
        let cases = [
            ("{host} is away.", Some("node-2 is away.")),
            ("{host} is away[ on port {port}][: {why}].", Some("node-2 is away on port 22.")),
            ("away[: {why}{host}{curl}].", Some("away: node-2.")),
            ("away[: {why}{curl}].", Some("away.")),
            ("away[ ({host}, {why})].", Some("away.")),
            ("{odd}[ {odd}]", Some("[a] {b} [a] {b}")),
            ("away[: {empty}]", Some("away")),
            ("{why}", None),
        ];
        for (template, wanted) in cases {
            assert_eq!(fill(template, &value).as_deref(), wanted, "{template}");
        }
        assert_eq!(general("{host} is away[: {why}]."), "<host> is away.");
        assert_eq!(general("away[: {why}]."), "away.");
        assert_eq!(general("{a}{b}{c} is away from {d}."), "<a> is away from <d>.");
    }
}
