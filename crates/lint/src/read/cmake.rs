//! CMakeLists.txt: its commands in order, as written.

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command<'t> {
    /// In small letters: `target_link_libraries`.
    pub name: String,
    /// Without quotes; variables stay as they are.
    pub arguments: Vec<&'t str>,
    /// How many conditions, loops and functions are around it.
    pub depth: usize,
}

/// The commands of a file. What is no command is left out.
pub(crate) fn commands(text: &str) -> Vec<Command<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut depth = 0_usize;
    while let Some(first) = rest.chars().next() {
        if first == '#' {
            rest = after_comment(rest);
            continue;
        }
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if !is_name(first) {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
        let name = rest[..end].to_ascii_lowercase();
        rest = &rest[end..];
        let Some(inner) = rest.trim_start_matches([' ', '\t']).strip_prefix('(') else { continue };
        let (arguments, after) = arguments(inner);
        rest = after;
        let begins = matches!(name.as_str(), "if" | "function" | "macro" | "foreach" | "while");
        let ends = matches!(name.as_str(), "endif" | "endfunction" | "endmacro" | "endforeach" | "endwhile");
        depth = depth.saturating_sub(usize::from(ends));
        found.push(Command { name, arguments, depth });
        depth += usize::from(begins);
    }
    found
}

/// The arguments up to the parenthesis that closes them, and what comes after it.
fn arguments(text: &str) -> (Vec<&str>, &str) {
    let mut found = Vec::new();
    let (mut rest, mut open) = (text, 1_usize);
    while let Some(first) = rest.chars().next() {
        if let Some((inner, after)) = bracket(rest) {
            found.push(inner);
            rest = after;
            continue;
        }
        match first {
            '(' => open += 1,
            ')' => open -= 1,
            '#' => {
                rest = after_comment(rest);
                continue;
            }
            '"' => {
                let inner = &rest[1..];
                let end = unescaped_quote(inner).unwrap_or(inner.len());
                found.push(&inner[..end]);
                rest = inner.get(end + 1..).unwrap_or_default();
                continue;
            }
            _ if first.is_whitespace() || first == ';' => {}
            _ => {
                let ends = |letter: char| letter.is_whitespace() || "()#\";".contains(letter);
                let end = rest.find(ends).unwrap_or(rest.len());
                found.push(&rest[..end]);
                rest = &rest[end..];
                continue;
            }
        }
        rest = &rest[first.len_utf8()..];
        if open == 0 {
            break;
        }
    }
    (found, rest)
}

fn unescaped_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, letter)| {
        let ends = letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends.then_some(at)
    })
}

/// What follows a comment: `# …` to the end of the line, `#[[ … ]]`, `#[=[ … ]=]`.
fn after_comment(text: &str) -> &str {
    match text.strip_prefix('#').and_then(bracket) {
        Some((_, rest)) => rest,
        None => text.find('\n').map_or("", |end| &text[end..]),
    }
}

/// The inside of `[[ … ]]` or `[=[ … ]=]`, and what follows; nothing where a text does not begin so.
fn bracket(text: &str) -> Option<(&str, &str)> {
    let signs = text.strip_prefix('[')?;
    let count = signs.bytes().take_while(|byte| *byte == b'=').count();
    let inner = signs[count..].strip_prefix('[')?;
    let end = format!("]{}]", &signs[..count]);
    Some(inner.split_once(&end).unwrap_or((inner, "")))
}

/// Whether CMake looks for a compiler of CUDA whatever happens: `project(a LANGUAGES CXX CUDA)`.
pub(crate) fn has_language_cuda(text: &str) -> bool {
    let all = commands(text);
    let mut reached = all.iter().take_while(|one| one.name != "return").filter(|one| one.depth == 0);
    reached.any(|one| {
        let languages = match one.name.as_str() {
            "project" => languages(&one.arguments),
            "enable_language" => &one.arguments[..],
            _ => return false,
        };
        languages.contains(&"CUDA")
    })
}

/// The languages of `project(a LANGUAGES CXX CUDA)` and `project(a CXX CUDA)`.
fn languages<'a>(arguments: &'a [&'a str]) -> &'a [&'a str] {
    const KEYWORDS: &[&str] =
        &["VERSION", "COMPAT_VERSION", "SPDX_LICENSE", "DESCRIPTION", "HOMEPAGE_URL", "LANGUAGES"];
    let is_keyword = |one: &&str| KEYWORDS.contains(one);
    let start = match arguments.iter().position(|one| *one == "LANGUAGES") {
        Some(at) => at + 1,
        None if arguments.iter().any(is_keyword) => return &[],
        None => 1,
    };
    let rest = arguments.get(start..).unwrap_or_default();
    let end = rest.iter().position(is_keyword).unwrap_or(rest.len());
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_with_their_arguments_and_what_is_around_them() {
        let text = "# project(x CUDA)\nPROJECT(a LANGUAGES CXX\n  CUDA) # if(\n#[[ if(B)\n]]\n\
            #[=[ a ]] project(y CUDA)\n]=] message([==[ b ) ]=] c]==] [d])\n\
            if (NOT (B AND C))\n  set(D \"e ) \\\" f\" g;h)\nendif()\nlast(";
        let found = commands(text);
        let all: Vec<(&str, &[&str], usize)> =
            found.iter().map(|one| (one.name.as_str(), one.arguments.as_slice(), one.depth)).collect();
        let expected: &[(&str, &[&str], usize)] = &[
            ("project", &["a", "LANGUAGES", "CXX", "CUDA"], 0),
            ("message", &[" b ) ]=] c", "[d]"], 0),
            ("if", &["NOT", "B", "AND", "C"], 0),
            ("set", &["D", "e ) \\\" f", "g", "h"], 1),
            ("endif", &[], 0),
            ("last", &[], 0),
        ];
        assert_eq!(all, expected);
    }
}
